// SPDX-License-Identifier: Apache-2.0
// Trying a write again when it conflicts, with a fresh object each time and a short wait in between
// (spec/pod-workloads.md 5.1, 5.3, 5.7).
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>

#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"

namespace kcm::pod {

struct ConflictRetry {
  int tries;
  int64_t factor;  // of the wait, from one to the next
};
inline constexpr std::chrono::milliseconds kFirstConflictWait{10};
// 10, 50, 250 ms: when somebody else may be working on the object for a while.
inline constexpr ConflictRetry kPatientRetry{.tries = 4, .factor = 5};
// 10 ms each.
inline constexpr ConflictRetry kQuickRetry{.tries = 5, .factor = 1};

// Calls `write(attempt)`, from 0 on, until it answers anything but a conflict. Waits take up to a
// tenth longer than said. kCancelled when the reconcile was cancelled while waiting.
Status RetryOnConflict(const sdk::Run& run, const sdk::Clock& clock, const ConflictRetry& retry,
                       const std::function<Status(int attempt)>& write);

}  // namespace kcm::pod
