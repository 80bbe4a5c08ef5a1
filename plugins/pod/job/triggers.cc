// SPDX-License-Identifier: Apache-2.0
// What wakes job-controller (spec/pod-batch.md 1.2).
#include "kcm/rules/job.h"
#include "kcm/rules/owner_reference.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/job/controller.h"
#include "plugins/pod/job/declaration.h"
#include "plugins/pod/job/orphan_key.h"
#include "plugins/pod/job/pods.h"
#include "plugins/pod/job/reconciler.h"
#include "plugins/pod/job/spec.h"
#include "plugins/pod/job/verdict.h"
#include "plugins/pod/ownership/gone_owner.h"
#include "plugins/pod/ownership/wakes.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::job {

using rules::Node;

void Controller::OnChange(const sdk::Change& change) {
  if (change.watch() == kJobWatch.number) {
    OnJobChange(change);
  } else {
    OnPodChange(change);
  }
}

// ---- Jobs ----

void Controller::OnJobChange(const sdk::Change& change) {
  const Node job = change.object();
  if (const auto gone = GoneOwnerOf(change.type(), change.old_object(), job)) {
    context_.queue().Add(change.Key());
    LookAfterPodsOf(change.ns(), gone->last);
    Forget(change.Key(), gone->uid);
    return;
  }
  if (change.type() == sdk::Change::Type::kUpdate) {
    OnJobUpdate(change);
    return;
  }
  const std::string_view manager = ExternalManager(job, context_.config().Gate("JobManagedBy"));
  if (!manager.empty()) metrics_.ExternallyManaged(manager);
  context_.queue().Add(change.Key());
}

void Controller::OnJobUpdate(const sdk::Change& change) {
  const std::string key = change.Key();
  const Node was = change.old_object(), job = change.object();
  if (rules::IsJobFinished(job)) {
    Forget(key, change.uid());
    LookAfterPodsOf(change.ns(), job);
    return;
  }
  const bool spec_changed =
      was.Path("metadata.generation").Int() != job.Path("metadata.generation").Int();
  context_.queue().AddAfter(key, spec_changed ? sdk::Duration(0) : kBatchPeriod);

  const Node deadline = job.Path("spec.activeDeadlineSeconds");
  const Node old_deadline = was.Path("spec.activeDeadlineSeconds");
  const auto start = rules::TimeOf(job.Path("status.startTime"));
  if (!start || !deadline.Has()) return;
  if (old_deadline.Has() && old_deadline.Int() == deadline.Int()) return;
  context_.queue().AddAfter(key, LeftOfDeadline(*start, deadline.Int(), context_.clock().Now()));
}

// Finalizers that no reconcile of the Job removes any more.
void Controller::LookAfterPodsOf(std::string_view ns, Node job) const {
  const Result<rules::LabelSelector> selector =
      rules::LabelSelector::FromObject(job.Path("spec.selector"));
  if (selector.ok() && !selector->SelectsNothing())
    context_.queue().Add(OrphansKey(ns, *selector), kOrphanQueue);
}

// ---- pods ----

void Controller::OnPodChange(const sdk::Change& change) {
  const Node was = change.old_object(), pod = change.object();
  const bool gone = change.type() == sdk::Change::Type::kDelete;
  metrics_.TrackedTerminalPod(gone ? IsTrackedTerminalPod(pod) : IsTrackedTerminalPod(was),
                              !gone && IsTrackedTerminalPod(pod));
  if (gone) {
    OnPodDeletion(change, Deletion::kFinal);
  } else if (change.resource_version() == change.old_resource_version()) {
    return;  // a resync
  } else if (rules::HasDeletionTimestamp(pod)) {
    OnPodDeletion(change, Deletion::kAsked);
  } else {
    OnLivingPod(change);
  }
}

void Controller::OnLivingPod(const sdk::Change& change) {
  const Node pod = change.object();
  const bool released = change.type() == sdk::Change::Type::kUpdate && !HasTrackingFinalizer(pod);
  const Wakes wakes = WakesOf(change.type(), change.old_object(), pod, DeletingUpdate::kIsUpdate);
  for (size_t i = 0; i < wakes.count; ++i) {
    const std::optional<sdk::WholeRef> job = jobs_.Resolve(change.ns(), wakes.owners[i].reference);
    if (!job) continue;
    if (wakes.owners[i].created) memory_.expectations().CreationObserved(job->Uid());
    if (released) memory_.ReleaseObserved(job->Uid(), change.uid());
    context_.queue().AddAfter(job->Key(), kBatchPeriod);
  }
  if (!rules::ControllerOf(pod).Has()) LookAfterOrphan(change);
  if (!wakes.orphan) return;
  for (const sdk::WholeRef& job : jobs_.Matching(change.ns(), pod))
    context_.queue().AddAfter(job.Key(), kBatchPeriod);
}

void Controller::OnPodDeletion(const sdk::Change& change, Deletion deletion) {
  const Node pod = change.object();
  const std::optional<sdk::WholeRef> job = jobs_.Resolve(change.ns(), rules::ControllerOf(pod));
  if (!job || rules::IsJobFinished(job->Root())) {
    LookAfterOrphan(change);
    return;
  }
  memory_.expectations().DeletionObserved(job->Uid());
  if (deletion == Deletion::kFinal || !HasTrackingFinalizer(pod))
    memory_.ReleaseObserved(job->Uid(), change.uid());
  context_.queue().AddAfter(job->Key(), kBatchPeriod);
}

void Controller::LookAfterOrphan(const sdk::Change& change) const {
  if (HasTrackingFinalizer(change.object()))
    context_.queue().Add(OrphanPodKey(change.ns(), change.name()), kOrphanQueue);
}

}  // namespace kcm::pod::job
