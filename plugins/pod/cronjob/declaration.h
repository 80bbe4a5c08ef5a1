// SPDX-License-Identifier: Apache-2.0
// What cronjob-controller declares (spec/pod-batch.md section 2).
#pragma once
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"
#include "kcm/sdk/permissions.h"

namespace kcm::pod::cronjob {

namespace permissions = sdk::permissions;

inline constexpr std::string_view kJobFields[] = {
    "status.conditions[].type",
    "status.conditions[].status",
    "status.startTime",
    "status.completionTime",
};

inline constexpr sdk::WholeWatch kCronJobWatch{0};
inline constexpr sdk::MaskedWatch kJobWatch{1};
inline constexpr sdk::Watch kWatches[] = {
    {.resource = "batch/v1/cronjobs"},  // whole: its status is sent as a PUT
    {.resource = "batch/v1/jobs", .fields = kJobFields},
};

inline constexpr std::string_view kWorkersFlag = "concurrent-cron-job-syncs";
inline constexpr sdk::Queue kQueues[] = {
    {.name = "cronjob", .workers_flag = kWorkersFlag, .workers = 5},
};
inline constexpr sdk::Flag kFlags[] = {
    {.name = kWorkersFlag,
     .type = sdk::Flag::kInt,
     .default_value = "5",
     .help = "The number of cron job objects that are allowed to sync concurrently. Larger number "
             "= more responsive jobs, but more CPU (and network) load"},
};

inline constexpr std::string_view kOwnResource[] = {"cronjobs"};
inline constexpr std::string_view kOwnStatus[] = {"cronjobs/status"};
inline constexpr std::string_view kOwnFinalizers[] = {"cronjobs/finalizers"};
inline constexpr std::string_view kJobsResource[] = {"jobs"};
inline constexpr std::string_view kJobVerbs[] = {"get",    "list",  "watch", "create",
                                                 "update", "patch", "delete"};
inline constexpr std::string_view kPodVerbs[] = {"list", "watch", "delete"};
inline constexpr sdk::Rule kRules[] = {
    {.api_groups = permissions::kBatchGroup,
     .resources = kOwnResource,
     .verbs = permissions::kReadUpdate},
    {.api_groups = permissions::kBatchGroup,
     .resources = kOwnStatus,
     .verbs = permissions::kUpdate},
    {.api_groups = permissions::kBatchGroup,
     .resources = kOwnFinalizers,
     .verbs = permissions::kUpdate},
    {.api_groups = permissions::kBatchGroup, .resources = kJobsResource, .verbs = kJobVerbs},
    {.api_groups = permissions::kCoreGroup,
     .resources = permissions::kPodsResource,
     .verbs = kPodVerbs},
    permissions::kRecordEvents,
};

inline constexpr std::string_view kAliases[] = {"cronjob"};
inline constexpr std::string_view kRequired[] = {"batch/v1/cronjobs"};
inline constexpr sdk::Declaration kDeclaration{
    .name = "cronjob-controller",
    .aliases = kAliases,
    .client_name = "cronjob-controller",
    .event_source = "cronjob-controller",
    .required_resources = kRequired,
    .controller_flags = kFlags,
    .rules = kRules,
    .watches = kWatches,
    .queues = kQueues,
};

}  // namespace kcm::pod::cronjob
