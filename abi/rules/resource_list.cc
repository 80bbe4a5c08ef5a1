// SPDX-License-Identifier: Apache-2.0
// Arithmetic on resource lists.
#include "kcm/rules/resource_list.h"

#include <algorithm>

#include "kcm/rules/json_text.h"

namespace kcm::rules {
namespace {

bool Contains(const ResourceNames& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

ResourceNames Filtered(const ResourceNames& x, const ResourceNames& y, bool in_y) {
  ResourceNames out;
  for (const std::string& name : x) {
    if (Contains(y, name) == in_y) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

ResourceList ResourceListOf(Node node) {
  ResourceList list;
  for (const auto& [name, value] : node.Entries()) {
    list.insert_or_assign(std::string(name), Quantity::Of(value));
  }
  return list;
}

ResourceList AddResources(const ResourceList& x, const ResourceList& y) {
  ResourceList sum = x;
  for (const auto& [name, value] : y) {
    const auto [it, added] = sum.try_emplace(name, value);
    if (!added) it->second += value;
  }
  return sum;
}

ResourceList MaxResources(const ResourceList& x, const ResourceList& y) {
  ResourceList most = x;
  for (const auto& [name, value] : y) {
    const auto [it, added] = most.try_emplace(name, value);
    if (!added && it->second < value) it->second = value;
  }
  return most;
}

ResourceList MaskResources(const ResourceList& x, const ResourceNames& names) {
  ResourceList kept;
  for (const auto& [name, value] : x) {
    if (Contains(names, name)) kept.emplace(name, value);
  }
  return kept;
}

bool SameResources(const ResourceList& x, const ResourceList& y) { return x == y; }

ResourceNames NamesOf(const ResourceList& x) {
  ResourceNames names;
  names.reserve(x.size());
  for (const auto& entry : x) names.push_back(entry.first);
  return names;
}

ResourceNames IntersectNames(const ResourceNames& x, const ResourceNames& y) {
  return Filtered(x, y, true);
}

ResourceNames SubtractNames(const ResourceNames& x, const ResourceNames& y) {
  return Filtered(x, y, false);
}

std::string ResourceListJson(const ResourceList& x) {
  std::string out = "{";
  for (const auto& [name, value] : x) {
    if (out.size() > 1) out += ',';
    AppendJsonString(out, name);
    out += ':';
    AppendJsonString(out, value.Text());
  }
  return out + "}";
}

}  // namespace kcm::rules
