// SPDX-License-Identifier: Apache-2.0
// What disruption-controller declares (spec/pod-batch.md section 5).
#pragma once
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"
#include "kcm/sdk/permissions.h"

namespace kcm::pod::disruption {

namespace permissions = sdk::permissions;

inline constexpr std::string_view kPodFields[] = {
    "status.phase",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].reason",
    "status.conditions[].lastTransitionTime",
};
inline constexpr std::string_view kScaleFields[] = {"spec.replicas"};

// Places in the watches. Changes of the controllers of pods wake nobody: what they mean is seen
// with the next change of a pod.
inline constexpr sdk::WholeWatch kBudgetWatch{0};
inline constexpr sdk::MaskedWatch kPodWatch{1};
inline constexpr sdk::MaskedWatch kReplicationControllerWatch{2};
inline constexpr sdk::MaskedWatch kReplicaSetWatch{3};
inline constexpr sdk::MaskedWatch kDeploymentWatch{4};
inline constexpr sdk::MaskedWatch kStatefulSetWatch{5};
inline constexpr sdk::Watch kWatches[] = {
    {.resource = "policy/v1/poddisruptionbudgets"},  // whole: its status is sent as a PUT
    {.resource = "v1/pods", .fields = kPodFields},
    {.resource = "v1/replicationcontrollers", .fields = kScaleFields, .flags = KCM_WATCH_NO_EVENTS},
    {.resource = "apps/v1/replicasets", .fields = kScaleFields, .flags = KCM_WATCH_NO_EVENTS},
    {.resource = "apps/v1/deployments", .fields = kScaleFields, .flags = KCM_WATCH_NO_EVENTS},
    {.resource = "apps/v1/statefulsets", .fields = kScaleFields, .flags = KCM_WATCH_NO_EVENTS},
};

// Places of the queues: budgets to look at; budgets to look at later, which only pass on to the
// first; pods whose disruption did not happen.
inline constexpr uint32_t kBudgetQueue = 0;
inline constexpr uint32_t kRecheckQueue = 1;
inline constexpr uint32_t kStaleQueue = 2;
inline constexpr sdk::Queue kQueues[] = {
    {.name = "disruption"},
    {.name = "disruption_recheck", .bucket_qps = -1},
    {.name = "stale_pod_disruption"},
};

inline constexpr std::string_view kAnyGroup[] = {"*"};
inline constexpr std::string_view kPolicyGroup[] = {"policy"};
inline constexpr std::string_view kAppsWorkloads[] = {"deployments", "replicasets"};
inline constexpr std::string_view kStatefulSetsResource[] = {"statefulsets"};
inline constexpr std::string_view kReplicationControllersResource[] = {"replicationcontrollers"};
inline constexpr std::string_view kBudgetsResource[] = {"poddisruptionbudgets"};
inline constexpr std::string_view kBudgetStatus[] = {"poddisruptionbudgets/status"};
inline constexpr std::string_view kPodStatus[] = {"pods/status"};
inline constexpr std::string_view kAnyScale[] = {"*/scale"};
inline constexpr std::string_view kPatchUpdate[] = {"patch", "update"};
inline constexpr std::string_view kGet[] = {"get"};
inline constexpr sdk::Rule kRules[] = {
    {.api_groups = permissions::kAppsGroups,
     .resources = kAppsWorkloads,
     .verbs = permissions::kRead},
    {.api_groups = permissions::kCoreGroup,
     .resources = kReplicationControllersResource,
     .verbs = permissions::kRead},
    {.api_groups = kPolicyGroup, .resources = kBudgetsResource, .verbs = permissions::kRead},
    {.api_groups = permissions::kAppsGroup,
     .resources = kStatefulSetsResource,
     .verbs = permissions::kRead},
    {.api_groups = kPolicyGroup, .resources = kBudgetStatus, .verbs = permissions::kUpdate},
    {.api_groups = permissions::kCoreGroup, .resources = kPodStatus, .verbs = kPatchUpdate},
    {.api_groups = kAnyGroup, .resources = kAnyScale, .verbs = kGet},
    permissions::kRecordEvents,
};

inline constexpr std::string_view kAliases[] = {"disruption"};
inline constexpr std::string_view kRequired[] = {"policy/v1/poddisruptionbudgets"};
inline constexpr sdk::Declaration kDeclaration{
    .name = "disruption-controller",
    .aliases = kAliases,
    .client_name = "disruption-controller",
    .event_source = "controllermanager",
    .required_resources = kRequired,
    .rules = kRules,
    .watches = kWatches,
    .queues = kQueues,
};

}  // namespace kcm::pod::disruption
