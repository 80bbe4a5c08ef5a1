// SPDX-License-Identifier: Apache-2.0
// TimerQueue: the timers of one clock, ordered by due time, and the rule that a cancelled timer is
// not running. Internal to host/clock: the clock brings the notion of now and the thread that calls
// RunOne.
#pragma once
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "host/clock/clock.h"

namespace kcm::host::clock {

// Thread-safe; RunOne from one thread only.
class TimerQueue {
 public:
  // `arm(next)` tells the clock's thread when to look next (MonoTime::Max(): never). Called with
  // the queue's lock held.
  explicit TimerQueue(std::function<void(MonoTime next)> arm) : arm_(std::move(arm)) {}

  TimerId Add(MonoTime due, std::function<void()> fire);
  // See Clock::Cancel.
  bool Cancel(TimerId id);
  // Runs the earliest timer when it is due at `now`; returns whether one ran.
  bool RunOne(MonoTime now);
  // Calls arm with the earliest due time.
  void Arm();
  MonoTime Next() const;
  // A timer is running, or due at `now`.
  bool Active(MonoTime now) const;

 private:
  MonoTime NextLocked() const {
    return timers_.empty() ? MonoTime::Max() : timers_.begin()->first.first;
  }

  const std::function<void(MonoTime)> arm_;
  mutable std::mutex mutex_;
  std::condition_variable finished_;
  std::map<std::pair<MonoTime, TimerId>, std::function<void()>> timers_;
  std::unordered_map<TimerId, MonoTime> due_;  // where Cancel finds a timer
  TimerId last_id_ = 0;
  TimerId running_ = 0;
  std::thread::id runner_;
};

}  // namespace kcm::host::clock
