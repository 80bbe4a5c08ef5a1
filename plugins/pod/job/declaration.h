// SPDX-License-Identifier: Apache-2.0
// What job-controller declares (spec/pod-batch.md 1.1, 1.12, 1.15, 1.17).
#pragma once
#include <string_view>

#include "kcm/rules/job.h"
#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"
#include "kcm/sdk/permissions.h"

namespace kcm::pod::job {

namespace permissions = sdk::permissions;

// Exactly what counting, back-off, policies and the order of removal read; metadata is always
// there.
inline constexpr std::string_view kPodFields[] = {
    "spec.nodeName",
    "spec.initContainers[].name",
    "spec.initContainers[].restartPolicy",
    "status.phase",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].lastTransitionTime",
    "status.containerStatuses[].name",
    "status.containerStatuses[].restartCount",
    "status.containerStatuses[].state.terminated.exitCode",
    "status.containerStatuses[].state.terminated.finishedAt",
    "status.initContainerStatuses[].name",
    "status.initContainerStatuses[].restartCount",
    "status.initContainerStatuses[].state.terminated.exitCode",
    "status.initContainerStatuses[].state.terminated.finishedAt",
};

// Places in the watches, in the pods' indexes and in the queues.
inline constexpr sdk::WholeWatch kJobWatch{0};
inline constexpr sdk::MaskedWatch kPodWatch{1};
inline constexpr int kByController = 0;
inline constexpr int kByJobLabel = 1;
inline constexpr uint32_t kJobQueue = 0;
inline constexpr uint32_t kOrphanQueue = 1;

inline constexpr sdk::Index kPodIndexes[] = {
    {.by = sdk::Index::kControllerUid},
    {.by = sdk::Index::kLabel, .path = rules::kJobControllerUidLabel},
};
inline constexpr sdk::Watch kWatches[] = {
    {.resource = "batch/v1/jobs"},  // whole: its status is sent as a PUT
    {.resource = "v1/pods", .fields = kPodFields, .indexes = kPodIndexes},
};

inline constexpr int64_t kBaseDelayNs = 1'000'000'000;
inline constexpr int64_t kMaxDelayNs = 60'000'000'000;
inline constexpr sdk::Queue kQueues[] = {
    {.name = "job",
     .workers_flag = "concurrent-job-syncs",
     .workers = 5,
     .base_delay_ns = kBaseDelayNs,
     .max_delay_ns = kMaxDelayNs,
     .bucket_qps = -1},
    {.name = "job_orphan_pod",
     .workers_flag = "concurrent-job-syncs",
     .workers = 5,
     .base_delay_ns = kBaseDelayNs,
     .max_delay_ns = kMaxDelayNs,
     .bucket_qps = -1},
};
inline constexpr sdk::Flag kFlags[] = {
    {.name = "concurrent-job-syncs",
     .type = sdk::Flag::kInt,
     .default_value = "5",
     .help =
         "The number of job objects that are allowed to sync concurrently. Larger number = more "
         "responsive jobs, but more CPU (and network) load"},
};

inline constexpr std::string_view kJobResource[] = {"jobs"};
inline constexpr std::string_view kJobStatus[] = {"jobs/status"};
inline constexpr std::string_view kJobFinalizers[] = {"jobs/finalizers"};
inline constexpr std::string_view kJobVerbs[] = {"get", "list", "watch", "update", "patch"};
inline constexpr std::string_view kPodVerbs[] = {"list", "watch", "create", "delete", "patch"};
inline constexpr sdk::Rule kRules[] = {
    {.api_groups = permissions::kBatchGroup, .resources = kJobResource, .verbs = kJobVerbs},
    {.api_groups = permissions::kBatchGroup,
     .resources = kJobStatus,
     .verbs = permissions::kUpdate},
    {.api_groups = permissions::kBatchGroup,
     .resources = kJobFinalizers,
     .verbs = permissions::kUpdate},
    {.api_groups = permissions::kCoreGroup,
     .resources = permissions::kPodsResource,
     .verbs = kPodVerbs},
    permissions::kRecordEvents,
};

inline constexpr std::string_view kAliases[] = {"job"};
inline constexpr std::string_view kRequired[] = {"batch/v1/jobs"};
inline constexpr sdk::Declaration kDeclaration{
    .name = "job-controller",
    .aliases = kAliases,
    .client_name = "job-controller",
    .event_source = "job-controller",
    .required_resources = kRequired,
    .controller_flags = kFlags,
    .rules = kRules,
    .watches = kWatches,
    .queues = kQueues,
};

}  // namespace kcm::pod::job
