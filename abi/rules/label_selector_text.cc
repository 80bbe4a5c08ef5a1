// SPDX-License-Identifier: Apache-2.0
// Selectors in messages.
#include "kcm/rules/label_selector_text.h"

#include <map>
#include <string_view>

namespace kcm::rules {
namespace {

std::string RequirementText(Node requirement) {
  std::string out = "LabelSelectorRequirement{Key:";
  out += requirement.Get("key").String();
  out += ",Operator:";
  out += requirement.Get("operator").String();
  out += ",Values:[";
  bool first = true;
  for (const Node value : requirement.Get("values").Items()) {
    if (!first) out += ' ';
    first = false;
    out += value.String();
  }
  return out + "],}";
}

}  // namespace

std::string LabelSelectorText(Node selector) {
  if (!selector.Has()) return "nil";
  std::map<std::string_view, std::string_view> labels;
  for (const auto& [key, value] : selector.Get("matchLabels").Entries())
    labels.emplace(key, value.String());
  std::string out = "&LabelSelector{MatchLabels:map[string]string{";
  for (const auto& [key, value] : labels) {
    out += key;
    out += ": ";
    out += value;
    out += ',';
  }
  out += "},MatchExpressions:[]LabelSelectorRequirement{";
  for (const Node requirement : selector.Get("matchExpressions").Items())
    out += RequirementText(requirement) + ",";
  return out + "},}";
}

}  // namespace kcm::rules
