// SPDX-License-Identifier: Apache-2.0
// ClusterRole aggregation: the union of the rules of selected roles (spec/namespace.md,
// clusterrole-aggregation-controller).
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"

namespace kcm::rules {

// All five lists equal element by element, in order; null = empty.
bool SamePolicyRule(Node x, Node y);
// `rules` equals the list `current`, element by element; null = empty.
bool SamePolicyRules(std::span<const Node> rules, Node current);

// The rules that `role` aggregates: its selectors in list order, for each the selected `roles` by
// name (bytewise, `role` itself left out), their rules in order, equal ones once. Views into
// `roles`. Error kInvalid: a selector does not parse.
Result<std::vector<Node>> AggregatedRules(Node role, std::span<const Node> roles);

// Body of the server-side apply: empty lists are left out of a rule, `rules` when there is none.
std::string AggregationPatch(std::string_view role_name, std::span<const Node> rules);

}  // namespace kcm::rules
