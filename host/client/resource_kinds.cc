// SPDX-License-Identifier: Apache-2.0
// The table of built-in resources.
#include "host/client/resource_kinds.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kcm::host::client {
namespace {

// Sorted by resource. No two groups use one plural for kinds of different names.
constexpr auto kKinds = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"apiservices", "APIService"},
    {"bindings", "Binding"},
    {"certificatesigningrequests", "CertificateSigningRequest"},
    {"clusterrolebindings", "ClusterRoleBinding"},
    {"clusterroles", "ClusterRole"},
    {"clustertrustbundles", "ClusterTrustBundle"},
    {"componentstatuses", "ComponentStatus"},
    {"configmaps", "ConfigMap"},
    {"controllerrevisions", "ControllerRevision"},
    {"cronjobs", "CronJob"},
    {"csidrivers", "CSIDriver"},
    {"csinodes", "CSINode"},
    {"csistoragecapacities", "CSIStorageCapacity"},
    {"customresourcedefinitions", "CustomResourceDefinition"},
    {"daemonsets", "DaemonSet"},
    {"deployments", "Deployment"},
    {"deviceclasses", "DeviceClass"},
    {"devicetaintrules", "DeviceTaintRule"},
    {"endpoints", "Endpoints"},
    {"endpointslices", "EndpointSlice"},
    {"events", "Event"},
    {"flowschemas", "FlowSchema"},
    {"horizontalpodautoscalers", "HorizontalPodAutoscaler"},
    {"ingressclasses", "IngressClass"},
    {"ingresses", "Ingress"},
    {"ipaddresses", "IPAddress"},
    {"jobs", "Job"},
    {"leasecandidates", "LeaseCandidate"},
    {"leases", "Lease"},
    {"limitranges", "LimitRange"},
    {"localsubjectaccessreviews", "LocalSubjectAccessReview"},
    {"mutatingadmissionpolicies", "MutatingAdmissionPolicy"},
    {"mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"},
    {"mutatingwebhookconfigurations", "MutatingWebhookConfiguration"},
    {"namespaces", "Namespace"},
    {"networkpolicies", "NetworkPolicy"},
    {"nodes", "Node"},
    {"persistentvolumeclaims", "PersistentVolumeClaim"},
    {"persistentvolumes", "PersistentVolume"},
    {"podcertificaterequests", "PodCertificateRequest"},
    {"poddisruptionbudgets", "PodDisruptionBudget"},
    {"podgroups", "PodGroup"},
    {"pods", "Pod"},
    {"podtemplates", "PodTemplate"},
    {"priorityclasses", "PriorityClass"},
    {"prioritylevelconfigurations", "PriorityLevelConfiguration"},
    {"replicasets", "ReplicaSet"},
    {"replicationcontrollers", "ReplicationController"},
    {"resourceclaims", "ResourceClaim"},
    {"resourceclaimtemplates", "ResourceClaimTemplate"},
    {"resourcepoolstatusrequests", "ResourcePoolStatusRequest"},
    {"resourcequotas", "ResourceQuota"},
    {"resourceslices", "ResourceSlice"},
    {"rolebindings", "RoleBinding"},
    {"roles", "Role"},
    {"runtimeclasses", "RuntimeClass"},
    {"secrets", "Secret"},
    {"selfsubjectaccessreviews", "SelfSubjectAccessReview"},
    {"selfsubjectreviews", "SelfSubjectReview"},
    {"selfsubjectrulesreviews", "SelfSubjectRulesReview"},
    {"serviceaccounts", "ServiceAccount"},
    {"servicecidrs", "ServiceCIDR"},
    {"services", "Service"},
    {"statefulsets", "StatefulSet"},
    {"storageclasses", "StorageClass"},
    {"storageversionmigrations", "StorageVersionMigration"},
    {"storageversions", "StorageVersion"},
    {"subjectaccessreviews", "SubjectAccessReview"},
    {"tokenreviews", "TokenReview"},
    {"validatingadmissionpolicies", "ValidatingAdmissionPolicy"},
    {"validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"},
    {"validatingwebhookconfigurations", "ValidatingWebhookConfiguration"},
    {"volumeattachments", "VolumeAttachment"},
    {"volumeattributesclasses", "VolumeAttributesClass"},
    {"workloads", "Workload"},
});
static_assert(std::is_sorted(kKinds.begin(), kKinds.end()));

}  // namespace

std::string_view KindOfResource(std::string_view resource) {
  const auto it =
      std::lower_bound(kKinds.begin(), kKinds.end(), resource,
                       [](const auto& row, std::string_view r) { return row.first < r; });
  return it != kKinds.end() && it->first == resource ? it->second : std::string_view();
}

std::string_view MessageOfResource(const Gvr& gvr) {
  const std::string_view kind = KindOfResource(gvr.resource);
  return kind.empty() ? std::string_view() : wire::MessageFor(gvr.ApiVersion(), kind);
}

}  // namespace kcm::host::client
