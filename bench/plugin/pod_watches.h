// SPDX-License-Identifier: Apache-2.0
// Watches of the workload controllers (the "Reads" of pod-workloads and pod-batch).
#pragma once
#include "plugin/watches.h"

namespace kcm::bench {

inline constexpr Fields kReplicaSetPods = {"spec.nodeName",
                                           "spec.initContainers[].name",
                                           "spec.initContainers[].restartPolicy",
                                           "status.phase",
                                           "status.conditions[].type",
                                           "status.conditions[].status",
                                           "status.conditions[].lastTransitionTime",
                                           "status.containerStatuses[].restartCount",
                                           "status.initContainerStatuses[].name",
                                           "status.initContainerStatuses[].restartCount"};
inline constexpr sdk::Watch kReplicaSetWatches[] = {
    {.resource = kReplicaSets, .indexes = kByController},
    {.resource = kPods, .fields = kReplicaSetPods, .indexes = kByController}};
inline constexpr sdk::Watch kReplicationControllerWatches[] = {
    {.resource = "v1/replicationcontrollers", .indexes = kByController},
    {.resource = kPods, .fields = kReplicaSetPods, .indexes = kByController}};
inline constexpr sdk::Watch kDeploymentWatches[] = {
    {.resource = "apps/v1/deployments"},
    {.resource = kReplicaSets, .indexes = kByController},
    {.resource = kPods, .fields = kPhase, .indexes = kByController}};

inline constexpr Fields kStatefulSetPods = {"spec.volumes[].name",
                                            "spec.volumes[].persistentVolumeClaim.claimName",
                                            "status.phase",
                                            "status.conditions[].type",
                                            "status.conditions[].status",
                                            "status.conditions[].lastTransitionTime"};
inline constexpr sdk::Watch kStatefulSetWatches[] = {
    {.resource = "apps/v1/statefulsets"},
    {.resource = kPods, .fields = kStatefulSetPods, .indexes = kByController},
    {.resource = kClaims, .fields = kMetadata},
    {.resource = kRevisions, .indexes = kByController}};

inline constexpr Fields kDaemonSetPods = {
    "spec.nodeName", "status.phase", "status.conditions[].type", "status.conditions[].status",
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[]."
    "matchFields"};
inline constexpr Fields kDaemonSetNodes = {"spec.taints"};
inline constexpr sdk::Watch kDaemonSetWatches[] = {
    {.resource = "apps/v1/daemonsets"},
    {.resource = kRevisions, .indexes = kByController},
    {.resource = kPods, .fields = kDaemonSetPods, .indexes = kByNode},
    {.resource = kNodes, .fields = kDaemonSetNodes}};

inline constexpr Fields kJobPods = {"spec.nodeName",
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
                                    "status.initContainerStatuses[].state.terminated.finishedAt"};
inline constexpr sdk::Watch kJobWatches[] = {
    {.resource = kJobs}, {.resource = kPods, .fields = kJobPods, .indexes = kByController}};
inline constexpr Fields kCronJobJobs = {"status.conditions[].type", "status.conditions[].status",
                                        "status.startTime", "status.completionTime"};
inline constexpr sdk::Watch kCronJobWatches[] = {{.resource = "batch/v1/cronjobs"},
                                                 {.resource = kJobs, .fields = kCronJobJobs}};
inline constexpr Fields kTtlJobs = {"spec.ttlSecondsAfterFinished", "status.conditions[].type",
                                    "status.conditions[].status",
                                    "status.conditions[].lastTransitionTime"};
inline constexpr sdk::Watch kTtlWatches[] = {{.resource = kJobs, .fields = kTtlJobs}};

inline constexpr Fields kAutoscalerPods = {"spec.containers[].name",
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
                                           "status.conditions[].lastTransitionTime"};
inline constexpr sdk::Watch kAutoscalerWatches[] = {
    {.resource = "autoscaling/v2/horizontalpodautoscalers"},
    {.resource = kPods, .fields = kAutoscalerPods}};

inline constexpr Fields kDisruptionPods = {"status.phase", "status.conditions"};
inline constexpr Fields kReplicas = {"spec.replicas"};
inline constexpr sdk::Watch kDisruptionWatches[] = {
    {.resource = "policy/v1/poddisruptionbudgets"},
    {.resource = kPods, .fields = kDisruptionPods},
    {.resource = "v1/replicationcontrollers", .fields = kReplicas},
    {.resource = kReplicaSets, .fields = kReplicas},
    {.resource = "apps/v1/deployments", .fields = kReplicas},
    {.resource = "apps/v1/statefulsets", .fields = kReplicas}};

inline constexpr Fields kPodGcPods = {"spec.nodeName", "status.phase", "status.reason",
                                      "status.observedGeneration", "status.conditions"};
inline constexpr Fields kPodGcNodes = {"spec.taints[].key", "status.conditions[].type",
                                       "status.conditions[].status"};
inline constexpr sdk::Watch kPodGcWatches[] = {{.resource = kPods, .fields = kPodGcPods},
                                               {.resource = kNodes, .fields = kPodGcNodes}};

}  // namespace kcm::bench
