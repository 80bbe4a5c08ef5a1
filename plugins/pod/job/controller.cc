// SPDX-License-Identifier: Apache-2.0
// Which Jobs are reconciled, and when not (spec/pod-batch.md 1.4 steps 1 to 5).
#include "plugins/pod/job/controller.h"

#include "kcm/rules/job.h"
#include "plugins/pod/job/declaration.h"
#include "plugins/pod/job/reconciler.h"
#include "plugins/pod/job/spec.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::job {

using rules::Node;
using sdk::Outcome;

Controller::Controller(sdk::Context& context) : context_(context), metrics_(context) {}

Outcome Controller::Reconcile(sdk::Run& run) {
  return run.queue_number() == kOrphanQueue ? ReconcileOrphans(run) : ReconcileJob(run);
}

Outcome Controller::ReconcileJob(sdk::Run& run) {
  std::optional<sdk::WholeRef> job = context_.cache().Get(kJobWatch, run.key());
  if (!job) return Outcome::Done();
  const Result<Features> features = FeaturesOf(context_);
  if (!features.ok()) return Outcome::Retry(features.error());
  const Node root = job->Root();
  const std::string uid(job->Uid());
  if (!ExternalManager(root, features->managed_by).empty()) return Outcome::Done();
  if (rules::IsJobFinished(root)) {
    memory_.Finished(uid);
    return Outcome::Done();
  }
  if (memory_.IsMarkedFinished(uid)) return Outcome::Done();
  if (const std::optional<std::string> stale = StaleResource(uid)) {
    return Outcome::Retry(
        MakeError(Code::kConflict,
                  "the cache of " + *stale + " does not show the controller's own writes yet"));
  }
  if (!HasKnownCompletionMode(root)) {
    context_.events().Record(*job, kJobs, sdk::EventType::kWarning, "UnknownCompletionMode",
                             "Skipped Job sync because completion mode is unknown");
    return Outcome::Done();
  }
  const bool indexed = SpecOf(root, *features).indexed;
  const sdk::Duration start = context_.clock().Monotonic();
  Reconciler reconciler({context_, memory_, metrics_, *features}, run, std::move(*job));
  const Status done = reconciler.Run();
  metrics_.Synced(indexed, done.ok(), reconciler.action(), context_.clock().Monotonic() - start);
  // Deleted meanwhile: its event may have come before the last of what is remembered here.
  const std::optional<sdk::WholeRef> left = context_.cache().Get(kJobWatch, run.key());
  if (!left || left->Uid() != uid) memory_.Forget(uid);
  return Outcome::Of(done);
}

std::optional<std::string> Controller::StaleResource(std::string_view uid) {
  const auto seen = [this](std::string_view resource) {
    const uint32_t watch = resource == kPods.resource ? kPodWatch.number : kJobWatch.number;
    const uint64_t version = context_.cache().ResourceVersion(watch);
    return version == 0 ? std::string() : std::to_string(version);
  };
  std::optional<std::string> stale = memory_.barrier().Stale(uid, seen);
  if (stale)
    metrics_.SkippedStaleSync(*stale == kPods.resource ? kPods.group : kJobs.group, *stale);
  return stale;
}

}  // namespace kcm::pod::job
