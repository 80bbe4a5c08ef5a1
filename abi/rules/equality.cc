// SPDX-License-Identifier: Apache-2.0
// One recursive comparison; Place carries what the API has at this spot.
#include "kcm/rules/equality.h"

#include <string_view>

#include "kcm/rules/quantity.h"

namespace kcm::rules {
namespace {

enum class Place : uint8_t {
  kPlain,             // nothing special known here
  kPodTemplate,       // the template as a whole
  kTemplateMetadata,  // its metadata
  kTemplateLabels,    // its labels: a map; the hash label does not count
  kMetadata,          // a struct by value: empty equals absent
  kMap,               // a map of texts: empty equals absent
  kResources,         // {limits, requests}
  kEmptyDir,
  kResourceFieldRef,
  kQuantityMap,
  kQuantity,
};

bool IsMap(Place place) {
  return place == Place::kMap || place == Place::kTemplateLabels || place == Place::kQuantityMap ||
         place == Place::kMetadata || place == Place::kTemplateMetadata;
}

bool IsIgnored(Place place, std::string_view name) {
  return place == Place::kTemplateLabels && name == "pod-template-hash";
}

Place PlaceOfKnownName(std::string_view name) {
  for (const std::string_view map :
       {"labels", "annotations", "nodeSelector", "matchLabels", "volumeAttributes", "options"}) {
    if (name == map) return Place::kMap;
  }
  if (name == "metadata") return Place::kMetadata;
  if (name == "resources") return Place::kResources;
  if (name == "overhead") return Place::kQuantityMap;
  if (name == "emptyDir") return Place::kEmptyDir;
  if (name == "resourceFieldRef") return Place::kResourceFieldRef;
  return Place::kPlain;
}

Place PlaceOf(Place parent, std::string_view name) {
  switch (parent) {
    case Place::kQuantityMap:
      return Place::kQuantity;
    case Place::kMap:
    case Place::kTemplateLabels:
      return Place::kPlain;  // keys of a map are data, not field names
    case Place::kPodTemplate:
      if (name == "metadata") return Place::kTemplateMetadata;
      break;
    case Place::kTemplateMetadata:
      if (name == "labels") return Place::kTemplateLabels;
      break;
    case Place::kResources:
      if (name == "limits" || name == "requests") return Place::kQuantityMap;
      break;
    case Place::kEmptyDir:
      if (name == "sizeLimit") return Place::kQuantity;
      break;
    case Place::kResourceFieldRef:
      if (name == "divisor") return Place::kQuantity;
      break;
    default:
      break;
  }
  return PlaceOfKnownName(name);
}

// Counts as not there at all.
bool IsNothing(Node node, Place place) {
  switch (node.kind()) {
    case Kind::kAbsent:
    case Kind::kNull:
      return true;
    case Kind::kArray:
      return node.empty();
    case Kind::kObject:
      if (!IsMap(place)) return false;
      for (const auto& [name, value] : node.Entries()) {
        if (IsIgnored(place, name)) continue;
        // In a map a null is a value; in a struct it is nothing.
        const bool is_struct = place == Place::kMetadata || place == Place::kTemplateMetadata;
        if (!is_struct || !IsNothing(value, PlaceOf(place, name))) return false;
      }
      return true;
    default:
      return false;
  }
}

bool QuantitiesEqual(Node x, Node y) {
  const Result<Quantity> a = Quantity::Parse(x);
  const Result<Quantity> b = Quantity::Parse(y);
  if (a.ok() && b.ok()) return *a == *b;
  return x.kind() == y.kind() && x.String() == y.String();
}

bool ScalarsEqual(Node x, Node y) {
  if (x.IsNumber() && y.IsNumber()) {
    return x.kind() == Kind::kInt && y.kind() == Kind::kInt ? x.Int() == y.Int()
                                                            : x.Real() == y.Real();
  }
  if (x.kind() != y.kind()) return false;
  switch (x.kind()) {
    case Kind::kBool:
      return x.Bool() == y.Bool();
    case Kind::kString:
      return x.String() == y.String();
    default:
      return true;  // absent or null on both sides
  }
}

// What is compared: the place, the member's name it has (an item: that of its list), and what `y`
// may have in addition.
struct Spot {
  Place place;
  std::string_view name = {};
  Addition addition = nullptr;

  Spot Of(std::string_view member) const { return {PlaceOf(place, member), member, addition}; }
};

bool Same(Node x, Node y, const Spot& spot);

// Every member of `x` equals that of `y`, and what only `y` has is nothing.
bool ObjectsSame(Node x, Node y, const Spot& spot) {
  const auto is_added = [&](std::string_view name, Node value) {
    return spot.addition != nullptr && spot.addition(spot.name, y, name, value);
  };
  for (const auto& [name, value] : x.Entries()) {
    if (IsIgnored(spot.place, name) || Same(value, y.Get(name), spot.Of(name))) continue;
    if (!IsNothing(value, PlaceOf(spot.place, name)) || !is_added(name, y.Get(name))) return false;
  }
  for (const auto& [name, value] : y.Entries()) {
    if (IsIgnored(spot.place, name) || x.Get(name).kind() != Kind::kAbsent) continue;
    if (!IsNothing(value, PlaceOf(spot.place, name)) && !is_added(name, value)) return false;
  }
  return true;
}

bool Same(Node x, Node y, const Spot& spot) {
  const bool x_nothing = IsNothing(x, spot.place);
  const bool y_nothing = IsNothing(y, spot.place);
  if (x_nothing || y_nothing) return x_nothing && y_nothing;
  if (spot.place == Place::kQuantity) return QuantitiesEqual(x, y);
  if (x.kind() == Kind::kObject && y.kind() == Kind::kObject) return ObjectsSame(x, y, spot);
  if (x.kind() != Kind::kArray || y.kind() != Kind::kArray) return ScalarsEqual(x, y);
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!Same(x.At(i), y.At(i), spot)) return false;
  }
  return true;
}

bool MembersEqual(Node x, Node y, NullRule rule) {
  for (const auto& [name, value] : x.Entries()) {
    if (!DeepEqual(value, y.Get(name), rule)) return false;
  }
  for (const auto& [name, value] : y.Entries()) {
    if (x.Get(name).kind() == Kind::kAbsent && !DeepEqual(Node(), value, rule)) return false;
  }
  return true;
}

}  // namespace

bool DeepEqual(Node x, Node y, NullRule rule) {
  if (rule == NullRule::kNullIsAbsent && !x.Has() && !y.Has()) return true;
  if (x.kind() == Kind::kObject && y.kind() == Kind::kObject) return MembersEqual(x, y, rule);
  if (x.kind() != Kind::kArray || y.kind() != Kind::kArray) {
    const bool nested = x.kind() >= Kind::kArray || y.kind() >= Kind::kArray;
    return !nested && ScalarsEqual(x, y);
  }
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!DeepEqual(x.At(i), y.At(i), rule)) return false;
  }
  return true;
}

bool SemanticEqual(Node x, Node y) { return Same(x, y, {.place = Place::kPlain}); }

bool SemanticEqualBut(Node x, Node y, Addition is_nothing) {
  return Same(x, y, {.place = Place::kPlain, .addition = is_nothing});
}

bool PodTemplatesEqual(Node x, Node y) { return Same(x, y, {.place = Place::kPodTemplate}); }

}  // namespace kcm::rules
