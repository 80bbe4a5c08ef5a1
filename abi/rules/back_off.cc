// SPDX-License-Identifier: Apache-2.0
// Doubling without overflow.
#include "kcm/rules/back_off.h"

#include <algorithm>

namespace kcm::rules {

std::chrono::nanoseconds ExponentialDelay(const BackOff& back_off, int64_t failures) {
  const int64_t base = back_off.base.count();
  const int64_t cap = back_off.cap.count();
  if (base <= 0) return std::chrono::nanoseconds(0);
  // base * 2^n > cap exactly when base > cap / 2^n in integers (rounded down): no product can
  // overflow.
  if (failures >= 63 || base > (cap >> std::max<int64_t>(failures, 0))) return back_off.cap;
  return std::chrono::nanoseconds(base << std::max<int64_t>(failures, 0));
}

std::chrono::nanoseconds Jittered(std::chrono::nanoseconds delay, double factor, double random) {
  if (factor <= 0) return delay;
  const double jittered = static_cast<double>(delay.count()) * (1 + factor * random);
  constexpr double kMost = 9.2e18;  // below 2^63
  return std::chrono::nanoseconds(static_cast<int64_t>(std::clamp(jittered, -kMost, kMost)));
}

}  // namespace kcm::rules
