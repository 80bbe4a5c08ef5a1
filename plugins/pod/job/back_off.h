// SPDX-License-Identifier: Apache-2.0
// Back-off between a failure and the pod that replaces it (spec/pod-batch.md 1.7). Pure.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "kcm/rules/time.h"

namespace kcm::pod::job {

// Of a whole Job; used when the limit is not per index.
struct BackOffRecord {
  int64_t failures = 0;  // after the last success
  std::optional<rules::WallTime> last_failure = {};

  friend bool operator==(const BackOffRecord&, const BackOffRecord&) = default;
};

// The record after pods have newly finished at these times, in any order.
BackOffRecord AfterFinished(BackOffRecord record, std::span<const rules::WallTime> successes,
                            std::span<const rules::WallTime> failures);

// How long the next pod has to wait; 0: it may start. `failures` so far, the last of them at
// `last_failure`.
std::chrono::nanoseconds RemainingBackOff(int64_t failures,
                                          std::optional<rules::WallTime> last_failure,
                                          rules::WallTime now);

}  // namespace kcm::pod::job
