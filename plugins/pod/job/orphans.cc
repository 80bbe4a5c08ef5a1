// SPDX-License-Identifier: Apache-2.0
// The orphan queue: takes the tracking finalizer off pods that no Job looks after any more
// (spec/pod-batch.md 1.11).
#include "kcm/rules/error_class.h"
#include "kcm/rules/job.h"
#include "kcm/rules/owner_reference.h"
#include "plugins/pod/job/controller.h"
#include "plugins/pod/job/declaration.h"
#include "plugins/pod/job/finalizer.h"
#include "plugins/pod/job/orphan_key.h"
#include "plugins/pod/job/pods.h"
#include "plugins/pod/job/spec.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::job {

using rules::Node;
using sdk::Outcome;

Outcome Controller::ReconcileOrphans(sdk::Run& run) {
  const Result<Features> features = FeaturesOf(context_);
  if (!features.ok()) return Outcome::Retry(features.error());
  const std::optional<std::string_view> text = SelectorIn(run.name());
  if (!text) {
    const std::optional<sdk::ObjectRef> pod = context_.cache().Get(kPodWatch, run.key());
    return pod ? Outcome::Of(ReleaseOrphan(run, *pod, *features)) : Outcome::Done();
  }
  const Result<rules::LabelSelector> selector = rules::LabelSelector::Parse(*text);
  if (!selector.ok()) return Outcome::Failed(selector.error());
  sdk::Query query{.ns = run.ns()};
  // The selector that the server makes for a Job: no walk through the namespace.
  const auto job_uid = selector->RequiredValue(rules::kJobControllerUidLabel);
  if (job_uid) {
    query.index = kByJobLabel;
    query.index_value = *job_uid;
  }
  for (const sdk::ObjectRef& pod : context_.cache().List(kPodWatch, query)) {
    if (!selector->Matches(pod.Root().Path("metadata.labels"))) continue;
    const Status released = ReleaseOrphan(run, pod, *features);
    if (released.ok()) continue;
    if (rules::IsShuttingDown(released.error())) return Outcome::Retry(released.error());
    run.log().Error(released.error().message, "Failed to remove the finalizer of an orphan pod",
                    {{"pod", pod.Key()}});
  }
  return Outcome::Done();
}

bool Controller::IsOrphan(const sdk::ObjectRef& pod, const Features& features) const {
  const Node owner = rules::ControllerOf(pod.Root());
  if (!owner.Has()) return true;
  if (owner.Get("kind").String() != kJobs.kind ||
      owner.Get("apiVersion").String() != kJobs.ApiVersion())
    return false;
  const std::optional<sdk::WholeRef> job = jobs_.Resolve(pod.Namespace(), owner);
  if (!job) return true;
  return ExternalManager(job->Root(), features.managed_by).empty() &&
         rules::IsJobFinished(job->Root());
}

Status Controller::ReleaseOrphan(const sdk::Run& run, const sdk::ObjectRef& pod,
                                 const Features& features) {
  if (!HasTrackingFinalizer(pod.Root()) || !IsOrphan(pod, features)) return Ok();
  const Result<sdk::WholeRef> answer = run.client().PatchObject(
      kPods, pod.Namespace(), pod.Name(), sdk::Patch::kStrategic, kRemoveTrackingFinalizer);
  return answer.ok() || rules::IsNotFound(answer.error()) ? Ok() : Status(answer.error());
}

}  // namespace kcm::pod::job
