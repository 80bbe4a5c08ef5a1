// SPDX-License-Identifier: Apache-2.0
// RateLimiter: a token bucket on the host's Clock; requests get their turn in order of arrival
// (spec/host.md 7.1).
#pragma once
#include <mutex>

#include "host/clock/clock.h"

namespace kcm::host::client {

// Thread-safe. Starts full.
class RateLimiter {
 public:
  // qps <= 0: unlimited. burst < 1 counts as 1.
  RateLimiter(double qps, int burst, const clock::Clock* clock);

  // Takes the next token and returns how long to wait until it is ours (0: at once). Later callers
  // queue behind.
  clock::Duration Reserve();
  // Gives back a token that was reserved but not used (the caller was cancelled while waiting).
  void Return();

 private:
  double Fill(clock::MonoTime now);

  const double qps_;
  const double burst_;
  const clock::Clock* const clock_;
  std::mutex mutex_;
  double tokens_;         // negative: reservations ahead of time. Guarded by mutex_
  clock::MonoTime last_;  // when tokens_ was right. Guarded by mutex_
};

}  // namespace kcm::host::client
