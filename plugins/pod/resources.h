// SPDX-License-Identifier: Apache-2.0
// The API resources that the workload controllers read and write.
#pragma once
#include "kcm/sdk/context.h"

namespace kcm::pod {

inline constexpr sdk::Resource kPods{
    .group = "", .version = "v1", .resource = "pods", .kind = "Pod"};
inline constexpr sdk::Resource kNodes{
    .group = "", .version = "v1", .resource = "nodes", .kind = "Node"};
inline constexpr sdk::Resource kReplicaSets{
    .group = "apps", .version = "v1", .resource = "replicasets", .kind = "ReplicaSet"};
inline constexpr sdk::Resource kReplicationControllers{.group = "",
                                                       .version = "v1",
                                                       .resource = "replicationcontrollers",
                                                       .kind = "ReplicationController"};
inline constexpr sdk::Resource kDeployments{
    .group = "apps", .version = "v1", .resource = "deployments", .kind = "Deployment"};
inline constexpr sdk::Resource kJobs{
    .group = "batch", .version = "v1", .resource = "jobs", .kind = "Job"};
inline constexpr sdk::Resource kCronJobs{
    .group = "batch", .version = "v1", .resource = "cronjobs", .kind = "CronJob"};
inline constexpr sdk::Resource kHorizontalPodAutoscalers{.group = "autoscaling",
                                                         .version = "v2",
                                                         .resource = "horizontalpodautoscalers",
                                                         .kind = "HorizontalPodAutoscaler"};
inline constexpr sdk::Resource kPodDisruptionBudgets{.group = "policy",
                                                     .version = "v1",
                                                     .resource = "poddisruptionbudgets",
                                                     .kind = "PodDisruptionBudget"};
inline constexpr sdk::Resource kDaemonSets{
    .group = "apps", .version = "v1", .resource = "daemonsets", .kind = "DaemonSet"};
inline constexpr sdk::Resource kStatefulSets{
    .group = "apps", .version = "v1", .resource = "statefulsets", .kind = "StatefulSet"};
inline constexpr sdk::Resource kControllerRevisions{.group = "apps",
                                                    .version = "v1",
                                                    .resource = "controllerrevisions",
                                                    .kind = "ControllerRevision"};
inline constexpr sdk::Resource kPersistentVolumeClaims{.group = "",
                                                       .version = "v1",
                                                       .resource = "persistentvolumeclaims",
                                                       .kind = "PersistentVolumeClaim"};

}  // namespace kcm::pod
