// SPDX-License-Identifier: Apache-2.0
// The order of a Deployment's reconcile: claim, pause, scale, strategy.
#include "plugins/pod/deployment/reconciler.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kcm/rules/label_selector.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/deployment/declaration.h"
#include "plugins/pod/deployment/progress.h"
#include "plugins/pod/deployment/rollback.h"
#include "plugins/pod/ownership/claim.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::deployment {

using rules::Node;

Reconciler::Reconciler(const sdk::Context& context, const sdk::Run& run, sdk::WholeRef deployment,
                       bool with_terminating, rules::WriteBarrier* written)
    : context_(context),
      run_(run),
      client_(run.client()),
      now_(context.clock().Now()),
      with_terminating_(with_terminating),
      written_(written),
      object_(std::move(deployment)) {}

Status Reconciler::Run() {
  const Node selector = object_.Root().Path("spec.selector");
  if (selector.Has() && selector.Get("matchLabels").empty() &&
      selector.Get("matchExpressions").empty()) {
    return RefuseToSelectAll();
  }
  if (const Status read = ReadDeployment(); !read.ok()) return read;
  if (const Status claimed = Claim(); !claimed.ok()) return claimed;
  if (rules::HasDeletionTimestamp(object_.Root())) return OnlyReport();
  if (const Status noted = NotePause(); !noted.ok()) return noted;

  bool finished = false;
  if (rollout_.deployment.paused) return Scale(&finished);
  if (const std::optional<int64_t> target = RollbackTarget(object_.Root()))
    return Rollback(*target);

  if (const Status synced = SyncNewReplicaSet(Creation::kForbidden); !synced.ok()) return synced;
  if (IsScalingEvent(rollout_)) {
    const Status scaled = Scale(&finished);
    if (!scaled.ok() || finished) return scaled;
  }
  const std::string type(object_.Root().Path("spec.strategy.type").String());
  if (type == "RollingUpdate") return RollingUpdate();
  if (type == "Recreate") return Recreate();
  return MakeError(Code::kInvalid, "unexpected deployment strategy type: " + type);
}

Status Reconciler::RefuseToSelectAll() {
  Tell(sdk::EventType::kWarning, "SelectingAll",
       "This deployment is selecting all pods. A non-empty selector is required.");
  const int64_t generation = object_.Root().Path("metadata.generation").Int();
  if (object_.Root().Path("status.observedGeneration").Int() >= generation) return Ok();
  sdk::Edit edit(object_);
  edit.json()["status"]["observedGeneration"] = generation;
  const Result<sdk::WholeRef> answer = client_.UpdateStatus(kDeployments, edit);
  return answer.ok() ? Ok() : Status(answer.error());
}

// All that is owned, also what does not match any more and is released, and the orphans of the
// namespace.
Status Reconciler::Claim() {
  const Result<rules::LabelSelector> selector =
      rules::LabelSelector::FromObject(object_.Root().Path("spec.selector"));
  if (!selector.ok()) {
    Error error = selector.error();
    error.message = "deployment " + object_.Key() + " has invalid label selector: " + error.message;
    return error;
  }
  Claimer claimer(run_, kDeployments, kReplicaSets, object_.Root());
  claimer.ClaimAll(context_.cache(), kReplicaSetWatch, kByController, *selector, sets_);
  if (!claimer.result().ok()) return claimer.result();
  std::sort(sets_.begin(), sets_.end(), [](const auto& x, const auto& y) {
    return ReplicaSetOf(x.Root()).OlderThan(ReplicaSetOf(y.Root()));
  });
  Refresh();
  return Ok();
}

Status Reconciler::OnlyReport() {
  if (const Status synced = SyncNewReplicaSet(Creation::kForbidden); !synced.ok()) return synced;
  return Report();
}

Status Reconciler::NotePause() {
  DeploymentStatus status = CurrentStatus();
  std::optional<Condition> pause = PauseCondition(rollout_.deployment, status, now_);
  if (!pause) return Ok();
  status.Set(std::move(*pause));
  return PutStatus(status);
}

// Of a paused Deployment and after a change of its size (4.4). *finished: nothing more in this
// reconcile.
Status Reconciler::Scale(bool* finished) {
  *finished = true;
  if (const Status synced = SyncNewReplicaSet(Creation::kForbidden); !synced.ok()) return synced;
  const ScaleSteps plan = PlanScaling(rollout_, object_.Root().Path("status.replicas").Int());
  for (const deployment::Resize& step : plan.sizes) {
    bool scaled = false;
    if (const Status put = Resize(step.set, step.to, plan.forced, &scaled); !put.ok()) return put;
  }
  const bool paused = rollout_.deployment.paused;
  if (plan.recreate && !paused) {
    *finished = false;
    return Ok();
  }
  if (paused && !RollbackTarget(object_.Root())) {
    if (const Status cleaned = CleanUp(); !cleaned.ok()) return cleaned;
  }
  return Report();
}

Status Reconciler::ReadDeployment() {
  Result<Deployment> d = DeploymentOf(object_.Root());
  if (!d.ok()) return d.error();
  rollout_.deployment = *d;
  return Ok();
}

void Reconciler::Replace(size_t set, sdk::WholeRef by) {
  sets_[set] = std::move(by);
  rollout_.sets[set] = ReplicaSetOf(sets_[set].Root());
}

void Reconciler::Refresh() {
  rollout_.sets.clear();
  for (const sdk::WholeRef& s : sets_) rollout_.sets.push_back(ReplicaSetOf(s.Root()));
  rollout_.new_set = FindNewReplicaSet(object_.Root(), rollout_.sets);
}

DeploymentStatus Reconciler::CurrentStatus() const {
  return StatusOf(object_.Root(), with_terminating_);
}

}  // namespace kcm::pod::deployment
