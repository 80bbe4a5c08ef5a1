// SPDX-License-Identifier: Apache-2.0
// What horizontal-pod-autoscaler-controller declares (spec/pod-batch.md section 4).
#pragma once
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"
#include "kcm/sdk/permissions.h"

namespace kcm::pod::hpa {

namespace permissions = sdk::permissions;

inline constexpr std::string_view kPodFields[] = {
    "spec.containers[].name",
    "spec.containers[].resources.requests",
    "spec.initContainers[].name",
    "spec.initContainers[].restartPolicy",
    "spec.initContainers[].resources.requests",
    "spec.resources.requests",
    "spec.overhead",
    "status.phase",
    "status.startTime",
    "status.conditions[].type",
    "status.conditions[].status",
    "status.conditions[].lastTransitionTime",
};

// Places in the watches. Pods wake nobody: an autoscaler looks once a sync period, whatever
// happens.
inline constexpr sdk::WholeWatch kAutoscalerWatch{0};
inline constexpr sdk::MaskedWatch kPodWatch{1};
inline constexpr sdk::Watch kWatches[] = {
    {.resource = "autoscaling/v2/horizontalpodautoscalers"},  // whole: its status is sent as a PUT
    {.resource = "v1/pods", .fields = kPodFields, .flags = KCM_WATCH_NO_EVENTS},
};

// Keys are added after the sync period only (4.2), never by back-off.
inline constexpr std::string_view kWorkersFlag = "concurrent-horizontal-pod-autoscaler-syncs";
inline constexpr sdk::Queue kQueues[] = {
    {.name = "horizontalpodautoscaler", .workers_flag = kWorkersFlag, .workers = 5},
};

inline constexpr std::string_view kSyncPeriodFlag = "horizontal-pod-autoscaler-sync-period";
inline constexpr std::string_view kDownscaleStabilizationFlag =
    "horizontal-pod-autoscaler-downscale-stabilization";
inline constexpr std::string_view kToleranceFlag = "horizontal-pod-autoscaler-tolerance";
inline constexpr std::string_view kCpuInitializationFlag =
    "horizontal-pod-autoscaler-cpu-initialization-period";
inline constexpr std::string_view kInitialReadinessDelayFlag =
    "horizontal-pod-autoscaler-initial-readiness-delay";
inline constexpr sdk::Flag kFlags[] = {
    {.name = kWorkersFlag,
     .type = sdk::Flag::kInt,
     .default_value = "5",
     .help = "The number of horizontal pod autoscaler objects that are allowed to sync "
             "concurrently. Larger number = more responsive horizontal pod autoscaler objects "
             "processing, but more CPU (and network) load."},
    {.name = kSyncPeriodFlag,
     .type = sdk::Flag::kDuration,
     .default_value = "15s",
     .help = "The period for syncing the number of pods in horizontal pod autoscaler."},
    {.name = kDownscaleStabilizationFlag,
     .type = sdk::Flag::kDuration,
     .default_value = "5m0s",
     .help = "The period for which autoscaler will look backwards and not scale down below any "
             "recommendation it made during that period."},
    {.name = kToleranceFlag,
     .type = sdk::Flag::kFloat,
     .default_value = "0.1",
     .help = "The minimum change (from 1.0) in the desired-to-actual metrics ratio for the "
             "horizontal pod autoscaler to consider scaling."},
    {.name = kCpuInitializationFlag,
     .type = sdk::Flag::kDuration,
     .default_value = "5m0s",
     .help = "The period after pod start when CPU samples might be skipped."},
    {.name = kInitialReadinessDelayFlag,
     .type = sdk::Flag::kDuration,
     .default_value = "30s",
     .help = "The period after pod start during which readiness changes will be treated as "
             "initial readiness."},
};

inline constexpr std::string_view kAutoscalingGroup[] = {"autoscaling"};
inline constexpr std::string_view kAnyGroup[] = {"*"};
inline constexpr std::string_view kMetricsGroup[] = {"metrics.k8s.io"};
inline constexpr std::string_view kCustomMetricsGroup[] = {"custom.metrics.k8s.io"};
inline constexpr std::string_view kExternalMetricsGroup[] = {"external.metrics.k8s.io"};
inline constexpr std::string_view kOwnResource[] = {"horizontalpodautoscalers"};
inline constexpr std::string_view kOwnStatus[] = {"horizontalpodautoscalers/status"};
inline constexpr std::string_view kAnyScale[] = {"*/scale"};
inline constexpr std::string_view kAnyResource[] = {"*"};
inline constexpr std::string_view kGetUpdate[] = {"get", "update"};
inline constexpr std::string_view kListWatch[] = {"list", "watch"};
inline constexpr sdk::Rule kRules[] = {
    {.api_groups = kAutoscalingGroup, .resources = kOwnResource, .verbs = permissions::kRead},
    {.api_groups = kAutoscalingGroup, .resources = kOwnStatus, .verbs = permissions::kUpdate},
    {.api_groups = kAnyGroup, .resources = kAnyScale, .verbs = kGetUpdate},
    {.api_groups = permissions::kCoreGroup,
     .resources = permissions::kPodsResource,
     .verbs = kListWatch},
    {.api_groups = kMetricsGroup, .resources = permissions::kPodsResource, .verbs = kListWatch},
    {.api_groups = kCustomMetricsGroup, .resources = kAnyResource, .verbs = permissions::kRead},
    {.api_groups = kExternalMetricsGroup, .resources = kAnyResource, .verbs = permissions::kRead},
    permissions::kRecordEvents,
};

inline constexpr std::string_view kAliases[] = {"horizontalpodautoscaling"};
inline constexpr std::string_view kRequired[] = {"autoscaling/v2/horizontalpodautoscalers"};
inline constexpr sdk::Declaration kDeclaration{
    .name = "horizontal-pod-autoscaler-controller",
    .aliases = kAliases,
    .client_name = "horizontal-pod-autoscaler",
    .event_source = "horizontal-pod-autoscaler",
    .required_resources = kRequired,
    .controller_flags = kFlags,
    .rules = kRules,
    .watches = kWatches,
    .queues = kQueues,
};

}  // namespace kcm::pod::hpa
