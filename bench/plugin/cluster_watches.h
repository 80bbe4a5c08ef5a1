// SPDX-License-Identifier: Apache-2.0
// Watches of the network, certificate, namespace and account controllers (the "Reads" of endpoints,
// certs and namespace).
#pragma once
#include "plugin/watches.h"

namespace kcm::bench {

// ---- endpoints ----
inline constexpr Fields kEndpointServices = {"spec.type",
                                             "spec.selector",
                                             "spec.clusterIP",
                                             "spec.ipFamilies",
                                             "spec.publishNotReadyAddresses",
                                             "spec.ports",
                                             "spec.trafficDistribution"};
inline constexpr Fields kEndpointPods = {"spec.nodeName",
                                         "spec.hostname",
                                         "spec.subdomain",
                                         "spec.containers[].ports[].name",
                                         "spec.containers[].ports[].containerPort",
                                         "spec.containers[].ports[].protocol",
                                         "spec.initContainers[].restartPolicy",
                                         "spec.initContainers[].ports[].name",
                                         "spec.initContainers[].ports[].containerPort",
                                         "spec.initContainers[].ports[].protocol",
                                         "status.phase",
                                         "status.podIP",
                                         "status.podIPs[].ip",
                                         "status.conditions[].type",
                                         "status.conditions[].status",
                                         "status.conditions[].lastTransitionTime"};
inline constexpr Fields kSliceNodes = {"status.allocatable[cpu]", "status.conditions[].type",
                                       "status.conditions[].status"};
inline constexpr sdk::Watch kEndpointsWatches[] = {
    {.resource = kServices, .fields = kEndpointServices},
    {.resource = kPods, .fields = kEndpointPods},
    {.resource = kEndpoints}};
inline constexpr sdk::Watch kSliceWatches[] = {{.resource = kServices, .fields = kEndpointServices},
                                               {.resource = kPods, .fields = kEndpointPods},
                                               {.resource = kNodes, .fields = kSliceNodes},
                                               {.resource = kSlices, .indexes = kByService}};
inline constexpr Fields kSelector = {"spec.selector"};
inline constexpr sdk::Watch kMirroringWatches[] = {{.resource = kEndpoints},
                                                   {.resource = kServices, .fields = kSelector},
                                                   {.resource = kSlices, .indexes = kByService}};
inline constexpr sdk::Watch kServiceCidrWatches[] = {
    {.resource = "networking.k8s.io/v1/servicecidrs", .flags = kOptional},
    {.resource = "networking.k8s.io/v1/ipaddresses", .fields = kMetadata, .flags = kOptional}};

// ---- certs ----
inline constexpr sdk::Watch kCsrWatches[] = {{.resource = kCsrs}};
// Whole, because it is put back, but only the one name that matters.
inline constexpr sdk::Watch kRootCaWatches[] = {
    {.resource = "v1/configmaps", .field_selector = "metadata.name=kube-root-ca.crt"},
    {.resource = kNamespaces, .fields = kPhase}};

// ---- namespace ----
inline constexpr Fields kQuotaPods = {"spec.activeDeadlineSeconds",
                                      "spec.priorityClassName",
                                      "spec.overhead",
                                      "spec.resources",
                                      "spec.containers[].name",
                                      "spec.containers[].resources.requests",
                                      "spec.containers[].resources.limits",
                                      "spec.initContainers[].name",
                                      "spec.initContainers[].restartPolicy",
                                      "spec.initContainers[].resources.requests",
                                      "spec.initContainers[].resources.limits",
                                      "spec.affinity.podAffinity",
                                      "spec.affinity.podAntiAffinity",
                                      "status.phase",
                                      "status.qosClass",
                                      "status.conditions[].type",
                                      "status.conditions[].reason",
                                      "status.containerStatuses[].name",
                                      "status.containerStatuses[].resources",
                                      "status.containerStatuses[].allocatedResources",
                                      "status.initContainerStatuses[].name",
                                      "status.initContainerStatuses[].resources",
                                      "status.initContainerStatuses[].allocatedResources",
                                      "status.extendedResourceClaimStatus.resourceClaimName"};
inline constexpr Fields kQuotaServices = {"spec.type", "spec.ports[].nodePort",
                                          "spec.allocateLoadBalancerNodePorts"};
inline constexpr Fields kQuotaClaims = {
    "spec.storageClassName",
    "spec.resources.requests",
    "spec.volumeAttributesClassName",
    "status.allocatedResources",
    "status.currentVolumeAttributesClassName",
    "status.modifyVolumeStatus.targetVolumeAttributesClassName"};
inline constexpr Fields kQuotaResourceClaims = {"spec.devices.requests"};
inline constexpr Fields kQuotaClasses = {"spec.extendedResourceName"};
// Object counts come from the metadata that the garbage collector watches.
inline constexpr sdk::Watch kQuotaWatches[] = {
    {.resource = "v1/resourcequotas"},
    {.resource = kPods, .fields = kQuotaPods},
    {.resource = kServices, .fields = kQuotaServices},
    {.resource = kClaims, .fields = kQuotaClaims},
    {.resource = kResourceClaims, .fields = kQuotaResourceClaims, .flags = kOptional},
    {.resource = "resource.k8s.io/v1/deviceclasses", .fields = kQuotaClasses, .flags = kOptional},
    {.resource = "v1/configmaps", .flags = kMetadataOnly},
    {.resource = kSecrets, .flags = kMetadataOnly}};
inline constexpr Fields kTokenSecrets = {"type", "data[token]", "data[ca.crt]", "data[namespace]"};
inline constexpr sdk::Watch kAccountTokenWatches[] = {
    {.resource = kSecrets,
     .fields = kTokenSecrets,
     .field_selector = "type=kubernetes.io/service-account-token"},
    {.resource = kAccounts, .fields = kMetadata}};
// Every place where a pod names a secret: a token that is used is not removed.
inline constexpr Fields kTokenPods = {
    "spec.imagePullSecrets[].name",
    "spec.containers[].env[].valueFrom.secretKeyRef.name",
    "spec.containers[].envFrom[].secretRef.name",
    "spec.initContainers[].env[].valueFrom.secretKeyRef.name",
    "spec.initContainers[].envFrom[].secretRef.name",
    "spec.ephemeralContainers[].env[].valueFrom.secretKeyRef.name",
    "spec.ephemeralContainers[].envFrom[].secretRef.name",
    "spec.volumes[].secret.secretName",
    "spec.volumes[].projected.sources[].secret.name",
    "spec.volumes[].azureFile.secretName",
    "spec.volumes[].cephfs.secretRef.name",
    "spec.volumes[].cinder.secretRef.name",
    "spec.volumes[].flexVolume.secretRef.name",
    "spec.volumes[].rbd.secretRef.name",
    "spec.volumes[].scaleIO.secretRef.name",
    "spec.volumes[].iscsi.secretRef.name",
    "spec.volumes[].storageos.secretRef.name",
    "spec.volumes[].csi.nodePublishSecretRef.name"};
inline constexpr Fields kTokenAccounts = {"secrets[].name"};
inline constexpr sdk::Watch kTokenCleanerWatches[] = {
    {.resource = kSecrets,
     .fields = kTokenSecrets,
     .field_selector = "type=kubernetes.io/service-account-token"},
    {.resource = kAccounts, .fields = kTokenAccounts},
    {.resource = kPods, .fields = kTokenPods}};

}  // namespace kcm::bench
