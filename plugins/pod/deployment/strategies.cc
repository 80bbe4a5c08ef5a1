// SPDX-License-Identifier: Apache-2.0
// What the strategies do with the decisions: rolling update, recreate, rollback, cleanup
// (spec/pod-workloads.md 4.2, 4.3, 4.7, 4.8).
#include <nlohmann/json.hpp>

#include "kcm/rules/error_class.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/deployment/cleanup.h"
#include "plugins/pod/deployment/declaration.h"
#include "plugins/pod/deployment/progress.h"
#include "plugins/pod/deployment/reconciler.h"
#include "plugins/pod/deployment/revision.h"
#include "plugins/pod/deployment/rollback.h"
#include "plugins/pod/deployment/rolling_update.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::deployment {

// Up or down, never both in one reconcile: what was scaled is reported first.
Status Reconciler::RollingUpdate() {
  if (const Status synced = SyncNewReplicaSet(Creation::kAllowed); !synced.ok()) return synced;
  const ReplicaSet fresh = *rollout_.New();
  bool scaled = false;
  const int64_t size =
      NewReplicaSetSize(rollout_.deployment, fresh.replicas, rollout_.TotalReplicas());
  if (const Status up = Resize(*rollout_.new_set, size, false, &scaled); !up.ok()) return up;
  if (!scaled) {
    if (const Status down = ScaleDownOldSets(&scaled); !down.ok()) return down;
  }
  if (!scaled) {
    if (const Status cleaned = CleanUpIfComplete(); !cleaned.ok()) return cleaned;
  }
  return ReportRollout();
}

// A failing write does not end the reconcile: the sizes are decided anew when the caches show what
// came of it.
Status Reconciler::ScaleDownOldSets(bool* scaled) {
  const ScaleDown plan = ScaleDownOld(rollout_);
  bool any = false;
  for (const deployment::Resize& step : plan.steps) {
    bool one = false;
    if (const Status put = Resize(step.set, step.to, false, &one); !put.ok()) {
      if (rules::IsShuttingDown(put.error())) return put;
      run_.log().Info(2, "Error scaling down old replica set",
                      {{"replicaset", rollout_.sets[step.set].name}, {"err", put.error().message}});
      return Ok();
    }
    any = any || one;
  }
  *scaled = any && !plan.aborted;
  return Ok();
}

Status Reconciler::Recreate() {
  bool scaled = false;
  for (size_t i = 0; i < rollout_.sets.size(); ++i) {
    if (!rollout_.IsOld(i) || !rollout_.sets[i].Active()) continue;
    if (const Status down = Resize(i, 0, false, &scaled); !down.ok()) return down;
  }
  if (scaled || AnyOldPodRunning()) return ReportRollout();
  if (!rollout_.new_set) {
    if (const Status made = SyncNewReplicaSet(Creation::kAllowed); !made.ok()) return made;
  }
  if (const Status up = Resize(*rollout_.new_set, rollout_.deployment.replicas, false, &scaled);
      !up.ok()) {
    return up;
  }
  if (const Status cleaned = CleanUpIfComplete(); !cleaned.ok()) return cleaned;
  return ReportRollout();
}

// Also a pod that is being deleted still runs.
bool Reconciler::AnyOldPodRunning() const {
  for (size_t i = 0; i < rollout_.sets.size(); ++i) {
    if (rollout_.IsOld(i) && rollout_.sets[i].status_replicas > 0) return true;
  }
  for (size_t i = 0; i < sets_.size(); ++i) {
    if (!rollout_.IsOld(i)) continue;
    for (const sdk::ObjectRef& pod : context_.cache().List(
             kPodWatch, {.index = kByController, .index_value = sets_[i].Uid()})) {
      if (!rules::IsPodTerminal(pod.Root())) return true;
    }
  }
  return false;
}

Status Reconciler::CleanUpIfComplete() {
  return IsComplete(rollout_.deployment, CurrentStatus()) ? CleanUp() : Ok();
}

Status Reconciler::CleanUp() {
  for (const size_t place : SetsToDelete(rollout_)) {
    const Status gone = client_.Delete(kReplicaSets, object_.Namespace(), sets_[place].Name());
    if (!gone.ok() && !rules::IsNotFound(gone.error())) return gone;
    run_.log().Info(2, "Cleaned up old replica set", {{"replicaset", sets_[place].Key()}});
  }
  return Ok();
}

// The request is taken off in the same write, whatever came of it.
Status Reconciler::Rollback(int64_t target) {
  if (const Status synced = SyncNewReplicaSet(Creation::kAllowed); !synced.ok()) return synced;
  const RollbackPlan plan = PlanRollback(rollout_, target);
  sdk::Edit edit(object_);
  if (plan.set) {
    const rules::Node set = rollout_.sets[*plan.set].root;
    TakeTemplate(edit.json(), set);
    SetAnnotations(edit.json(), AnnotationsAfterRollback(object_.Root(), set));
  }
  RemoveAnnotation(edit.json(), kRollbackTo);
  if (plan.warning) Tell(sdk::EventType::kWarning, plan.reason, plan.message);
  Result<sdk::WholeRef> answer = client_.Update(kDeployments, edit);
  if (!answer.ok()) return answer.error();
  written_->Wrote(run_.key(), object_.Uid(), kDeployments.resource, answer->ResourceVersion());
  if (!plan.warning) Tell(sdk::EventType::kNormal, plan.reason, plan.message);
  return Ok();
}

}  // namespace kcm::pod::deployment
