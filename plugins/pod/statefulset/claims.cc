// SPDX-License-Identifier: Apache-2.0
// Writes of claims: made before their pods, owned as the retention policy says; never deleted here
// (spec/pod-workloads.md 5.5, 5.6).
#include <nlohmann/json.hpp>

#include "kcm/rules/error_class.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/ownership/claim.h"
#include "plugins/pod/resources.h"
#include "plugins/pod/statefulset/declaration.h"
#include "plugins/pod/statefulset/identity.h"
#include "plugins/pod/statefulset/reconciler.h"

namespace kcm::pod::statefulset {

using rules::Node;

namespace {

std::string ClaimNameOf(const Spec& set, Node claim_template, int64_t ordinal) {
  return ClaimName(claim_template.Path("metadata.name").String(), set.name, ordinal);
}

}  // namespace

std::optional<sdk::WholeRef> Reconciler::FindClaim(const std::string& name) const {
  if (const auto it = claims_.find(name); it != claims_.end()) return it->second.Share();
  return context_.cache().Get(kClaimWatch, std::string(set_.ns) + "/" + name);
}

// A claim that still names an earlier pod goes with it; only then there is room for a new one.
bool Reconciler::IsAnyClaimOnItsWayOut(int64_t ordinal) const {
  if (!set_.claims_go_when_scaled) return false;
  const std::string pod = PodName(set_.name, ordinal);
  for (const Node claim_template : set_.ClaimTemplates().Items()) {
    const auto claim = FindClaim(ClaimNameOf(set_, claim_template, ordinal));
    if (claim && HasStalePod(claim->Root(), {.name = pod})) return true;
  }
  return false;
}

// Posts what is missing for all of the pods at once.
void Reconciler::CreateClaims(std::vector<Creation>& creations) {
  struct Missing {
    Creation* pod;
    std::string name, body;
    std::optional<Result<sdk::WholeRef>> answer = {};
  };
  std::vector<Missing> missing;
  for (Creation& pod : creations) {
    for (const Node claim_template : set_.ClaimTemplates().Items()) {
      const std::string name = ClaimNameOf(set_, claim_template, pod.ordinal);
      const std::optional<sdk::WholeRef> claim = FindClaim(name);
      if (!claim) {
        missing.push_back({&pod, name,
                           ClaimOf(set_, claim_template, pod.ordinal)
                               .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
      } else if (rules::HasDeletionTimestamp(claim->Root())) {
        pod.errors.push_back(MakeError(Code::kConflict, "pvc " + name + " is being deleted"));
      }
    }
  }
  {
    sdk::Client::Batch batch(client_);
    for (Missing& m : missing) {
      batch.CreateText(kPersistentVolumeClaims, set_.ns, m.body,
                       [&m](Result<sdk::WholeRef> answer) { m.answer.emplace(std::move(answer)); });
    }
    batch.Wait();
  }
  for (Missing& m : missing) {
    if (!m.answer) continue;
    Result<sdk::WholeRef>& answer = *m.answer;
    if (answer.ok()) {
      Wrote(kPersistentVolumeClaims, *answer);
      claims_.insert_or_assign(m.name, std::move(*answer));
      TellClaim(m.name, m.pod->name, Ok());
      continue;
    }
    Error error = answer.error();
    // The cache does not show it yet: no failure that a user need know of.
    if (!rules::IsAlreadyExists(error)) TellClaim(m.name, m.pod->name, error);
    error.message = "failed to create PVC " + m.name + ": " + error.message;
    m.pod->errors.push_back(std::move(error));
  }
}

Status Reconciler::CreateMissingClaims(size_t place) {
  std::vector<Creation> pod(1);
  pod[0].name = pods_[place].Name();
  pod[0].ordinal = OrdinalOf(place);
  CreateClaims(pod);
  return pod[0].errors.empty() ? Ok() : Status(Aggregate(pod[0].errors));
}

bool Reconciler::ClaimOwnersFit(size_t place) const {
  const int64_t ordinal = OrdinalOf(place);
  for (const Node claim_template : set_.ClaimTemplates().Items()) {
    const auto claim = FindClaim(ClaimNameOf(set_, claim_template, ordinal));
    if (claim && !ClaimOwnersMatch(set_, claim->Root(), UserOf(place))) return false;
  }
  return true;
}

Status Reconciler::FixClaimOwners(const ClaimUser& pod, int64_t ordinal) {
  for (const Node claim_template : set_.ClaimTemplates().Items()) {
    const std::string name = ClaimNameOf(set_, claim_template, ordinal);
    const std::optional<sdk::WholeRef> claim = FindClaim(name);
    if (!claim) continue;  // its turn comes when it is there
    if (HasConflictingController(set_, claim->Root(), pod)) {
      Tell(sdk::EventType::kWarning, "ConflictingController",
           "PersistentVolumeClaim " + name +
               " has a conflicting OwnerReference that acts as a manging controller, the retention "
               "policy is ignored for this claim");
    }
    if (ClaimOwnersMatch(set_, claim->Root(), pod)) continue;
    sdk::Edit edit(*claim);
    SetClaimOwners(set_, edit.json(), pod);
    Result<sdk::WholeRef> answer = client_.Update(kPersistentVolumeClaims, edit);
    if (!answer.ok()) {
      Error error = answer.error();
      error.message =
          "could not update claim " + name + " for delete policy ownerRefs: " + error.message;
      return error;
    }
    Wrote(kPersistentVolumeClaims, *answer);
    claims_.insert_or_assign(name, std::move(*answer));
  }
  return Ok();
}

Status Reconciler::FixClaimOwnersOrTell(size_t place) {
  const Status fixed = FixClaimOwners(UserOf(place), OrdinalOf(place));
  if (!fixed.ok()) TellPod(kUpdate, pods_[place].Name(), fixed);
  return fixed;
}

ClaimUser Reconciler::UserOf(size_t place) const {
  return {.name = pods_[place].Name(),
          .uid = pods_[place].Uid(),
          .condemned = !set_.InRange(OrdinalOf(place))};
}

}  // namespace kcm::pod::statefulset
