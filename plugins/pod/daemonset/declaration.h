// SPDX-License-Identifier: Apache-2.0
// What daemonset-controller declares (spec/pod-workloads.md section 6).
#pragma once
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"
#include "kcm/sdk/permissions.h"

namespace kcm::pod::daemonset {

namespace permissions = sdk::permissions;

inline constexpr std::string_view kPodFields[] = {
    "spec.nodeName",
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[]"
    ".matchFields",
    "status.phase",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].lastTransitionTime",
};
inline constexpr std::string_view kNodeFields[] = {"spec.taints"};

// Places in the watches, in their indexes and in the queues.
inline constexpr sdk::WholeWatch kOwnWatch{0};
inline constexpr sdk::MaskedWatch kPodWatch{1};
inline constexpr sdk::MaskedWatch kNodeWatch{2};
inline constexpr sdk::WholeWatch kRevisionWatch{3};
inline constexpr int kByController = 0;
inline constexpr int kByNode = 1;
inline constexpr uint32_t kOwnQueue = 0;
inline constexpr uint32_t kNodeQueue = 1;  // keys are names of nodes

inline constexpr sdk::Index kPodIndexes[] = {
    {.by = sdk::Index::kControllerUid},
    {.by = sdk::Index::kField, .path = "spec.nodeName"},
};
inline constexpr sdk::Index kRevisionIndexes[] = {{.by = sdk::Index::kControllerUid}};
inline constexpr sdk::Watch kWatches[] = {
    {.resource = "apps/v1/daemonsets"},  // whole: its status is sent as a PUT
    {.resource = "v1/pods", .fields = kPodFields, .indexes = kPodIndexes},
    {.resource = "v1/nodes", .fields = kNodeFields},
    {.resource = "apps/v1/controllerrevisions", .indexes = kRevisionIndexes},  // whole: likewise
};

inline constexpr sdk::Queue kQueues[] = {
    {.name = "daemonset", .workers_flag = "concurrent-daemonset-syncs", .workers = 2},
    {.name = "daemonset-node-updates", .workers_flag = "concurrent-daemonset-syncs", .workers = 2},
};
inline constexpr sdk::Flag kFlags[] = {
    {.name = "concurrent-daemonset-syncs",
     .type = sdk::Flag::kInt,
     .default_value = "2",
     .help = "The number of daemonset objects that are allowed to sync concurrently. Larger "
             "number = more responsive daemonsets, but more CPU (and network) load"},
};

inline constexpr std::string_view kOwnResource[] = {"daemonsets"};
inline constexpr std::string_view kOwnStatus[] = {"daemonsets/status"};
inline constexpr std::string_view kOwnFinalizers[] = {"daemonsets/finalizers"};
inline constexpr std::string_view kNodesResource[] = {"nodes"};
inline constexpr std::string_view kBindingResource[] = {"pods/binding"};
inline constexpr std::string_view kRevisionsResource[] = {"controllerrevisions"};
inline constexpr std::string_view kNodeVerbs[] = {"list", "watch"};
inline constexpr std::string_view kPodVerbs[] = {"list", "watch", "create", "delete", "patch"};
inline constexpr std::string_view kBindingVerbs[] = {"create"};
inline constexpr std::string_view kRevisionVerbs[] = {"get",    "list",   "watch", "create",
                                                      "delete", "update", "patch"};
inline constexpr sdk::Rule kRules[] = {
    {.api_groups = permissions::kAppsGroups,
     .resources = kOwnResource,
     .verbs = permissions::kRead},
    {.api_groups = permissions::kAppsGroups,
     .resources = kOwnStatus,
     .verbs = permissions::kUpdate},
    {.api_groups = permissions::kAppsGroups,
     .resources = kOwnFinalizers,
     .verbs = permissions::kUpdate},
    {.api_groups = permissions::kCoreGroup, .resources = kNodesResource, .verbs = kNodeVerbs},
    {.api_groups = permissions::kCoreGroup,
     .resources = permissions::kPodsResource,
     .verbs = kPodVerbs},
    // Of the stock role; pods are bound by the scheduler.
    {.api_groups = permissions::kCoreGroup, .resources = kBindingResource, .verbs = kBindingVerbs},
    {.api_groups = permissions::kAppsGroup,
     .resources = kRevisionsResource,
     .verbs = kRevisionVerbs},
    permissions::kRecordEvents,
};

inline constexpr std::string_view kAliases[] = {"daemonset"};
inline constexpr std::string_view kRequired[] = {"apps/v1/daemonsets"};
inline constexpr sdk::Declaration kDeclaration{
    .name = "daemonset-controller",
    .aliases = kAliases,
    .client_name = "daemon-set-controller",
    .event_source = "daemonset-controller",
    .required_resources = kRequired,
    .controller_flags = kFlags,
    .rules = kRules,
    .watches = kWatches,
    .queues = kQueues,
};

}  // namespace kcm::pod::daemonset
