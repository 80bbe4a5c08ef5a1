// SPDX-License-Identifier: Apache-2.0
// Writes of a Deployment's reconcile: sizes of ReplicaSets and the Deployment's status.
#include <nlohmann/json.hpp>

#include "plugins/pod/deployment/progress.h"
#include "plugins/pod/deployment/reconciler.h"
#include "plugins/pod/deployment/revision.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::deployment {

// `forced`: also written when only one of the two size annotations differs. *scaled becomes true
// when the size was changed.
Status Reconciler::Resize(size_t set, int64_t to, bool forced, bool* scaled) {
  const Deployment& d = rollout_.deployment;
  const int64_t from = rollout_.sets[set].replicas;
  const std::string desired = std::to_string(d.replicas), most = std::to_string(d.MaxReplicas());
  const rules::Node root = rollout_.sets[set].root;
  const bool annotated =
      AnnotationOf(root, kDesiredReplicas) == desired && AnnotationOf(root, kMaxReplicas) == most;
  if (from == to && (!forced || annotated)) return Ok();
  sdk::Edit edit(sets_[set]);
  edit.json()["spec"]["replicas"] = to;
  SetAnnotation(edit.json(), kDesiredReplicas, desired);
  SetAnnotation(edit.json(), kMaxReplicas, most);
  Result<sdk::WholeRef> answer = client_.Update(kReplicaSets, edit);
  if (!answer.ok()) return answer.error();
  Replace(set, std::move(*answer));
  if (from == to) return Ok();
  *scaled = true;
  const std::string text = std::string(to > from ? "Scaled up" : "Scaled down") + " replica set " +
                           std::string(rollout_.sets[set].name) + " from " + std::to_string(from) +
                           " to " + std::to_string(to);
  Tell(sdk::EventType::kNormal, "ScalingReplicaSet", text);
  return Ok();
}

Status Reconciler::Report() {
  const DeploymentStatus current = CurrentStatus();
  const DeploymentStatus next = PlainStatus(rollout_, current, with_terminating_, now_);
  return next == current ? Ok() : PutStatus(next);
}

Status Reconciler::ReportRollout() {
  const DeploymentStatus current = CurrentStatus();
  const DeploymentStatus next = RolloutStatus(rollout_, current, with_terminating_, now_);
  if (next != current) return PutStatus(next);
  look_again_ = NextProgressCheck(rollout_.deployment, next, now_);
  return Ok();
}

Status Reconciler::PutStatus(const DeploymentStatus& status) {
  sdk::Edit edit(object_);
  ApplyStatus(edit.json(), status);
  return PutStatusOf(edit);
}

Status Reconciler::PutStatusOf(const sdk::Edit& edit) {
  Result<sdk::WholeRef> answer = client_.UpdateStatus(kDeployments, edit);
  if (!answer.ok()) return answer.error();
  written_->Wrote(run_.key(), object_.Uid(), kDeployments.resource, answer->ResourceVersion());
  object_ = std::move(*answer);
  return ReadDeployment();
}

void Reconciler::Tell(sdk::EventType type, std::string_view reason,
                      std::string_view message) const {
  context_.events().Record(object_, kDeployments, type, reason, message);
}

}  // namespace kcm::pod::deployment
