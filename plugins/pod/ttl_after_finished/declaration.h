// SPDX-License-Identifier: Apache-2.0
// What ttl-after-finished-controller declares (spec/pod-batch.md section 3).
#pragma once
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"
#include "kcm/sdk/permissions.h"

namespace kcm::pod::ttl_after_finished {

namespace permissions = sdk::permissions;

inline constexpr std::string_view kJobFields[] = {
    "spec.ttlSecondsAfterFinished",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].lastTransitionTime",
};

inline constexpr sdk::MaskedWatch kJobWatch{0};
inline constexpr sdk::Watch kWatches[] = {{.resource = "batch/v1/jobs", .fields = kJobFields}};

inline constexpr std::string_view kWorkersFlag = "concurrent-ttl-after-finished-syncs";
inline constexpr sdk::Queue kQueues[] = {
    {.name = "ttl_jobs_to_delete", .workers_flag = kWorkersFlag, .workers = 5},
};
inline constexpr sdk::Flag kFlags[] = {
    {.name = kWorkersFlag,
     .type = sdk::Flag::kInt,
     .default_value = "5",
     .help = "The number of ttl-after-finished-controller workers that are allowed to sync "
             "concurrently."},
};

inline constexpr std::string_view kJobsResource[] = {"jobs"};
inline constexpr std::string_view kJobVerbs[] = {"get", "list", "watch", "delete"};
inline constexpr sdk::Rule kRules[] = {
    {.api_groups = permissions::kBatchGroup, .resources = kJobsResource, .verbs = kJobVerbs},
    permissions::kRecordEvents,
};

inline constexpr std::string_view kAliases[] = {"ttl-after-finished"};
inline constexpr std::string_view kRequired[] = {"batch/v1/jobs"};
inline constexpr sdk::Declaration kDeclaration{
    .name = "ttl-after-finished-controller",
    .aliases = kAliases,
    .client_name = "ttl-after-finished-controller",
    .event_source = "ttl-after-finished-controller",
    .required_resources = kRequired,
    .controller_flags = kFlags,
    .rules = kRules,
    .watches = kWatches,
    .queues = kQueues,
};

}  // namespace kcm::pod::ttl_after_finished
