// SPDX-License-Identifier: Apache-2.0
// Sets of fields (field_set.h).
#include "devcluster/server/field_set.h"

#include <algorithm>

#include "devcluster/kinds/merge_keys.h"
#include "devcluster/server/convert.h"
#include "devcluster/server/custom_kind.h"

namespace kcm::devcluster {
namespace {

// Identity and bookkeeping of the server: owned by nobody.
const char* const kSystemMetadata[] = {"name",
                                       "namespace",
                                       "creationTimestamp",
                                       "selfLink",
                                       "uid",
                                       "generation",
                                       "managedFields",
                                       "resourceVersion",
                                       "generateName",
                                       "deletionTimestamp",
                                       "deletionGracePeriodSeconds"};

bool IsSystem(const std::string& path, const std::string& name) {
  if (path.empty()) return name == "kind" || name == "apiVersion";
  return path == "metadata" && std::find(std::begin(kSystemMetadata), std::end(kSystemMetadata),
                                         name) != std::end(kSystemMetadata);
}

bool Empty(const Json& v) { return v.is_null() || ((v.is_object() || v.is_array()) && v.empty()); }

// Everything at and below a value. `containers`: maps and lists count themselves, as they do when
// they appear anew.
void AddAll(const Json& value, const std::string& path, const FieldShapes& shapes, bool containers,
            FieldSet* out);

void AddChildren(const Json& value, const std::string& path, const FieldShapes& shapes,
                 bool containers, FieldSet* out) {
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      if (IsSystem(path, name)) continue;
      AddAll(member, FieldPath(path, name), shapes, containers, &out->children["f:" + name]);
    }
    return;
  }
  const FieldShape shape = shapes(path);
  for (const Json& item : value) {
    const std::string element = ItemElement(item, shape);
    if (element.empty()) continue;
    FieldSet& node = out->children[element];
    node.self = true;
    if (shape.list == FieldShape::List::kKeyed && !shape.atomic_map)
      AddChildren(item, path, shapes, containers, &node);
  }
}

void AddAll(const Json& value, const std::string& path, const FieldShapes& shapes, bool containers,
            FieldSet* out) {
  const FieldShape shape = shapes(path);
  const bool granular = (value.is_object() && !shape.atomic_map) ||
                        (value.is_array() && shape.list != FieldShape::List::kAtomic);
  if (!granular || Empty(value)) {
    out->self = true;
    return;
  }
  out->self = out->self || (containers && !path.empty());
  AddChildren(value, path, shapes, containers, out);
}

const Json* FindItem(const Json& list, const std::string& element, const FieldShape& shape) {
  for (const Json& item : list) {
    if (ItemElement(item, shape) == element) return &item;
  }
  return nullptr;
}

void Differ(const Json& before, const Json& after, const std::string& path,
            const FieldShapes& shapes, FieldSet* changed, FieldSet* removed);

void DifferMember(const Json* before, const Json* after, const std::string& path,
                  const FieldShapes& shapes, FieldSet* changed, FieldSet* removed) {
  if (before == nullptr && after == nullptr) return;
  if (before == nullptr) {
    AddAll(*after, path, shapes, true, changed);
  } else if (after == nullptr) {
    AddAll(*before, path, shapes, true, removed);
    removed->self = true;
  } else {
    Differ(*before, *after, path, shapes, changed, removed);
  }
}

void DifferLists(const Json& before, const Json& after, const std::string& path,
                 const FieldShape& shape, const FieldShapes& shapes, FieldSet* changed,
                 FieldSet* removed) {
  for (const Json& item : after) {
    const std::string element = ItemElement(item, shape);
    if (element.empty()) continue;
    const Json* old = FindItem(before, element, shape);
    if (shape.list == FieldShape::List::kSet || shape.atomic_map) {
      if (old == nullptr || *old != item) changed->children[element].self = true;
    } else if (old == nullptr) {
      FieldSet& node = changed->children[element];
      node.self = true;
      AddChildren(item, path, shapes, true, &node);
    } else {
      Differ(*old, item, path, shapes, &changed->children[element], &removed->children[element]);
    }
  }
  for (const Json& item : before) {
    const std::string element = ItemElement(item, shape);
    if (element.empty() || FindItem(after, element, shape) != nullptr) continue;
    FieldSet& node = removed->children[element];
    node.self = true;
    if (shape.list == FieldShape::List::kKeyed && !shape.atomic_map)
      AddChildren(item, path, shapes, true, &node);
  }
}

void Differ(const Json& before, const Json& after, const std::string& path,
            const FieldShapes& shapes, FieldSet* changed, FieldSet* removed) {
  if (before == after) return;
  const FieldShape shape = shapes(path);
  const bool keyed_item =
      before.is_object() && after.is_object() && shape.list == FieldShape::List::kKeyed;
  if (after.is_object() && (before.is_object() || before.is_null()) &&
      (!shape.atomic_map || keyed_item)) {
    const Json none = Json::object();
    const Json& from = before.is_object() ? before : none;
    for (const auto& [name, member] : after.items()) {
      if (IsSystem(path, name)) continue;
      const auto it = from.find(name);
      DifferMember(it == from.end() ? nullptr : &*it, &member, FieldPath(path, name), shapes,
                   &changed->children["f:" + name], &removed->children["f:" + name]);
    }
    for (const auto& [name, member] : from.items()) {
      if (IsSystem(path, name) || after.contains(name)) continue;
      DifferMember(&member, nullptr, FieldPath(path, name), shapes, &changed->children["f:" + name],
                   &removed->children["f:" + name]);
    }
    return;
  }
  if (after.is_array() && (before.is_array() || before.is_null()) &&
      shape.list != FieldShape::List::kAtomic) {
    const Json none = Json::array();
    DifferLists(before.is_array() ? before : none, after, path, shape, shapes, changed, removed);
    return;
  }
  changed->self = true;
}

void Compact(FieldSet* set) {
  for (auto it = set->children.begin(); it != set->children.end();) {
    Compact(&it->second);
    it = it->second.empty() ? set->children.erase(it) : std::next(it);
  }
}

Json NodeToJson(const FieldSet& node) {
  Json j = Json::object();
  for (const auto& [element, child] : node.children) j[element] = NodeToJson(child);
  if (node.self && !node.children.empty()) j["."] = Json::object();
  return j;
}

std::string Printed(const std::string& element) {
  if (element.compare(0, 2, "f:") == 0) return "." + element.substr(2);
  if (element.compare(0, 2, "v:") == 0) return "[=" + element.substr(2) + "]";
  const Json keys = Json::parse(element.substr(2), nullptr, false);
  std::string out = "[";
  if (keys.is_object()) {
    for (const auto& [name, value] : keys.items())
      out += (out.size() > 1 ? "," : "") + name + "=" + value.dump();
  }
  return out + "]";
}

void Visit(const FieldSet& node, const std::string& path,
           const std::function<void(const std::string&)>& visit) {
  if (node.self && !path.empty()) visit(path);
  for (const auto& [element, child] : node.children) Visit(child, path + Printed(element), visit);
}

}  // namespace

FieldShapes ShapesOf(const ResourceKind& kind) {
  if (!kind.custom) return kinds::ApplyShapes(kind.gvr);
  return [schema = static_cast<const CustomKind&>(kind).schema](std::string_view path) {
    if (schema != nullptr) return schema->Shape(path);
    constexpr std::string_view kMetadata = "metadata.";
    return path.starts_with(kMetadata) ? kinds::MetadataShape(path.substr(kMetadata.size()))
                                       : FieldShape();
  };
}

std::string ItemElement(const Json& item, const FieldShape& shape) {
  if (shape.list == FieldShape::List::kSet) return "v:" + Dump(item);
  if (!item.is_object()) return "";
  Json keys = Json::object();
  for (const std::string& k : shape.keys) {
    const auto it = item.find(k);
    if (it != item.end() && !it->is_null()) {
      keys[k] = *it;
    } else if (shape.key_defaults.contains(k)) {
      keys[k] = shape.key_defaults[k];
    }
  }
  return keys.empty() ? "" : "k:" + Dump(keys);
}

bool FieldSet::empty() const {
  return !self && std::all_of(children.begin(), children.end(),
                              [](const auto& c) { return c.second.empty(); });
}

FieldSet FieldSet::Parse(const Json& fields_v1) {
  FieldSet out;
  if (!fields_v1.is_object()) return out;
  for (const auto& [element, child] : fields_v1.items()) {
    if (element == ".") continue;
    FieldSet node = Parse(child);
    node.self = !child.is_object() || child.empty() || child.contains(".");
    out.children[element] = std::move(node);
  }
  return out;
}

Json FieldSet::ToFieldsV1() const {
  FieldSet copy = *this;
  Compact(&copy);
  return NodeToJson(copy);
}

void FieldSet::Union(const FieldSet& other) {
  self = self || other.self;
  for (const auto& [element, child] : other.children) children[element].Union(child);
}

void FieldSet::Subtract(const FieldSet& other) {
  if (other.self) self = false;
  for (const auto& [element, child] : other.children) {
    const auto it = children.find(element);
    if (it == children.end()) continue;
    it->second.Subtract(child);
    if (it->second.empty()) children.erase(it);
  }
}

FieldSet FieldSet::Intersection(const FieldSet& other) const {
  FieldSet out;
  out.self = self && other.self;
  for (const auto& [element, child] : other.children) {
    const auto it = children.find(element);
    if (it == children.end()) continue;
    FieldSet both = it->second.Intersection(child);
    if (!both.empty()) out.children[element] = std::move(both);
  }
  return out;
}

void FieldSet::ForEach(const std::function<void(const std::string&)>& visit) const {
  Visit(*this, "", visit);
}

FieldSet FieldsOf(const Json& configuration, const FieldShapes& shapes) {
  FieldSet out;
  AddChildren(configuration, "", shapes, false, &out);
  Compact(&out);
  return out;
}

FieldDifference Compare(const Json& before, const Json& after, const FieldShapes& shapes) {
  FieldDifference d;
  Differ(before, after, "", shapes, &d.changed, &d.removed);
  Compact(&d.changed);
  Compact(&d.removed);
  return d;
}

namespace {

void MergeValue(Json* live, const Json& applied, const std::string& path, const FieldShapes& shapes,
                bool item);

std::vector<std::string> Elements(const Json& list, const FieldShape& shape) {
  std::vector<std::string> out;
  for (const Json& item : list) out.push_back(ItemElement(item, shape));
  return out;
}

// Applied items go out in their order: new ones right before the next that is in both lists.
void MergeItems(Json* live, const Json& applied, const std::string& path,
                const FieldShapes& shapes) {
  const FieldShape shape = shapes(path);
  const std::vector<std::string> have = Elements(*live, shape), given = Elements(applied, shape);
  const auto in = [](const std::vector<std::string>& all, const std::string& element) {
    return std::find(all.begin(), all.end(), element);
  };
  Json out = Json::array();
  size_t next = 0;  // of applied
  const auto take = [&] {
    const auto old = given[next].empty() ? have.end() : in(have, given[next]);
    if (old == have.end() || shape.atomic_map) {
      out.push_back(applied[next]);
    } else {
      out.push_back((*live)[static_cast<size_t>(old - have.begin())]);
      MergeValue(&out.back(), applied[next], path, shapes, true);
    }
    ++next;
  };
  const auto next_shared = [&] {
    size_t i = next;
    while (i < given.size() && in(have, given[i]) == have.end()) ++i;
    return i;
  };
  for (size_t l = 0; l < have.size(); ++l) {
    if (have[l].empty() || in(given, have[l]) == given.end()) {
      out.push_back((*live)[l]);
      continue;
    }
    const size_t shared = next_shared();
    if (shared == given.size() || given[shared] != have[l]) continue;  // comes in applied order
    while (next <= shared) take();
  }
  while (next < given.size()) take();
  *live = std::move(out);
}

void MergeValue(Json* live, const Json& applied, const std::string& path, const FieldShapes& shapes,
                bool item) {
  const FieldShape shape = shapes(path);
  if (applied.is_object() && live->is_object() && (item || !shape.atomic_map)) {
    for (const auto& [name, member] : applied.items()) {
      if (IsSystem(path, name)) continue;
      const auto it = live->find(name);
      if (it == live->end()) {
        (*live)[name] = member;
      } else {
        MergeValue(&*it, member, FieldPath(path, name), shapes, false);
      }
    }
    return;
  }
  if (!applied.is_array() || !live->is_array() || shape.list == FieldShape::List::kAtomic) {
    *live = applied;
    return;
  }
  MergeItems(live, applied, path, shapes);
}

const FieldSet* Child(const FieldSet* set, const std::string& element) {
  if (set == nullptr) return nullptr;
  const auto it = set->children.find(element);
  return it == set->children.end() || it->second.empty() ? nullptr : &it->second;
}

void Remove(Json* value, const FieldSet& gone, const FieldSet* kept, const std::string& path,
            const FieldShapes& shapes) {
  if (value->is_object()) {
    for (const auto& [element, child] : gone.children) {
      if (element.compare(0, 2, "f:") != 0) continue;
      const std::string name = element.substr(2);
      const auto it = value->find(name);
      if (it == value->end()) continue;
      const FieldSet* still = Child(kept, element);
      if (child.self && still == nullptr) {
        value->erase(it);
      } else {
        Remove(&*it, child, still, FieldPath(path, name), shapes);
      }
    }
    return;
  }
  if (!value->is_array()) return;
  const FieldShape shape = shapes(path);
  for (size_t i = value->size(); i-- > 0;) {
    const std::string element = ItemElement((*value)[i], shape);
    const auto it = gone.children.find(element);
    if (it == gone.children.end()) continue;
    const FieldSet* still = Child(kept, element);
    if (it->second.self && still == nullptr) {
      value->erase(i);
    } else {
      Remove(&(*value)[i], it->second, still, path, shapes);
    }
  }
}

}  // namespace

Json MergeApplied(Json live, const Json& configuration, const FieldShapes& shapes) {
  MergeValue(&live, configuration, "", shapes, false);
  return live;
}

void RemoveFields(Json* object, const FieldSet& gone, const FieldSet& kept,
                  const FieldShapes& shapes) {
  Remove(object, gone, &kept, "", shapes);
}

}  // namespace kcm::devcluster
