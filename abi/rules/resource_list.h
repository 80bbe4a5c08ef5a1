// SPDX-License-Identifier: Apache-2.0
// Resource lists: maps from a resource name to a quantity (spec/namespace.md S4).
//
//   ResourceList used = AddResources(ResourceListOf(a), ResourceListOf(b));
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/quantity.h"

namespace kcm::rules {

using ResourceList = std::map<std::string, Quantity, std::less<>>;
using ResourceNames = std::vector<std::string>;  // sorted bytewise, no duplicates

// Entries that do not parse read as 0 (the server has validated them). Absent and null: empty.
ResourceList ResourceListOf(Node node);

// Keys of both; x + y where both have one; a key of only one list keeps its text.
ResourceList AddResources(const ResourceList& x, const ResourceList& y);
// The greater value per key, keys of both; equal values: x's.
ResourceList MaxResources(const ResourceList& x, const ResourceList& y);
// Only the entries named.
ResourceList MaskResources(const ResourceList& x, const ResourceNames& names);
// Same keys, equal values.
bool SameResources(const ResourceList& x, const ResourceList& y);

ResourceNames NamesOf(const ResourceList& x);
// Set operations over names in any order; results are sorted and without duplicates.
ResourceNames IntersectNames(const ResourceNames& x, const ResourceNames& y);
ResourceNames SubtractNames(const ResourceNames& x, const ResourceNames& y);

// `{"cpu":"1","memory":"1Gi"}`
std::string ResourceListJson(const ResourceList& x);

}  // namespace kcm::rules
