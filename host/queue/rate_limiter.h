// SPDX-License-Identifier: Apache-2.0
// The arithmetic of AddRateLimited: how long a key waits (spec/host.md 6.4). Pure: time and
// failures in, a delay out.
#pragma once
#include "host/clock/clock.h"
#include "host/queue/workqueue.h"

namespace kcm::host::queue {

// Delay of one key after `failures` earlier failures.
clock::Duration ItemDelay(const RateLimit& limit, int failures);

// Overall token bucket; reservations accumulate without limit. Not thread-safe.
class TokenBucket {
 public:
  // qps <= 0: never makes anyone wait.
  TokenBucket(double qps, int burst) : qps_(qps), burst_(burst), tokens_(burst) {}

  // Takes one token; returns how long its owner must wait for it.
  clock::Duration Reserve(clock::MonoTime now);
  // Other limits from `now` on. Tokens that are there stay up to the new burst, and so does what is
  // reserved; a bucket that had no rate begins full.
  void SetRate(double qps, int burst, clock::MonoTime now);

 private:
  void Fill(clock::MonoTime now);

  double qps_;
  double burst_;
  double tokens_;
  clock::MonoTime last_;
};

}  // namespace kcm::host::queue
