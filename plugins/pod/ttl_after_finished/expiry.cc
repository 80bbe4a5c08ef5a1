// SPDX-License-Identifier: Apache-2.0
// Finish time and TTL of a Job.
#include "plugins/pod/ttl_after_finished/expiry.h"

#include <cstdint>
#include <optional>

#include "kcm/rules/job.h"
#include "kcm/rules/pod.h"

namespace kcm::pod::ttl_after_finished {

using rules::Node;
using rules::WallTime;

bool HasExpiry(Node job) {
  return !rules::HasDeletionTimestamp(job) && job.Path("spec.ttlSecondsAfterFinished").IsNumber() &&
         rules::FinishedCondition(job).Has();
}

Expiry ExpiryOf(Node job, WallTime now) {
  if (!HasExpiry(job)) return {};
  const std::optional<WallTime> finished =
      rules::TimeOf(rules::FinishedCondition(job).Get("lastTransitionTime"));
  if (!finished) return {.state = Expiry::State::kUnknown};
  const std::chrono::seconds ttl(job.Path("spec.ttlSecondsAfterFinished").Int());
  const WallTime expiry = rules::Plus(*finished, ttl);
  if (expiry > now) return {.state = Expiry::State::kWaiting, .time = rules::Elapsed(now, expiry)};
  return {.state = Expiry::State::kPassed, .time = rules::Elapsed(expiry, now)};
}

}  // namespace kcm::pod::ttl_after_finished
