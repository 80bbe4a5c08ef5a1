// SPDX-License-Identifier: Apache-2.0
// Exponential back-off as a pure function (spec/host.md 5.3, 6.4).
//
//   ExponentialDelay({5ms, 1000s}, failures)                        // 5, 10, 20 ms, ... work
//   queues Jittered(ExponentialDelay({800ms, 30s}, n), 1.0, random())      // 0.8 s * 2^n * [1,2):
//   reflectors
#pragma once
#include <chrono>
#include <cstdint>

namespace kcm::rules {

struct BackOff {
  std::chrono::nanoseconds base;
  std::chrono::nanoseconds cap;
};

// min(base * 2^failures, cap), without overflow. `failures` before this one; negative counts as 0.
// A base of 0 or less gives 0.
std::chrono::nanoseconds ExponentialDelay(const BackOff& back_off, int64_t failures);

// delay * (1 + factor * random), `random` in [0, 1). A factor of 0 or less leaves the delay alone.
// Saturates.
std::chrono::nanoseconds Jittered(std::chrono::nanoseconds delay, double factor, double random);

}  // namespace kcm::rules
