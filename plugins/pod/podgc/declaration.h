// SPDX-License-Identifier: Apache-2.0
// What pod-garbage-collector-controller declares (spec/pod-batch.md section 6).
#pragma once
#include <chrono>
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"
#include "kcm/sdk/permissions.h"

namespace kcm::pod::podgc {

namespace permissions = sdk::permissions;

inline constexpr std::string_view kPodFields[] = {
    "spec.nodeName",
    "status.phase",
    "status.reason",
    "status.observedGeneration",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].lastTransitionTime",
};
inline constexpr std::string_view kNodeFields[] = {
    "spec.taints[].key",
    "status.conditions[].type",
    "status.conditions[].status",
};

// Places in the watches. Nothing is done on a change: both are looked at once a period.
inline constexpr sdk::MaskedWatch kPodWatch{0};
inline constexpr sdk::MaskedWatch kNodeWatch{1};
inline constexpr sdk::Watch kWatches[] = {
    {.resource = "v1/pods", .fields = kPodFields, .flags = KCM_WATCH_NO_EVENTS},
    {.resource = "v1/nodes", .fields = kNodeFields, .flags = KCM_WATCH_NO_EVENTS},
};

// Names of nodes that pods are bound to and that the cache does not know, in quarantine.
inline constexpr sdk::Queue kQueues[] = {{.name = "orphaned_pods_nodes", .bucket_qps = -1}};

inline constexpr std::chrono::nanoseconds kPeriod = std::chrono::seconds(20);
inline constexpr sdk::Task kTasks[] = {{.name = "gc", .period_ns = kPeriod.count()}};

inline constexpr std::string_view kThresholdFlag = "terminated-pod-gc-threshold";
inline constexpr int64_t kDefaultThreshold = 12500;
inline constexpr sdk::Flag kFlags[] = {
    {.name = kThresholdFlag,
     .type = sdk::Flag::kInt,
     .default_value = "12500",
     .help = "Number of terminated pods that can exist before the terminated pod garbage collector "
             "starts deleting terminated pods. If <= 0, the terminated pod garbage collector is "
             "disabled."},
};

inline constexpr std::string_view kPodVerbs[] = {"list", "watch", "delete"};
inline constexpr std::string_view kPodStatus[] = {"pods/status"};
inline constexpr std::string_view kPatch[] = {"patch"};
inline constexpr std::string_view kNodesResource[] = {"nodes"};
inline constexpr sdk::Rule kRules[] = {
    {.api_groups = permissions::kCoreGroup,
     .resources = permissions::kPodsResource,
     .verbs = kPodVerbs},
    {.api_groups = permissions::kCoreGroup, .resources = kPodStatus, .verbs = kPatch},
    {.api_groups = permissions::kCoreGroup,
     .resources = kNodesResource,
     .verbs = permissions::kRead},
};

inline constexpr std::string_view kAliases[] = {"podgc"};
inline constexpr sdk::Declaration kDeclaration{
    .name = "pod-garbage-collector-controller",
    .aliases = kAliases,
    .client_name = "pod-garbage-collector",
    .controller_flags = kFlags,
    .rules = kRules,
    .watches = kWatches,
    .queues = kQueues,
    .tasks = kTasks,
};

}  // namespace kcm::pod::podgc
