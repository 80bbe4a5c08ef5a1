// SPDX-License-Identifier: Apache-2.0
// Watches of the node controllers and of the garbage collector (the "Reads" of node).
#pragma once
#include "plugin/watches.h"

namespace kcm::bench {

// Nodes and pods are read afresh before their status is put: the caches stay masked.
inline constexpr Fields kLifecycleNodes = {"spec.taints", "spec.unschedulable",
                                           "status.conditions"};
inline constexpr Fields kLeaseFields = {"spec.renewTime"};
inline constexpr Fields kLifecyclePods = {"spec.nodeName", "status.conditions"};
inline constexpr sdk::Watch kNodeLifecycleWatches[] = {
    {.resource = kNodes, .fields = kLifecycleNodes},
    {.resource = "coordination.k8s.io/v1/leases",
     .fields = kLeaseFields,
     .scope = "kube-node-lease"},
    {.resource = kPods, .fields = kLifecyclePods, .indexes = kByNode}};

inline constexpr Fields kTaintNodes = {"spec.taints"};
inline constexpr Fields kTaintPods = {"spec.nodeName", "spec.tolerations"};
inline constexpr sdk::Watch kTaintEvictionWatches[] = {
    {.resource = kNodes, .fields = kTaintNodes},
    {.resource = kPods, .fields = kTaintPods, .indexes = kByNode}};
inline constexpr sdk::Watch kNodeTtlWatches[] = {{.resource = kNodes, .fields = kMetadata}};
inline constexpr Fields kIpamNodes = {"spec.podCIDR", "spec.podCIDRs"};
inline constexpr sdk::Watch kNodeIpamWatches[] = {{.resource = kNodes, .fields = kIpamNodes}};

inline constexpr sdk::Watch kStorageVersionWatches[] = {
    {.resource = "internal.apiserver.k8s.io/v1alpha1/storageversions", .flags = kOptional},
    {.resource = "coordination.k8s.io/v1/leases", .fields = kMetadata, .scope = "kube-system"}};

inline constexpr Fields kClaimPods = {"spec.nodeName",
                                      "spec.resourceClaims[].name",
                                      "spec.resourceClaims[].resourceClaimName",
                                      "spec.resourceClaims[].resourceClaimTemplateName",
                                      "spec.schedulingGroup.podGroupName",
                                      "status.phase",
                                      "status.resourceClaimStatuses",
                                      "status.extendedResourceClaimStatus.resourceClaimName"};
inline constexpr sdk::Watch kResourceClaimWatches[] = {
    {.resource = kPods, .fields = kClaimPods},
    {.resource = kResourceClaims, .indexes = kByController, .flags = kOptional},
    {.resource = "resource.k8s.io/v1/resourceclaimtemplates", .flags = kOptional}};

inline constexpr Fields kEvictedPods = {"spec.nodeName", "spec.resourceClaims",
                                        "spec.schedulingGroup", "status.resourceClaimStatuses"};
inline constexpr Fields kEvictedClaims = {"status.reservedFor",
                                          "status.allocation.devices.results"};
inline constexpr Fields kEvictedSlices = {"spec.driver", "spec.pool.name", "spec.pool.generation",
                                          "spec.devices[].name", "spec.devices[].taints"};
inline constexpr sdk::Watch kDeviceTaintWatches[] = {
    {.resource = kPods, .fields = kEvictedPods},
    {.resource = kResourceClaims, .fields = kEvictedClaims, .flags = kOptional},
    {.resource = kResourceSlices, .fields = kEvictedSlices, .flags = kOptional}};

inline constexpr Fields kPolicyFields = {"spec.paramKind",
                                         "spec.matchConstraints.resourceRules",
                                         "spec.variables",
                                         "spec.validations[].expression",
                                         "spec.validations[].messageExpression",
                                         "status.observedGeneration"};
inline constexpr sdk::Watch kPolicyStatusWatches[] = {
    {.resource = "admissionregistration.k8s.io/v1/validatingadmissionpolicies",
     .fields = kPolicyFields,
     .flags = kOptional}};

// The garbage collector's graph: metadata of everything that can be deleted. Kinds with a cache of
// another controller share it.
inline constexpr sdk::Watch kGarbageWatches[] = {
    {.resource = kPods, .fields = kMetadata, .indexes = kByOwner},
    {.resource = kNodes, .fields = kMetadata},
    {.resource = kServices, .fields = kMetadata},
    {.resource = kNamespaces, .fields = kMetadata},
    {.resource = kAccounts, .fields = kMetadata},
    {.resource = kEndpoints, .fields = kMetadata},
    {.resource = kSlices, .fields = kMetadata, .indexes = kByOwner},
    {.resource = kClaims, .fields = kMetadata},
    {.resource = kVolumes, .fields = kMetadata},
    {.resource = "v1/replicationcontrollers", .fields = kMetadata},
    {.resource = kReplicaSets, .fields = kMetadata, .indexes = kByOwner},
    {.resource = "apps/v1/deployments", .fields = kMetadata},
    {.resource = "apps/v1/statefulsets", .fields = kMetadata},
    {.resource = "apps/v1/daemonsets", .fields = kMetadata},
    {.resource = kRevisions, .fields = kMetadata, .indexes = kByOwner},
    {.resource = kJobs, .fields = kMetadata, .indexes = kByOwner},
    {.resource = "batch/v1/cronjobs", .fields = kMetadata},
    {.resource = "v1/configmaps", .indexes = kByOwner, .flags = kMetadataOnly},
    {.resource = kSecrets, .indexes = kByOwner, .flags = kMetadataOnly},
    {.resource = "v1/limitranges", .flags = kMetadataOnly},
    {.resource = "v1/podtemplates", .flags = kMetadataOnly},
    {.resource = "coordination.k8s.io/v1/leases", .flags = kMetadataOnly},
    {.resource = "networking.k8s.io/v1/ingresses", .flags = kMetadataOnly},
    {.resource = "networking.k8s.io/v1/ingressclasses", .flags = kMetadataOnly},
    {.resource = "networking.k8s.io/v1/networkpolicies", .flags = kMetadataOnly},
    {.resource = "rbac.authorization.k8s.io/v1/roles", .flags = kMetadataOnly},
    {.resource = "rbac.authorization.k8s.io/v1/rolebindings", .flags = kMetadataOnly},
    {.resource = "rbac.authorization.k8s.io/v1/clusterrolebindings", .flags = kMetadataOnly},
    {.resource = "scheduling.k8s.io/v1/priorityclasses", .flags = kMetadataOnly},
    {.resource = "node.k8s.io/v1/runtimeclasses", .flags = kMetadataOnly},
    {.resource = "apiextensions.k8s.io/v1/customresourcedefinitions", .flags = kMetadataOnly},
    {.resource = "apiregistration.k8s.io/v1/apiservices", .flags = kMetadataOnly},
    {.resource = "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
     .flags = kMetadataOnly},
    {.resource = "admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
     .flags = kMetadataOnly},
    {.resource = "flowcontrol.apiserver.k8s.io/v1/flowschemas", .flags = kMetadataOnly},
    {.resource = "flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
     .flags = kMetadataOnly}};

}  // namespace kcm::bench
