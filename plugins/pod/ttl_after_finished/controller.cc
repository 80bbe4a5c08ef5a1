// SPDX-License-Identifier: Apache-2.0
// What wakes ttl-after-finished-controller and what it does.
#include "plugins/pod/ttl_after_finished/controller.h"

#include <chrono>
#include <optional>

#include "kcm/rules/error_class.h"
#include "plugins/pod/resources.h"
#include "plugins/pod/ttl_after_finished/declaration.h"

namespace kcm::pod::ttl_after_finished {

using sdk::Outcome;

namespace {

// What an expiry that has not passed means to the queue.
Outcome Await(const Expiry& expiry, const sdk::Run& run) {
  switch (expiry.state) {
    case Expiry::State::kWaiting:
      return Outcome::RequeueAfter(expiry.time);
    case Expiry::State::kUnknown:
      return Outcome::Retry(MakeError(Code::kInvalid, "unable to find the time when the Job " +
                                                          std::string(run.key()) + " finished"));
    case Expiry::State::kNever:
    case Expiry::State::kPassed:
      break;
  }
  return Outcome::Done();
}

}  // namespace

Controller::Controller(sdk::Context& context)
    : context_(context),
      deletion_duration_(context.DefineMetric(
          {.type = KCM_METRIC_HISTOGRAM,
           .name = "ttl_after_finished_controller_job_deletion_duration_seconds",
           .help = "The time it took to delete the job since it became eligible for deletion",
           .labels = {},
           .buckets = {0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6,
                       819.2}})) {}

// Wakes on: a finished Job with a TTL that is not being deleted already.
void Controller::OnChange(const sdk::Change& change) const {
  if (change.type() != sdk::Change::Type::kDelete && HasExpiry(change.object()))
    context_.queue().Add(change.Key());
}

Outcome Controller::Reconcile(sdk::Run& run) const {
  const std::optional<sdk::ObjectRef> cached = context_.cache().Get(kJobWatch, run.key());
  if (!cached) return Outcome::Done();
  const Expiry expiry = ExpiryOf(cached->Root(), context_.clock().Now());
  return expiry.state == Expiry::State::kPassed ? DeleteIfStillExpired(run) : Await(expiry, run);
}

// The cache may miss a raised TTL, and a deletion can not be taken back: decides on the live Job.
Outcome Controller::DeleteIfStillExpired(const sdk::Run& run) const {
  const Result<sdk::WholeRef> live = run.client().Get(kJobs, run.ns(), run.name());
  if (!live.ok()) {
    return rules::IsNotFound(live.error()) ? Outcome::Done() : Outcome::Retry(live.error());
  }
  const Expiry expiry = ExpiryOf(live->Root(), context_.clock().Now());
  if (expiry.state != Expiry::State::kPassed) return Await(expiry, run);
  run.log().Info(4, "Cleaning up Job", {{"job", run.key()}});
  const Status deleted =
      run.client().Delete(kJobs, run.ns(), run.name(),
                          {.propagation = sdk::Propagation::kForeground, .uid = live->Uid()});
  if (!deleted.ok()) return Outcome::Retry(deleted.error());
  deletion_duration_.Observe(std::chrono::duration<double>(expiry.time).count());
  return Outcome::Done();
}

}  // namespace kcm::pod::ttl_after_finished
