// SPDX-License-Identifier: Apache-2.0
// What deployment-controller declares (spec/pod-workloads.md section 4).
#pragma once
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"
#include "kcm/sdk/permissions.h"

namespace kcm::pod::deployment {

namespace permissions = sdk::permissions;

inline constexpr std::string_view kPodFields[] = {"status.phase"};

// Places in the watches and in their indexes.
inline constexpr sdk::WholeWatch kDeploymentWatch{0};
inline constexpr sdk::WholeWatch kReplicaSetWatch{1};
inline constexpr sdk::MaskedWatch kPodWatch{2};
inline constexpr int kByController = 0;

inline constexpr sdk::Index kControllerIndex[] = {{.by = sdk::Index::kControllerUid}};
inline constexpr sdk::Watch kWatches[] = {
    {.resource = "apps/v1/deployments"},  // whole: sent as PUTs, status too
    {.resource = "apps/v1/replicasets", .indexes = kControllerIndex},  // whole: likewise
    {.resource = "v1/pods", .fields = kPodFields, .indexes = kControllerIndex},
};

inline constexpr int32_t kMaxRetries = 15;
inline constexpr sdk::Queue kQueues[] = {
    {.name = "deployment",
     .workers_flag = "concurrent-deployment-syncs",
     .workers = 5,
     .max_retries = kMaxRetries},
};
inline constexpr sdk::Flag kFlags[] = {
    {.name = "concurrent-deployment-syncs",
     .type = sdk::Flag::kInt,
     .default_value = "5",
     .help = "The number of deployment objects that are allowed to sync concurrently. Larger "
             "number = more responsive deployments, but more CPU (and network) load"},
};

inline constexpr std::string_view kOwnResource[] = {"deployments"};
inline constexpr std::string_view kOwnStatus[] = {"deployments/status"};
inline constexpr std::string_view kOwnFinalizers[] = {"deployments/finalizers"};
inline constexpr std::string_view kReplicaSetsResource[] = {"replicasets"};
inline constexpr std::string_view kReplicaSetVerbs[] = {"get",    "list",  "watch", "create",
                                                        "update", "patch", "delete"};
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
    {.api_groups = permissions::kAppsGroups,
     .resources = kReplicaSetsResource,
     .verbs = kReplicaSetVerbs},
    {.api_groups = permissions::kCoreGroup,
     .resources = permissions::kPodsResource,
     .verbs = permissions::kReadUpdate},
    permissions::kRecordEvents,
};

inline constexpr std::string_view kAliases[] = {"deployment"};
inline constexpr std::string_view kRequired[] = {"apps/v1/deployments"};
inline constexpr sdk::Declaration kDeclaration{
    .name = "deployment-controller",
    .aliases = kAliases,
    .client_name = "deployment-controller",
    .event_source = "deployment-controller",
    .required_resources = kRequired,
    .controller_flags = kFlags,
    .rules = kRules,
    .watches = kWatches,
    .queues = kQueues,
};

}  // namespace kcm::pod::deployment
