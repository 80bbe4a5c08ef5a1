// SPDX-License-Identifier: Apache-2.0
// The stable identity of a StatefulSet's pods: names, labels, claims (spec/pod-workloads.md 5.2,
// 5.3 step 5, 5.5). Pure.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "plugins/pod/statefulset/spec.h"

namespace kcm::pod::statefulset {

inline constexpr std::string_view kPodNameLabel = "statefulset.kubernetes.io/pod-name";
inline constexpr std::string_view kPodIndexLabel = "apps.kubernetes.io/pod-index";

// `web-12` is pod 12 of `web`; a name of another form is nobody's and has ordinal -1. Several names
// can have one ordinal (`web-1`, `web-01`): only PodName() is the pod's.
struct ParsedName {
  std::string_view parent;
  int64_t ordinal = -1;
};
ParsedName ParsePodName(std::string_view pod);
std::string PodName(std::string_view set, int64_t ordinal);
std::string ClaimName(std::string_view claim_template, std::string_view set, int64_t ordinal);

// Name, namespace and name label fit. A missing index label alone does not count.
bool IdentityMatches(const Spec& set, rules::Node pod);
// Every claim template is mounted with the pod's own claim.
bool StorageMatches(const Spec& set, rules::Node pod);

// The pod of one revision's template without an ordinal: what GiveIdentity() starts from.
nlohmann::json PodFromRevision(const Spec& set, rules::Node pod_template,
                               std::string_view revision);
// The pod to POST for an ordinal: name, labels, hostname, subdomain, volumes.
nlohmann::json PodOf(const Spec& set, const nlohmann::json& pod_of_revision, int64_t ordinal);
// The claim to POST for one of the set's claim templates.
nlohmann::json ClaimOf(const Spec& set, rules::Node claim_template, int64_t ordinal);

// For a pod that exists: its labels; its volumes.
void SetIdentityLabels(nlohmann::json& pod, int64_t ordinal);
void SetStorage(const Spec& set, nlohmann::json& pod, int64_t ordinal);

}  // namespace kcm::pod::statefulset
