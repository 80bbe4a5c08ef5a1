// SPDX-License-Identifier: Apache-2.0
// BoundedSeconds: a number of seconds that somebody else chose, as a duration.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

namespace kcm::pod {

// At least 0, at most 2^32 (more than a century): an int64 holds any, but not as nanoseconds.
constexpr std::chrono::nanoseconds BoundedSeconds(int64_t seconds) {
  return std::chrono::seconds(std::clamp<int64_t>(seconds, 0, int64_t{1} << 32));
}

}  // namespace kcm::pod
