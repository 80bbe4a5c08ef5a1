// SPDX-License-Identifier: Apache-2.0
// SocketDeadline: when a socket operation gives up. Sockets stay on real time whatever the host's
// Clock is (host/clock), because the kernel does.
#pragma once
#include <ctime>

#include "host/clock/clock.h"

namespace kcm::host::client {

class SocketDeadline {
 public:
  SocketDeadline() = default;  // never
  static SocketDeadline In(clock::Duration d) {
    SocketDeadline out;
    out.at_ = Now() + (d.count() < 0 ? 0 : d.count());
    return out;
  }
  SocketDeadline EarlierOf(SocketDeadline other) const { return other.at_ < at_ ? other : *this; }
  bool never() const { return at_ == kNever; }
  bool Passed() const { return !never() && Now() >= at_; }
  // For poll(2): -1 = no limit, else rounded up so that a wait never ends early.
  int PollMillis() const {
    if (never()) return -1;
    const int64_t left = (at_ - Now() + 999'999) / 1'000'000;
    return left <= 0 ? 0 : static_cast<int>(left > kMaxMillis ? kMaxMillis : left);
  }

 private:
  static constexpr int64_t kNever = INT64_MAX;
  static constexpr int64_t kMaxMillis = 1 << 30;
  static int64_t Now() {
    timespec t{};
    clock_gettime(CLOCK_BOOTTIME, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }
  int64_t at_ = kNever;
};

}  // namespace kcm::host::client
