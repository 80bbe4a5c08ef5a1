// SPDX-License-Identifier: Apache-2.0
// What wakes job-controller (spec/pod-batch.md 1.2).
#include "kcm/rules/equality.h"
#include "kcm/rules/job.h"
#include "kcm/rules/owner_reference.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/job/controller.h"
#include "plugins/pod/job/declaration.h"
#include "plugins/pod/job/orphan_key.h"
#include "plugins/pod/job/pods.h"
#include "plugins/pod/job/reconciler.h"
#include "plugins/pod/job/spec.h"
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
  switch (change.type()) {
    case sdk::Change::Type::kAdd: {
      const std::string_view manager = ExternalManager(job, context_.config().Gate("JobManagedBy"));
      if (!manager.empty()) metrics_.ExternallyManaged(manager);
      context_.queue().Add(change.Key());
      return;
    }
    case sdk::Change::Type::kUpdate:
      OnJobUpdate(change);
      return;
    case sdk::Change::Type::kDelete:
      context_.queue().Add(change.Key());
      LookAfterPodsOf(change.ns(), job);
      memory_.Forget(change.uid());
      return;
  }
}

void Controller::OnJobUpdate(const sdk::Change& change) {
  const std::string key = change.Key();
  const Node was = change.old_object(), job = change.object();
  const std::string_view old_uid = was.Path("metadata.uid").String();
  if (old_uid != change.uid()) {
    // Deleted and made anew while the watch was down.
    LookAfterPodsOf(change.ns(), was);
    memory_.Forget(old_uid);
    context_.queue().Add(key);
    return;
  }
  if (rules::IsJobFinished(job)) {
    memory_.Finished(change.uid());
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
  const auto active = rules::Elapsed(*start, context_.clock().Now());
  context_.queue().AddAfter(key, std::chrono::seconds(deadline.Int()) - active);
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
  } else if (change.type() == sdk::Change::Type::kAdd) {
    OnPodAdd(change);
  } else if (change.resource_version() != change.old_resource_version()) {
    OnPodUpdate(change);
  }
}

void Controller::OnPodAdd(const sdk::Change& change) {
  const Node pod = change.object();
  if (rules::HasDeletionTimestamp(pod)) {
    OnPodDeletion(change, Deletion::kAsked);
    return;
  }
  const Node owner = rules::ControllerOf(pod);
  if (owner.Has()) {
    const std::optional<sdk::WholeRef> job = Resolve(change.ns(), owner);
    if (!job) return;
    memory_.expectations().CreationObserved(job->Uid());
    context_.queue().AddAfter(job->Key(), kBatchPeriod);
    return;
  }
  LookAfterOrphan(change);
  WakeMatching(change.ns(), pod);
}

void Controller::OnPodUpdate(const sdk::Change& change) {
  const Node was = change.old_object(), pod = change.object();
  if (rules::HasDeletionTimestamp(pod)) {
    OnPodDeletion(change, Deletion::kAsked);
    return;
  }
  const bool released = !HasTrackingFinalizer(pod);
  const auto wake = [&](Node reference) {
    const std::optional<sdk::WholeRef> job = Resolve(change.ns(), reference);
    if (!job) return;
    if (released) memory_.ReleaseObserved(job->Uid(), change.uid());
    context_.queue().AddAfter(job->Key(), kBatchPeriod);
  };
  const Node old_owner = rules::ControllerOf(was), owner = rules::ControllerOf(pod);
  const bool owner_differs =
      old_owner.Has() != owner.Has() || !rules::SameOwnerReference(old_owner, owner);
  if (owner_differs && old_owner.Has()) wake(old_owner);
  if (owner.Has()) {
    wake(owner);
    return;
  }
  LookAfterOrphan(change);
  const bool labels_differ =
      !rules::DeepEqual(was.Path("metadata.labels"), pod.Path("metadata.labels"));
  if (labels_differ || owner_differs) WakeMatching(change.ns(), pod);
}

void Controller::OnPodDeletion(const sdk::Change& change, Deletion deletion) {
  const Node pod = change.object();
  const Node owner = rules::ControllerOf(pod);
  std::optional<sdk::WholeRef> job;
  if (owner.Has()) job = Resolve(change.ns(), owner);
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

void Controller::WakeMatching(std::string_view ns, Node pod) const {
  const Node labels = pod.Path("metadata.labels");
  if (labels.empty()) return;
  for (const sdk::WholeRef& job : context_.cache().List(kJobWatch, {.ns = ns})) {
    const Result<rules::LabelSelector> selector =
        rules::LabelSelector::FromObject(job.Root().Path("spec.selector"));
    if (selector.ok() && selector->CanSearch() && selector->Matches(labels))
      context_.queue().AddAfter(job.Key(), kBatchPeriod);
  }
}

std::optional<sdk::WholeRef> Controller::Resolve(std::string_view ns, Node reference) const {
  if (reference.Get("kind").String() != kJobs.kind) return std::nullopt;
  const std::string key = std::string(ns) + "/" + std::string(reference.Get("name").String());
  std::optional<sdk::WholeRef> job = context_.cache().Get(kJobWatch, key);
  if (job && job->Uid() != reference.Get("uid").String()) job.reset();
  return job;
}

}  // namespace kcm::pod::job
