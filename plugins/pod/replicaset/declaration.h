// SPDX-License-Identifier: Apache-2.0
// What replicaset-controller declares (spec/pod-workloads.md section 2).
#pragma once
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"

namespace kcm::pod::replicaset {

// Exactly what the rules of sections 1.8, 1.9 and 2 read; metadata is always there.
inline constexpr std::string_view kPodFields[] = {
    "spec.nodeName",
    "spec.initContainers[].name",
    "spec.initContainers[].restartPolicy",
    "status.phase",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].lastTransitionTime",
    "status.containerStatuses[].restartCount",
    "status.initContainerStatuses[].name",
    "status.initContainerStatuses[].restartCount",
};

// Places in the watches and in their indexes. Both watches have the same two for
// ReplicationControllers.
inline constexpr sdk::WholeWatch kOwnWatch{0};
inline constexpr sdk::MaskedWatch kPodWatch{1};
inline constexpr int kByController = 0;
inline constexpr int kByTemplateHash = 1;
inline constexpr std::string_view kTemplateHashLabel = "pod-template-hash";

inline constexpr sdk::Index kOwnIndexes[] = {{.by = sdk::Index::kControllerUid}};
inline constexpr sdk::Index kPodIndexes[] = {
    {.by = sdk::Index::kControllerUid},
    {.by = sdk::Index::kLabel, .path = kTemplateHashLabel},
};
inline constexpr sdk::Watch kWatches[] = {
    {.resource = "apps/v1/replicasets",
     .indexes = kOwnIndexes},  // whole: its status is sent as a PUT
    {.resource = "v1/pods", .fields = kPodFields, .indexes = kPodIndexes},
};

inline constexpr sdk::Queue kQueues[] = {
    {.name = "replicaset", .workers_flag = "concurrent-replicaset-syncs", .workers = 5},
};
inline constexpr sdk::Flag kFlags[] = {
    {.name = "concurrent-replicaset-syncs",
     .type = sdk::Flag::kInt,
     .default_value = "5",
     .help =
         "The number of replica sets that are allowed to sync concurrently. Larger number = more "
         "responsive replica management, but more CPU (and network) load"},
};

inline constexpr std::string_view kAppsGroups[] = {"apps", "extensions"};
inline constexpr std::string_view kCoreGroup[] = {""};
inline constexpr std::string_view kEventGroups[] = {"", "events.k8s.io"};
inline constexpr std::string_view kOwnResource[] = {"replicasets"};
inline constexpr std::string_view kOwnStatus[] = {"replicasets/status"};
inline constexpr std::string_view kOwnFinalizers[] = {"replicasets/finalizers"};
inline constexpr std::string_view kPodsResource[] = {"pods"};
inline constexpr std::string_view kEventsResource[] = {"events"};
inline constexpr std::string_view kReadUpdate[] = {"get", "list", "watch", "update"};
inline constexpr std::string_view kUpdate[] = {"update"};
inline constexpr std::string_view kPodVerbs[] = {"list", "watch", "patch", "create", "delete"};
inline constexpr std::string_view kEventVerbs[] = {"create", "update", "patch"};
inline constexpr sdk::Rule kRules[] = {
    {.api_groups = kAppsGroups, .resources = kOwnResource, .verbs = kReadUpdate},
    {.api_groups = kAppsGroups, .resources = kOwnStatus, .verbs = kUpdate},
    {.api_groups = kAppsGroups, .resources = kOwnFinalizers, .verbs = kUpdate},
    {.api_groups = kCoreGroup, .resources = kPodsResource, .verbs = kPodVerbs},
    {.api_groups = kEventGroups, .resources = kEventsResource, .verbs = kEventVerbs},
};

inline constexpr std::string_view kAliases[] = {"replicaset"};
inline constexpr std::string_view kRequired[] = {"apps/v1/replicasets"};
inline constexpr sdk::Declaration kDeclaration{
    .name = "replicaset-controller",
    .aliases = kAliases,
    .client_name = "replicaset-controller",
    .event_source = "replicaset-controller",
    .required_resources = kRequired,
    .controller_flags = kFlags,
    .rules = kRules,
    .watches = kWatches,
    .queues = kQueues,
};

}  // namespace kcm::pod::replicaset
