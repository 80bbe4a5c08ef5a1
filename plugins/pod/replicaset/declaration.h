// SPDX-License-Identifier: Apache-2.0
// What replicaset-controller declares (spec/pod-workloads.md section 2).
#pragma once
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"
#include "kcm/sdk/permissions.h"

namespace kcm::pod::replicaset {

namespace permissions = sdk::permissions;

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

inline constexpr std::string_view kOwnResource[] = {"replicasets"};
inline constexpr std::string_view kOwnStatus[] = {"replicasets/status"};
inline constexpr std::string_view kOwnFinalizers[] = {"replicasets/finalizers"};
inline constexpr std::string_view kPodVerbs[] = {"list", "watch", "patch", "create", "delete"};
inline constexpr sdk::Rule kRules[] = {
    {.api_groups = permissions::kAppsGroups,
     .resources = kOwnResource,
     .verbs = permissions::kReadUpdate},
    {.api_groups = permissions::kAppsGroups,
     .resources = kOwnStatus,
     .verbs = permissions::kUpdate},
    {.api_groups = permissions::kAppsGroups,
     .resources = kOwnFinalizers,
     .verbs = permissions::kUpdate},
    {.api_groups = permissions::kCoreGroup,
     .resources = permissions::kPodsResource,
     .verbs = kPodVerbs},
    permissions::kRecordEvents,
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
