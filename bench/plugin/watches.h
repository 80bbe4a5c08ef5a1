// SPDX-License-Identifier: Apache-2.0
// What more than one controller of the bench plugin watches: resources and the fields that several
// read alike.
//
// The masks are those of the specifications' "Reads"; metadata is always there. A kind that its
// controller writes back as a PUT is whole. kMetadata stands for "metadata and nothing else" on a
// kind whose payload another controller needs anyway: its cache is shared. Kinds that nobody reads
// the payload of are KCM_WATCH_METADATA_ONLY, so that it never enters the process.
#pragma once
#include <string_view>

#include "kcm/sdk/declaration.h"

namespace kcm::bench {

using Fields = const std::string_view[];

inline constexpr std::string_view kPods = "v1/pods";
inline constexpr std::string_view kNodes = "v1/nodes";
inline constexpr std::string_view kClaims = "v1/persistentvolumeclaims";
inline constexpr std::string_view kVolumes = "v1/persistentvolumes";
inline constexpr std::string_view kServices = "v1/services";
inline constexpr std::string_view kNamespaces = "v1/namespaces";
inline constexpr std::string_view kAccounts = "v1/serviceaccounts";
inline constexpr std::string_view kSecrets = "v1/secrets";
inline constexpr std::string_view kEndpoints = "v1/endpoints";
inline constexpr std::string_view kSlices = "discovery.k8s.io/v1/endpointslices";
inline constexpr std::string_view kReplicaSets = "apps/v1/replicasets";
inline constexpr std::string_view kRevisions = "apps/v1/controllerrevisions";
inline constexpr std::string_view kJobs = "batch/v1/jobs";
inline constexpr std::string_view kCsrs = "certificates.k8s.io/v1/certificatesigningrequests";
inline constexpr std::string_view kResourceClaims = "resource.k8s.io/v1/resourceclaims";
inline constexpr std::string_view kResourceSlices = "resource.k8s.io/v1/resourceslices";

inline constexpr uint32_t kOptional = KCM_WATCH_OPTIONAL;  // not every server serves it
inline constexpr uint32_t kMetadataOnly = KCM_WATCH_METADATA_ONLY | KCM_WATCH_OPTIONAL;

inline constexpr Fields kMetadata = {"metadata"};
inline constexpr Fields kPhase = {"status.phase"};

inline constexpr sdk::Index kByController[] = {{.by = sdk::Index::kControllerUid}};
inline constexpr sdk::Index kByOwner[] = {{.by = sdk::Index::kOwnerUid}};
inline constexpr sdk::Index kByNode[] = {{.by = sdk::Index::kField, .path = "spec.nodeName"}};
inline constexpr sdk::Index kByService[] = {
    {.by = sdk::Index::kLabel, .path = "kubernetes.io/service-name"}};
inline constexpr sdk::Index kByClaim[] = {
    {.by = sdk::Index::kField, .path = "spec.volumes[].persistentVolumeClaim.claimName"}};

}  // namespace kcm::bench
