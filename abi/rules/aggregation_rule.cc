// SPDX-License-Identifier: Apache-2.0
// Union of policy rules.
#include "kcm/rules/aggregation_rule.h"

#include <algorithm>

#include "kcm/rules/json_text.h"
#include "kcm/rules/label_selector.h"

namespace kcm::rules {
namespace {

constexpr std::string_view kLists[] = {"verbs", "apiGroups", "resources", "resourceNames",
                                       "nonResourceURLs"};

std::string_view NameOf(Node object) { return object.Get("metadata").Get("name").String(); }

void AppendNewRules(Node role, std::vector<Node>& rules) {
  for (const Node rule : role.Get("rules").Items()) {
    const bool known =
        std::any_of(rules.begin(), rules.end(), [&](Node r) { return SamePolicyRule(r, rule); });
    if (!known) rules.push_back(rule);
  }
}

}  // namespace

bool SamePolicyRule(Node x, Node y) {
  for (const std::string_view list : kLists) {
    const Node a = x.Get(list);
    const Node b = y.Get(list);
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a.At(i).String() != b.At(i).String()) return false;
    }
  }
  return true;
}

bool SamePolicyRules(std::span<const Node> rules, Node current) {
  if (rules.size() != current.size()) return false;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!SamePolicyRule(rules[i], current.At(i))) return false;
  }
  return true;
}

Result<std::vector<Node>> AggregatedRules(Node role, std::span<const Node> roles) {
  std::vector<Node> by_name(roles.begin(), roles.end());
  std::stable_sort(by_name.begin(), by_name.end(),
                   [](Node x, Node y) { return NameOf(x) < NameOf(y); });
  std::vector<Node> rules;
  for (const Node s : role.Get("aggregationRule").Get("clusterRoleSelectors").Items()) {
    const Result<LabelSelector> selector = LabelSelector::FromObject(s);
    if (!selector.ok()) return selector.error();
    for (const Node other : by_name) {
      if (NameOf(other) == NameOf(role)) continue;
      if (selector->Matches(other.Get("metadata").Get("labels"))) AppendNewRules(other, rules);
    }
  }
  return rules;
}

std::string AggregationPatch(std::string_view role_name, std::span<const Node> rules) {
  std::string out =
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":)";
  AppendJsonString(out, role_name);
  out += '}';
  for (size_t i = 0; i < rules.size(); ++i) {
    out += i == 0 ? R"(,"rules":[{)" : ",{";
    bool first = true;
    for (const std::string_view list : kLists) {
      const Node values = rules[i].Get(list);
      if (values.empty()) continue;
      if (!first) out += ',';
      first = false;
      AppendJsonString(out, list);
      out += ':';
      AppendJson(out, values);
    }
    out += '}';
  }
  if (!rules.empty()) out += ']';
  return out + "}";
}

}  // namespace kcm::rules
