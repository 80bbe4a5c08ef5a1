// SPDX-License-Identifier: Apache-2.0
// What statefulset-controller declares (spec/pod-workloads.md section 5).
#pragma once
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"
#include "kcm/sdk/permissions.h"

namespace kcm::pod::statefulset {

namespace permissions = sdk::permissions;

// What decisions read of a pod; one that has to be written is read from the server first.
inline constexpr std::string_view kPodFields[] = {
    "spec.volumes[].name",
    "spec.volumes[].persistentVolumeClaim.claimName",
    "status.phase",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].lastTransitionTime",
};

// Places in the watches and in their indexes.
inline constexpr sdk::WholeWatch kOwnWatch{0};
inline constexpr sdk::MaskedWatch kPodWatch{1};
inline constexpr sdk::WholeWatch kClaimWatch{2};
inline constexpr sdk::WholeWatch kRevisionWatch{3};
inline constexpr int kByController = 0;

inline constexpr sdk::Index kControllerIndex[] = {{.by = sdk::Index::kControllerUid}};
inline constexpr sdk::Watch kWatches[] = {
    {.resource = "apps/v1/statefulsets"},  // whole: its status is sent as a PUT
    {.resource = "v1/pods", .fields = kPodFields, .indexes = kControllerIndex},
    {.resource = "v1/persistentvolumeclaims"},  // whole: owner references are sent as a PUT
    {.resource = "apps/v1/controllerrevisions", .indexes = kControllerIndex},  // whole: likewise
};

inline constexpr sdk::Queue kQueues[] = {
    {.name = "statefulset", .workers_flag = "concurrent-statefulset-syncs", .workers = 5},
};
inline constexpr sdk::Flag kFlags[] = {
    {.name = "concurrent-statefulset-syncs",
     .type = sdk::Flag::kInt,
     .default_value = "5",
     .help = "The number of statefulset objects that are allowed to sync concurrently. Larger "
             "number = more responsive statefulsets, but more CPU (and network) load"},
};

inline constexpr std::string_view kOwnResource[] = {"statefulsets"};
inline constexpr std::string_view kOwnStatus[] = {"statefulsets/status"};
inline constexpr std::string_view kOwnFinalizers[] = {"statefulsets/finalizers"};
inline constexpr std::string_view kPodFinalizers[] = {"pods/finalizers"};
inline constexpr std::string_view kRevisionsResource[] = {"controllerrevisions"};
inline constexpr std::string_view kClaimsResource[] = {"persistentvolumeclaims"};
inline constexpr std::string_view kPodVerbs[] = {"list",   "watch",  "get",  "create",
                                                 "delete", "update", "patch"};
inline constexpr std::string_view kRevisionVerbs[] = {"get",   "create", "delete", "update",
                                                      "patch", "list",   "watch"};
inline constexpr std::string_view kClaimVerbs[] = {"get",    "list",   "watch",
                                                   "create", "update", "delete"};
inline constexpr sdk::Rule kRules[] = {
    {.api_groups = permissions::kCoreGroup,
     .resources = permissions::kPodsResource,
     .verbs = kPodVerbs},
    // Both finalizers: the server asks for them where an owner reference blocks the owner's
    // deletion.
    {.api_groups = permissions::kCoreGroup,
     .resources = kPodFinalizers,
     .verbs = permissions::kUpdate},
    {.api_groups = permissions::kAppsGroup, .resources = kOwnResource, .verbs = permissions::kRead},
    {.api_groups = permissions::kAppsGroup, .resources = kOwnStatus, .verbs = permissions::kUpdate},
    {.api_groups = permissions::kAppsGroup,
     .resources = kOwnFinalizers,
     .verbs = permissions::kUpdate},
    {.api_groups = permissions::kAppsGroup,
     .resources = kRevisionsResource,
     .verbs = kRevisionVerbs},
    {.api_groups = permissions::kCoreGroup, .resources = kClaimsResource, .verbs = kClaimVerbs},
    permissions::kRecordEvents,
};

inline constexpr std::string_view kAliases[] = {"statefulset"};
inline constexpr std::string_view kRequired[] = {"apps/v1/statefulsets"};
inline constexpr sdk::Declaration kDeclaration{
    .name = "statefulset-controller",
    .aliases = kAliases,
    .client_name = "statefulset-controller",
    .event_source = "statefulset-controller",
    .required_resources = kRequired,
    .controller_flags = kFlags,
    .rules = kRules,
    .watches = kWatches,
    .queues = kQueues,
};

}  // namespace kcm::pod::statefulset
