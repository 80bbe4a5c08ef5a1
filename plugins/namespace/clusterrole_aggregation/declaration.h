// SPDX-License-Identifier: Apache-2.0
// What clusterrole-aggregation-controller declares: constant data, read by the host without
// running code of this plugin.
#pragma once
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"

namespace kcm::ns::clusterrole_aggregation {

// Watches, numbered by their place in kWatches.
inline constexpr sdk::MaskedWatch kClusterRoles{0};

inline constexpr std::string_view kName = "clusterrole-aggregation-controller";
inline constexpr std::string_view kAliases[] = {"clusterrole-aggregation"};

// metadata (labels) is always there.
inline constexpr std::string_view kFields[] = {"aggregationRule", "rules"};
inline constexpr sdk::Watch kWatches[] = {
    {.resource = "rbac.authorization.k8s.io/v1/clusterroles", .fields = kFields}};

// The name is the label of the workqueue_* metrics. Back-off as S1.2, retried for ever.
inline constexpr sdk::Queue kQueues[] = {{.name = "ClusterRoleAggregator", .workers = 5}};

// `escalate`: the controller grants rules that it does not hold itself.
inline constexpr std::string_view kRbacGroup[] = {"rbac.authorization.k8s.io"};
inline constexpr std::string_view kResources[] = {"clusterroles"};
inline constexpr std::string_view kVerbs[] = {"escalate", "get",    "list",
                                              "patch",    "update", "watch"};
inline constexpr sdk::Rule kRules[] = {
    {.api_groups = kRbacGroup, .resources = kResources, .verbs = kVerbs}};

inline constexpr sdk::Declaration kDeclaration{.name = kName,
                                               .aliases = kAliases,
                                               .client_name = kName,
                                               .rules = kRules,
                                               .watches = kWatches,
                                               .queues = kQueues};

}  // namespace kcm::ns::clusterrole_aggregation
