// SPDX-License-Identifier: Apache-2.0
// BackOff: delays of a reflector (spec/host.md 5.3): 0.8 s * 2^n, cap 30 s, each times a random
// factor in [1,2), from the start again after 2 min without use.
#pragma once
#include <functional>

#include "host/clock/clock.h"

namespace kcm::host::cache {

// One thread.
class BackOff {
 public:
  // random: [0,1)
  explicit BackOff(std::function<double()> random) : random_(std::move(random)) {}

  clock::Duration Next(clock::MonoTime now) {
    if (now - last_ > kResetAfter) step_ = kFirst;
    last_ = now;
    const clock::Duration delay(
        static_cast<int64_t>(static_cast<double>(step_.count()) * (1 + random_())));
    step_ = step_ * 2 < kCap ? step_ * 2 : kCap;
    return delay;
  }

 private:
  static constexpr clock::Duration kFirst = std::chrono::milliseconds(800);
  static constexpr clock::Duration kCap = std::chrono::seconds(30);
  static constexpr clock::Duration kResetAfter = std::chrono::minutes(2);
  const std::function<double()> random_;
  clock::Duration step_ = kFirst;
  clock::MonoTime last_;
};

}  // namespace kcm::host::cache
