// SPDX-License-Identifier: Apache-2.0
// What replicationcontroller-controller declares (spec/pod-workloads.md section 3).
#pragma once
#include <string_view>

#include "kcm/sdk/declaration.h"
#include "kcm/sdk/permissions.h"
#include "plugins/pod/replicaset/declaration.h"

namespace kcm::pod::replicationcontroller {

namespace permissions = sdk::permissions;

// The same places and the same pods as the engine reads for ReplicaSets.
inline constexpr sdk::Watch kWatches[] = {
    {.resource = "v1/replicationcontrollers",
     .indexes = replicaset::kOwnIndexes},  // whole: its status is sent as a PUT
    {.resource = "v1/pods", .fields = replicaset::kPodFields, .indexes = replicaset::kPodIndexes},
};

inline constexpr sdk::Queue kQueues[] = {
    {.name = "replicationmanager", .workers_flag = "concurrent-rc-syncs", .workers = 5},
};
inline constexpr sdk::Flag kFlags[] = {
    {.name = "concurrent-rc-syncs",
     .type = sdk::Flag::kInt,
     .default_value = "5",
     .help = "The number of replication controllers that are allowed to sync concurrently. Larger "
             "number = more responsive replica management, but more CPU (and network) load"},
};

inline constexpr std::string_view kOwnResource[] = {"replicationcontrollers"};
inline constexpr std::string_view kOwnStatus[] = {"replicationcontrollers/status"};
inline constexpr std::string_view kOwnFinalizers[] = {"replicationcontrollers/finalizers"};
inline constexpr sdk::Rule kRules[] = {
    {.api_groups = permissions::kCoreGroup,
     .resources = kOwnResource,
     .verbs = permissions::kReadUpdate},
    {.api_groups = permissions::kCoreGroup, .resources = kOwnStatus, .verbs = permissions::kUpdate},
    {.api_groups = permissions::kCoreGroup,
     .resources = kOwnFinalizers,
     .verbs = permissions::kUpdate},
    {.api_groups = permissions::kCoreGroup,
     .resources = permissions::kPodsResource,
     .verbs = replicaset::kPodVerbs},
    permissions::kRecordEvents,
};

inline constexpr std::string_view kAliases[] = {"replicationcontroller"};
inline constexpr std::string_view kRequired[] = {"v1/replicationcontrollers"};
inline constexpr sdk::Declaration kDeclaration{
    .name = "replicationcontroller-controller",
    .aliases = kAliases,
    .client_name = "replication-controller",
    .event_source = "replication-controller",
    .required_resources = kRequired,
    .controller_flags = kFlags,
    .rules = kRules,
    .watches = kWatches,
    .queues = kQueues,
};

}  // namespace kcm::pod::replicationcontroller
