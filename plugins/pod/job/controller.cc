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

namespace {

constexpr OwnWrites::Skips kSkips{
    .name = "job_controller_stale_sync_skips_total",
    .help = "Syncs of Jobs put off because a cache did not show the controller's own writes yet."};
constexpr OwnWrites::Shown kShown[] = {{kPods, kPodWatch.number}, {kJobs, kJobWatch.number}};

}  // namespace

Controller::Controller(sdk::Context& context)
    : context_(context),
      jobs_(context.cache(), kJobs, kJobWatch),
      metrics_(context),
      own_writes_(context, kSkips, kShown) {}

void Controller::Forget(std::string_view key, std::string_view uid) {
  memory_.Forget(uid);
  own_writes_.Forget(key, uid);
}

Outcome Controller::Reconcile(sdk::Run& run) {
  return run.queue_number() == kOrphanQueue ? ReconcileOrphans(run) : ReconcileJob(run);
}

Outcome Controller::ReconcileJob(sdk::Run& run) {
  if (const auto stale = own_writes_.NotShownYet(run.key())) return Outcome::Retry(*stale);
  std::optional<sdk::WholeRef> job = context_.cache().Get(kJobWatch, run.key());
  if (!job) return Outcome::Done();
  const Result<Features> features = FeaturesOf(context_);
  if (!features.ok()) return Outcome::Retry(features.error());
  const Node root = job->Root();
  const std::string uid(job->Uid());
  if (!ExternalManager(root, features->managed_by).empty()) return Outcome::Done();
  if (rules::IsJobFinished(root)) {
    Forget(run.key(), uid);
    return Outcome::Done();
  }
  if (memory_.IsMarkedFinished(uid)) return Outcome::Done();
  if (!HasKnownCompletionMode(root)) {
    context_.events().Record(*job, kJobs, sdk::EventType::kWarning, "UnknownCompletionMode",
                             "Skipped Job sync because completion mode is unknown");
    return Outcome::Done();
  }
  const bool indexed = SpecOf(root, *features).indexed;
  const sdk::Duration start = context_.clock().Monotonic();
  Reconciler reconciler({context_, memory_, own_writes_, metrics_, *features}, run,
                        std::move(*job));
  const Status done = reconciler.Run();
  metrics_.Synced(indexed, done.ok(), reconciler.action(), context_.clock().Monotonic() - start);
  if (!jobs_.Has(run.key(), uid)) Forget(run.key(), uid);
  return Outcome::Of(done);
}

}  // namespace kcm::pod::job
