// SPDX-License-Identifier: Apache-2.0
// TimerQueue: see the header.
#include "host/clock/timer_queue.h"

namespace kcm::host::clock {

TimerId TimerQueue::Add(MonoTime due, std::function<void()> fire) {
  std::lock_guard lock(mutex_);
  const TimerId id = ++last_id_;
  timers_.emplace(std::pair(due, id), std::move(fire));
  due_.emplace(id, due);
  if (timers_.begin()->first.second == id) arm_(due);
  return id;
}

bool TimerQueue::Cancel(TimerId id) {
  std::function<void()> dropped;  // destroyed without the lock: captured objects may call back
  std::unique_lock lock(mutex_);
  if (const auto it = due_.find(id); it != due_.end()) {
    const auto timer = timers_.find(std::pair(it->second, id));
    dropped = std::move(timer->second);
    timers_.erase(timer);
    due_.erase(it);
    lock.unlock();
    return true;
  }
  if (id != 0 && running_ == id && runner_ != std::this_thread::get_id()) {
    finished_.wait(lock, [&] { return running_ != id; });
  }
  return false;
}

bool TimerQueue::RunOne(MonoTime now) {
  std::function<void()> fire;
  {
    std::lock_guard lock(mutex_);
    const auto first = timers_.begin();
    if (first == timers_.end() || first->first.first > now) return false;
    running_ = first->first.second;
    runner_ = std::this_thread::get_id();
    fire = std::move(first->second);
    due_.erase(running_);
    timers_.erase(first);
  }
  if (fire) fire();
  fire = nullptr;  // what it captured is gone before Cancel returns
  {
    std::lock_guard lock(mutex_);
    running_ = 0;
  }
  finished_.notify_all();
  return true;
}

void TimerQueue::Arm() {
  std::lock_guard lock(mutex_);
  arm_(NextLocked());
}

MonoTime TimerQueue::Next() const {
  std::lock_guard lock(mutex_);
  return NextLocked();
}

bool TimerQueue::Active(MonoTime now) const {
  std::lock_guard lock(mutex_);
  return running_ != 0 || NextLocked() <= now;
}

}  // namespace kcm::host::clock
