// SPDX-License-Identifier: Apache-2.0
// The arithmetic of AddRateLimited: see the header.
#include "host/queue/rate_limiter.h"

#include <algorithm>
#include <cmath>

namespace kcm::host::queue {

clock::Duration ItemDelay(const RateLimit& limit, int failures) {
  if (limit.fast_attempts > 0) return failures < limit.fast_attempts ? limit.base : limit.cap;
  const double wanted = std::ldexp(static_cast<double>(limit.base.count()), failures);
  if (wanted >= static_cast<double>(limit.cap.count())) return limit.cap;
  return clock::Duration(static_cast<int64_t>(wanted));
}

void TokenBucket::Fill(clock::MonoTime now) {
  const double elapsed = std::chrono::duration<double>(std::max(now, last_) - last_).count();
  tokens_ = std::min(burst_, tokens_ + elapsed * qps_);
  last_ = std::max(now, last_);
}

void TokenBucket::SetRate(double qps, int burst, clock::MonoTime now) {
  Fill(now);
  tokens_ = qps_ <= 0 ? burst : std::min<double>(tokens_, burst);
  qps_ = qps;
  burst_ = burst;
}

clock::Duration TokenBucket::Reserve(clock::MonoTime now) {
  if (qps_ <= 0) return clock::Duration::zero();
  Fill(now);
  --tokens_;
  if (tokens_ >= 0) return clock::Duration::zero();
  return clock::Duration(std::llround(-tokens_ / qps_ * 1e9));
}

}  // namespace kcm::host::queue
