// SPDX-License-Identifier: Apache-2.0
// Who owns a pod's claims, by the retention policy: nobody, the StatefulSet (they go with it) or
// the pod (they go when the set is scaled down) (spec/pod-workloads.md 5.6). Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "kcm/rules/node.h"
#include "plugins/pod/statefulset/spec.h"

namespace kcm::pod::statefulset {

// The pod whose claims they are.
struct ClaimUser {
  std::string_view name;
  std::string_view uid = {};  // empty: it does not exist
  bool condemned = false;
};

// Names the set or the pod, but one of another uid: an earlier one, whose claims the garbage
// collector deals with.
bool HasStaleOwner(const Spec& set, rules::Node claim, const ClaimUser& pod);
// The same for the pod alone: the claim is on its way out.
bool HasStalePod(rules::Node claim, const ClaimUser& pod);
// Somebody else manages the claim. Never under a policy that keeps everything.
bool HasConflictingController(const Spec& set, rules::Node claim, const ClaimUser& pod);
// Nothing to write.
bool ClaimOwnersMatch(const Spec& set, rules::Node claim, const ClaimUser& pod);
// Makes the references of a whole claim what they are to be; those of others stay.
void SetClaimOwners(const Spec& set, nlohmann::json& claim, const ClaimUser& pod);

}  // namespace kcm::pod::statefulset
