// SPDX-License-Identifier: Apache-2.0
// The table of kinds that tests use.
#include "harness/resources.h"

namespace kcm::harness {
namespace {
constexpr KnownResource kResources[] = {
    {"pods", "Pod", "v1", true},
    {"services", "Service", "v1", true},
    {"endpoints", "Endpoints", "v1", true},
    {"configmaps", "ConfigMap", "v1", true},
    {"secrets", "Secret", "v1", true},
    {"serviceaccounts", "ServiceAccount", "v1", true},
    {"events", "Event", "v1", true},
    {"resourcequotas", "ResourceQuota", "v1", true},
    {"limitranges", "LimitRange", "v1", true},
    {"persistentvolumeclaims", "PersistentVolumeClaim", "v1", true},
    {"replicationcontrollers", "ReplicationController", "v1", true},
    {"namespaces", "Namespace", "v1", false},
    {"nodes", "Node", "v1", false},
    {"persistentvolumes", "PersistentVolume", "v1", false},
    {"deployments", "Deployment", "apps/v1", true},
    {"replicasets", "ReplicaSet", "apps/v1", true},
    {"statefulsets", "StatefulSet", "apps/v1", true},
    {"daemonsets", "DaemonSet", "apps/v1", true},
    {"controllerrevisions", "ControllerRevision", "apps/v1", true},
    {"jobs", "Job", "batch/v1", true},
    {"cronjobs", "CronJob", "batch/v1", true},
    {"horizontalpodautoscalers", "HorizontalPodAutoscaler", "autoscaling/v2", true},
    {"poddisruptionbudgets", "PodDisruptionBudget", "policy/v1", true},
    {"leases", "Lease", "coordination.k8s.io/v1", true},
    {"endpointslices", "EndpointSlice", "discovery.k8s.io/v1", true},
    {"roles", "Role", "rbac.authorization.k8s.io/v1", true},
    {"rolebindings", "RoleBinding", "rbac.authorization.k8s.io/v1", true},
    {"clusterroles", "ClusterRole", "rbac.authorization.k8s.io/v1", false},
    {"clusterrolebindings", "ClusterRoleBinding", "rbac.authorization.k8s.io/v1", false},
    {"customresourcedefinitions", "CustomResourceDefinition", "apiextensions.k8s.io/v1", false},
    {"apiservices", "APIService", "apiregistration.k8s.io/v1", false},
    {"priorityclasses", "PriorityClass", "scheduling.k8s.io/v1", false},
    {"storageclasses", "StorageClass", "storage.k8s.io/v1", false},
};
}  // namespace

const KnownResource* FindResource(std::string_view name) {
  for (const KnownResource& r : kResources)
    if (r.plural == name || r.kind == name) return &r;
  return nullptr;
}

}  // namespace kcm::harness
