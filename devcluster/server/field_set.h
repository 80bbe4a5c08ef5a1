// SPDX-License-Identifier: Apache-2.0
// FieldSet: a set of fields of an object, as managedFields record them (fieldsV1), and how the
// fields of two objects differ.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "devcluster/api/field_shape.h"
#include "devcluster/api/strategy.h"

namespace kcm::devcluster {

FieldShapes ShapesOf(const ResourceKind& kind);

// A tree of path elements: "f:name" members, "k:{...}" keyed items, "v:..." set members.
class FieldSet {
 public:
  bool self = false;  // the element itself is in the set, not only what is below
  std::map<std::string, FieldSet> children;

  bool empty() const;
  static FieldSet Parse(const Json& fields_v1);
  Json ToFieldsV1() const;  // of a root

  void Union(const FieldSet& other);
  void Subtract(const FieldSet& other);
  FieldSet Intersection(const FieldSet& other) const;
  // Calls with the printed path (".spec.containers[name=\"c\"].image") of each member.
  void ForEach(const std::function<void(const std::string&)>& visit) const;
  friend bool operator==(const FieldSet&, const FieldSet&) = default;
};

// Path element of a list item; "" when the item lacks its keys.
std::string ItemElement(const Json& item, const FieldShape& shape);

// Fields of an applied configuration: leaves and keyed items.
FieldSet FieldsOf(const Json& configuration, const FieldShapes& shapes);
struct FieldDifference {
  FieldSet changed;  // added or modified
  FieldSet removed;
};
FieldDifference Compare(const Json& before, const Json& after, const FieldShapes& shapes);

// Lays an applied configuration over an object: members and keyed items are merged, the rest
// replaced. Items of both come in the order of the configuration, others stay where they are.
Json MergeApplied(Json live, const Json& configuration, const FieldShapes& shapes);
// Removes the members of `gone` from an object, but no map, list or item below which something is
// in `kept`.
void RemoveFields(Json* object, const FieldSet& gone, const FieldSet& kept,
                  const FieldShapes& shapes);

}  // namespace kcm::devcluster
