// SPDX-License-Identifier: Apache-2.0
// ReviewRetry: repeats a review whose answer was lost (spec/host.md 9.3.3).
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "host/clock/clock.h"
#include "kcm/rules/result.h"

namespace kcm::host::http {

// Thread-safe.
class ReviewRetry {
 public:
  explicit ReviewRetry(clock::Clock* clock) : clock_(clock) {}
  // Five tries from 0.5 s, factor 1.5, jitter 0.2, ten seconds in all; only after transport errors,
  // 429 and 5xx.
  Result<std::string> Call(const std::function<Result<std::string>()>& review);
  // Ends waits; later calls try once.
  void Stop();

 private:
  clock::Clock* clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;  // guarded by mutex_
};

}  // namespace kcm::host::http
