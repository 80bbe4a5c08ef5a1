// SPDX-License-Identifier: Apache-2.0
// Adoption and release.
#include "plugins/pod/ownership/claim.h"

#include <algorithm>

#include "kcm/rules/error_class.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/ownership/live_owner.h"

namespace kcm::pod {

Claimer::Claimer(const sdk::Run& run, const sdk::Resource& owner_resource,
                 const sdk::Resource& candidate_resource, rules::Node owner, Patched patched,
                 std::string_view finalizer)
    : run_(run),
      owner_resource_(owner_resource),
      candidate_resource_(candidate_resource),
      owner_(owner),
      ns_(owner.Path("metadata.namespace").String()),
      name_(owner.Path("metadata.name").String()),
      uid_(owner.Path("metadata.uid").String()),
      api_version_(owner_resource.ApiVersion()),
      deleting_(rules::HasDeletionTimestamp(owner)),
      patched_(std::move(patched)),
      finalizer_(finalizer) {}

bool Claimer::Claims(rules::Node candidate, bool matches) {
  adopted_.reset();
  switch (rules::Claim(candidate, {.uid = uid_, .deleting = deleting_, .ns = ns_}, matches)) {
    case rules::ClaimDecision::kClaimed:
      return true;
    case rules::ClaimDecision::kAdopt:
      return !stopped_ && Adopt(candidate);
    case rules::ClaimDecision::kRelease:
      if (!stopped_) Release(candidate);
      return false;
    case rules::ClaimDecision::kNone:
      return false;
  }
  return false;
}

Status Claimer::result() const { return errors_.empty() ? Ok() : Status(Aggregate(errors_)); }

bool Claimer::Adopt(rules::Node candidate) {
  if (const Status& may = MayAdopt(); !may.ok()) {
    Error error = may.error();
    error.message = rules::CannotAdopt(candidate_resource_.kind, candidate, error.message);
    stopped_ = rules::IsShuttingDown(error);
    errors_.push_back(std::move(error));
    return false;
  }
  const std::string patch =
      rules::AdoptPatch(Reference(), candidate.Path("metadata.uid").String(), finalizer_);
  Result<sdk::WholeRef> answer =
      run_.client().PatchObject(candidate_resource_, ns_, candidate.Path("metadata.name").String(),
                                sdk::Patch::kStrategic, patch);
  if (answer.ok()) {
    if (patched_) patched_(*answer);
    adopted_.emplace(std::move(*answer));
    return true;
  }
  // Gone meanwhile: nobody's any more.
  if (rules::IsNotFound(answer.error())) return false;
  stopped_ = rules::IsShuttingDown(answer.error());
  errors_.push_back(answer.error());
  return false;
}

void Claimer::Release(rules::Node candidate) {
  const std::string patch =
      rules::ReleasePatch(uid_, candidate.Path("metadata.uid").String(), finalizer_);
  const Result<sdk::WholeRef> answer =
      run_.client().PatchObject(candidate_resource_, ns_, candidate.Path("metadata.name").String(),
                                sdk::Patch::kStrategic, patch);
  if (answer.ok()) {
    if (patched_) patched_(*answer);
    return;
  }
  // Gone, or re-created or already without our reference (the uid in the body does not fit):
  // released either way.
  if (rules::IsNotFound(answer.error()) || answer.error().Is(Code::kInvalid)) return;
  stopped_ = rules::IsShuttingDown(answer.error());
  errors_.push_back(answer.error());
}

const Status& Claimer::MayAdopt() {
  if (!may_adopt_) may_adopt_.emplace(CheckLiveOwner(run_.client(), owner_resource_, owner_));
  return *may_adopt_;
}

rules::OwnerReference Claimer::Reference() const {
  return {.api_version = api_version_, .kind = owner_resource_.kind, .name = name_, .uid = uid_};
}

Error Aggregate(const std::vector<Error>& errors) {
  Error out = errors.front();
  if (errors.size() == 1) return out;
  std::vector<std::string_view> seen;
  std::string text;
  for (const Error& e : errors) {
    if (std::find(seen.begin(), seen.end(), e.message) != seen.end()) continue;
    seen.push_back(e.message);
    if (!text.empty()) text += ", ";
    text += e.message;
  }
  out.message = seen.size() == 1 ? text : "[" + text + "]";
  return out;
}

}  // namespace kcm::pod
