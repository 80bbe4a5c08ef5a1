// SPDX-License-Identifier: Apache-2.0
// Watches of the volume controllers (the "Reads" of volume).
#pragma once
#include "plugin/watches.h"

namespace kcm::bench {

inline constexpr std::string_view kAttachments = "storage.k8s.io/v1/volumeattachments";

inline constexpr Fields kBinderPods = {"spec.nodeName",
                                       "spec.volumes[].name",
                                       "spec.volumes[].persistentVolumeClaim.claimName",
                                       "spec.volumes[].ephemeral",
                                       "status.phase",
                                       "status.initContainerStatuses[].state",
                                       "status.containerStatuses[].state",
                                       "status.ephemeralContainerStatuses[].state"};
inline constexpr sdk::Watch kBinderWatches[] = {
    {.resource = kVolumes},
    {.resource = kClaims},
    {.resource = "storage.k8s.io/v1/storageclasses"},
    {.resource = kPods, .fields = kBinderPods, .indexes = kByClaim},
    {.resource = kNodes, .fields = kMetadata}};

// Only the volume sources that attach: whole volumes would keep every projected token source.
inline constexpr Fields kAttachPods = {"spec.nodeName",
                                       "spec.volumes[].name",
                                       "spec.volumes[].persistentVolumeClaim.claimName",
                                       "spec.volumes[].persistentVolumeClaim.readOnly",
                                       "spec.volumes[].ephemeral",
                                       "spec.volumes[].csi",
                                       "spec.volumes[].fc",
                                       "spec.volumes[].iscsi",
                                       "spec.volumes[].flexVolume",
                                       "spec.volumes[].awsElasticBlockStore",
                                       "spec.volumes[].gcePersistentDisk",
                                       "spec.volumes[].azureDisk",
                                       "spec.volumes[].azureFile",
                                       "spec.volumes[].cinder",
                                       "spec.volumes[].vsphereVolume",
                                       "spec.volumes[].portworxVolume",
                                       "status.phase",
                                       "status.initContainerStatuses[].state",
                                       "status.containerStatuses[].state",
                                       "status.ephemeralContainerStatuses[].state"};
inline constexpr Fields kAttachNodes = {"spec.taints[].key", "status.conditions[].type",
                                        "status.conditions[].status", "status.volumesAttached",
                                        "status.volumesInUse"};
inline constexpr Fields kAttachClaims = {"spec.volumeName", "status.phase"};
inline constexpr Fields kAttachDrivers = {"spec.attachRequired"};
inline constexpr sdk::Watch kAttachDetachWatches[] = {
    {.resource = kPods, .fields = kAttachPods, .indexes = kByClaim},
    {.resource = kNodes, .fields = kAttachNodes},
    {.resource = kClaims, .fields = kAttachClaims},
    {.resource = kVolumes},
    {.resource = kAttachments},
    {.resource = "storage.k8s.io/v1/csidrivers", .fields = kAttachDrivers},
    {.resource = "storage.k8s.io/v1/csinodes", .fields = kMetadata}};

inline constexpr Fields kExpanderClaims = {"spec.volumeName",
                                           "spec.resources.requests",
                                           "status.phase",
                                           "status.capacity",
                                           "status.conditions",
                                           "status.allocatedResources",
                                           "status.allocatedResourceStatuses"};
inline constexpr sdk::Watch kExpanderWatches[] = {{.resource = kClaims, .fields = kExpanderClaims}};
inline constexpr sdk::Watch kClaimProtectionWatches[] = {
    {.resource = kClaims}, {.resource = kPods, .fields = kBinderPods, .indexes = kByClaim}};
inline constexpr sdk::Watch kVolumeProtectionWatches[] = {{.resource = kVolumes}};
inline constexpr Fields kEphemeralPods = {"spec.volumes[].name",
                                          "spec.volumes[].ephemeral.volumeClaimTemplate"};
inline constexpr sdk::Watch kEphemeralWatches[] = {
    {.resource = kPods, .fields = kEphemeralPods, .indexes = kByClaim},
    {.resource = kClaims, .fields = kMetadata}};
inline constexpr sdk::Watch kAttributesClassWatches[] = {
    {.resource = "storage.k8s.io/v1/volumeattributesclasses", .flags = kOptional},
    {.resource = kVolumes},
    {.resource = kClaims}};

}  // namespace kcm::bench
