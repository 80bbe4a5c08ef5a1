// SPDX-License-Identifier: Apache-2.0
// Back-off of Jobs.
#include "plugins/pod/job/back_off.h"

#include <algorithm>

#include "kcm/rules/back_off.h"

namespace kcm::pod::job {
namespace {

using rules::WallTime;
using std::chrono::nanoseconds;

constexpr rules::BackOff kPodFailure{std::chrono::seconds(10), std::chrono::seconds(600)};

}  // namespace

BackOffRecord AfterFinished(BackOffRecord record, std::span<const WallTime> successes,
                            std::span<const WallTime> failures) {
  if (successes.empty() && failures.empty()) return record;
  if (successes.empty()) {
    record.failures += static_cast<int64_t>(failures.size());
    record.last_failure = *std::max_element(failures.begin(), failures.end());
    return record;
  }
  const WallTime success = *std::max_element(successes.begin(), successes.end());
  record = {};
  for (const WallTime failure : failures) {
    if (failure <= success) continue;
    ++record.failures;
    record.last_failure = std::max(record.last_failure.value_or(failure), failure);
  }
  return record;
}

nanoseconds RemainingBackOff(int64_t failures, std::optional<WallTime> last_failure, WallTime now) {
  if (failures <= 0 || !last_failure) return nanoseconds(0);
  const nanoseconds delay = rules::ExponentialDelay(kPodFailure, failures - 1);
  const nanoseconds passed = rules::Elapsed(*last_failure, now);
  // A clock that is ahead of ours: the whole delay from then, and no overflow.
  if (passed < nanoseconds(0) && delay > nanoseconds::max() + passed) return nanoseconds::max();
  return std::max(delay - passed, nanoseconds(0));
}

}  // namespace kcm::pod::job
