// SPDX-License-Identifier: Apache-2.0
// Owner references of claims.
#include "plugins/pod/statefulset/claim_owners.h"

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "kcm/rules/owner_reference.h"

namespace kcm::pod::statefulset {
namespace {

using nlohmann::json;
using rules::Node;

enum class Owner : uint8_t { kNobody, kSet, kPod };

Owner WantedOwner(const Spec& set, const ClaimUser& pod) {
  if (set.claims_go_when_scaled && pod.condemned) return Owner::kPod;
  return set.claims_go_when_deleted ? Owner::kSet : Owner::kNobody;
}

bool Names(const rules::OwnerReference& r, std::string_view api_version, std::string_view kind,
           std::string_view name) {
  return r.api_version == api_version && r.kind == kind && r.name == name;
}
bool NamesSet(const Spec& set, const rules::OwnerReference& r) {
  return Names(r, "apps/v1", "StatefulSet", set.name);
}
bool NamesPod(const ClaimUser& pod, const rules::OwnerReference& r) {
  return Names(r, "v1", "Pod", pod.name);
}

}  // namespace

bool HasStalePod(Node claim, const ClaimUser& pod) {
  for (const Node reference : claim.Path("metadata.ownerReferences").Items()) {
    const rules::OwnerReference r = rules::OwnerReferenceOf(reference);
    if (NamesPod(pod, r) && r.uid != pod.uid) return true;
  }
  return false;
}

bool HasStaleOwner(const Spec& set, Node claim, const ClaimUser& pod) {
  for (const Node reference : claim.Path("metadata.ownerReferences").Items()) {
    const rules::OwnerReference r = rules::OwnerReferenceOf(reference);
    if (NamesSet(set, r) && r.uid != set.uid) return true;
  }
  return HasStalePod(claim, pod);
}

bool HasConflictingController(const Spec& set, Node claim, const ClaimUser& pod) {
  if (!set.HasRetention()) return false;
  for (const Node reference : claim.Path("metadata.ownerReferences").Items()) {
    const rules::OwnerReference r = rules::OwnerReferenceOf(reference);
    const bool names_set = NamesSet(set, r), names_pod = NamesPod(pod, r);
    if (names_set && r.uid == set.uid) continue;
    if (names_pod && r.uid == pod.uid) continue;
    if (names_set || names_pod || r.controller) return true;
  }
  return false;
}

bool ClaimOwnersMatch(const Spec& set, Node claim, const ClaimUser& pod) {
  if (HasStaleOwner(set, claim, pod)) return true;
  bool by_set = false, by_pod = false;
  for (const Node reference : claim.Path("metadata.ownerReferences").Items()) {
    const rules::OwnerReference r = rules::OwnerReferenceOf(reference);
    const bool names_set = NamesSet(set, r), names_pod = NamesPod(pod, r);
    if ((names_set || names_pod) && !r.controller) return false;
    by_set = by_set || names_set;
    by_pod = by_pod || names_pod;
  }
  const Owner wanted =
      HasConflictingController(set, claim, pod) ? Owner::kNobody : WantedOwner(set, pod);
  return by_set == (wanted == Owner::kSet) && by_pod == (wanted == Owner::kPod);
}

void SetClaimOwners(const Spec& set, json& claim, const ClaimUser& pod) {
  const bool conflict = HasConflictingController(set, rules::JsonNode(claim), pod);
  json& metadata = claim["metadata"];
  json owners = json::array();
  if (const auto old = metadata.find("ownerReferences"); old != metadata.end() && old->is_array()) {
    for (json& reference : *old) {
      const rules::OwnerReference r = rules::OwnerReferenceOf(rules::JsonNode(reference));
      if (!NamesSet(set, r) && !NamesPod(pod, r)) owners.push_back(std::move(reference));
    }
  }
  const auto add = [&](const char* api_version, const char* kind, std::string_view name,
                       std::string_view uid) {
    owners.push_back({{"apiVersion", api_version},
                      {"kind", kind},
                      {"name", name},
                      {"uid", uid},
                      {"controller", true},
                      {"blockOwnerDeletion", true}});
  };
  const Owner wanted = conflict ? Owner::kNobody : WantedOwner(set, pod);
  if (wanted == Owner::kSet) add("apps/v1", "StatefulSet", set.name, set.uid);
  if (wanted == Owner::kPod) add("v1", "Pod", pod.name, pod.uid);
  if (owners.empty()) {
    metadata.erase("ownerReferences");
  } else {
    metadata["ownerReferences"] = std::move(owners);
  }
}

}  // namespace kcm::pod::statefulset
