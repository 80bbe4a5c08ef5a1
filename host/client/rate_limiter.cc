// SPDX-License-Identifier: Apache-2.0
// The token bucket.
#include "host/client/rate_limiter.h"

#include <algorithm>
#include <cmath>

namespace kcm::host::client {

RateLimiter::RateLimiter(double qps, int burst, const clock::Clock* clock)
    : qps_(qps),
      burst_(std::max(1, burst)),
      clock_(clock),
      tokens_(burst_),
      last_(clock->Monotonic()) {}

double RateLimiter::Fill(clock::MonoTime now) {
  const double seconds = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  return std::min(burst_, tokens_ + std::max(0.0, seconds) * qps_);
}

clock::Duration RateLimiter::Reserve() {
  if (qps_ <= 0) return clock::Duration(0);
  const clock::MonoTime now = clock_->Monotonic();
  std::lock_guard<std::mutex> lock(mutex_);
  tokens_ = Fill(now) - 1;
  if (tokens_ >= 0) return clock::Duration(0);
  // Not cut: a request would leave a nanosecond before its turn.
  return clock::Duration(std::llround(-tokens_ / qps_ * 1e9));
}

void RateLimiter::Return() {
  if (qps_ <= 0) return;
  std::lock_guard<std::mutex> lock(mutex_);
  tokens_ = std::min(burst_, tokens_ + 1);
}

}  // namespace kcm::host::client
