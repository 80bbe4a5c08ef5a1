// SPDX-License-Identifier: Apache-2.0
// The real clock: CLOCK_BOOTTIME, and one thread that sleeps on a timerfd (which, unlike a
// condition variable, follows CLOCK_BOOTTIME across a suspend).
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <thread>

#include "host/clock/clock.h"
#include "host/clock/thread.h"
#include "host/clock/timer_queue.h"

namespace kcm::host::clock {
namespace {

// A condition variable sleeps on CLOCK_MONOTONIC: after a suspend a wait would be late by up to its
// remaining time. Waking this often bounds the delay.
constexpr Duration kLongestSleep = std::chrono::seconds(10);

Duration Read(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

class RealClock final : public Clock {
 public:
  RealClock() : timers_([this](MonoTime next) { ArmFd(next); }) {
    fd_ = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "clock: timerfd_create");
    try {
      thread_ = StartThread("the clock", [this] { Run(); });
    } catch (...) {
      close(fd_);
      throw;
    }
  }

  ~RealClock() override {
    stop_ = true;
    timers_.Arm();  // wakes the thread: ArmFd sees stop_
    thread_.join();
    close(fd_);
  }

  MonoTime Monotonic() const override { return MonoTime(Read(CLOCK_BOOTTIME)); }
  WallTime Now() const override { return WallTime(Read(CLOCK_REALTIME)); }

  TimerId After(Duration delay, std::function<void()> fire) override {
    return timers_.Add(Monotonic() + std::max(delay, Duration::zero()), std::move(fire));
  }
  bool Cancel(TimerId id) override { return timers_.Cancel(id); }

  bool Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& cv, MonoTime deadline,
            const std::function<bool()>& ready) override {
    while (!ready()) {
      if (deadline == MonoTime::Max()) {
        cv.wait(lock);
        continue;
      }
      const MonoTime now = Monotonic();
      if (now >= deadline) return false;
      cv.wait_for(lock, std::min(deadline - now, kLongestSleep));
    }
    return true;
  }

 private:
  void ArmFd(MonoTime next) {
    if (stop_) next = MonoTime();
    itimerspec when{};  // all zero disarms
    if (next != MonoTime::Max()) {
      const Duration at = std::max(next.since(), Duration(1));
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
      when.it_value.tv_sec = static_cast<time_t>(seconds.count());
      when.it_value.tv_nsec = static_cast<long>((at - seconds).count());
    }
    timerfd_settime(fd_, TFD_TIMER_ABSTIME, &when, nullptr);
  }

  void Run() {
    for (;;) {
      while (!stop_ && timers_.RunOne(Monotonic())) {
      }
      timers_.Arm();
      uint64_t expirations = 0;
      const ssize_t n = read(fd_, &expirations, sizeof expirations);
      if (stop_) return;
      (void)n;  // EINTR, or a timer that was moved meanwhile: look again
    }
  }

  std::atomic<bool> stop_{false};
  int fd_ = -1;
  TimerQueue timers_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Clock> MakeRealClock() { return std::make_unique<RealClock>(); }

}  // namespace kcm::host::clock
