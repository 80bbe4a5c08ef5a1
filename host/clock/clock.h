// SPDX-License-Identifier: Apache-2.0
// Clock: the one source of time for host, plugins, devcluster and simulated nodes. Real in
// production, virtual in tests: there a test advances time and everything that waits on the clock
// follows, timer by timer.
//
// Rule for all code in this repository: no sleep, no cv.wait_for, no std::chrono::*::now() outside
// this folder. Wait with Clock::Wait, schedule with Clock::After. (Sockets and TLS validity stay on
// real time.)
//
// Virtual time moves only when nothing is left to do ("settled"). The clock knows what is left
// to do in three ways:
//
// 1. Threads. A background thread (StartBusyThread) holds one BusyScope for its whole life and
// waits with Clock::Wait only; it then counts exactly while it is not waiting. So a wait inside a
// reconcile (a rate limiter) lets virtual time go on:
//   workers.push_back(StartBusyThread(clock, [&] {
//     while (auto key = queue.Get()) { Reconcile(*key); queue.Done(*key); }
//   }));
//
// 2. Things on their way to a thread (an entry of a queue). A BusyToken lives as long as the thing
// waits. Whoever takes it over drops the token under its own BusyScope (WorkQueue::Get does), so
// that no moment is left uncounted. No token while every thread that could take the thing may
// itself wait on the clock: time would stand still for ever.
//
// 3. A thread in Clock::Wait whose condition holds counts from that moment on, although the kernel
// may not have run it yet: the clock looks at `ready` itself.
//
// A thread that blocks otherwise (socket, join, future) inside a BusyScope keeps counting;
// BusyPause takes the mark off where the other side itself follows this clock.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace kcm::host::clock {

using Duration = std::chrono::nanoseconds;
// Monotonic time, CLOCK_BOOTTIME in the real clock (a suspended machine must not keep a lease).
class MonoTime {
 public:
  constexpr MonoTime() = default;
  constexpr explicit MonoTime(Duration since) : since_(since) {}
  constexpr Duration since() const { return since_; }
  friend constexpr auto operator<=>(MonoTime, MonoTime) = default;
  // Saturates: a wait "for Duration::max()" is one without end.
  friend constexpr MonoTime operator+(MonoTime t, Duration d) {
    if (d > Duration::zero() && t.since_ > Duration::max() - d) return Max();
    return MonoTime(t.since_ + d);
  }
  friend constexpr Duration operator-(MonoTime x, MonoTime y) { return x.since_ - y.since_; }
  static constexpr MonoTime Max() { return MonoTime(Duration::max()); }

 private:
  Duration since_{0};
};
// Wall time as nanoseconds since 1970 UTC.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

using TimerId = uint64_t;  // 0 is never a timer

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  virtual MonoTime Monotonic() const = 0;
  virtual WallTime Now() const = 0;

  // Runs `fire` once after `delay` (<= 0: as soon as possible) on the clock's own thread, one
  // callback at a time, earliest first (equal times: in the order of After). `fire` must be short,
  // must not block on other work and must not throw. Never runs inside After itself. What has not
  // fired when the clock is destroyed is dropped.
  virtual TimerId After(Duration delay, std::function<void()> fire) = 0;
  // After return `fire` is not running and will not run, unless called from inside that very
  // `fire`. Returns whether it was prevented. Unknown ids are fine. REQUIRES: the caller holds no
  // lock that `fire` takes.
  virtual bool Cancel(TimerId id) = 0;

  // Blocks until `ready()` or `deadline`; returns ready(). `lock` is held while `ready` runs and on
  // return. Whoever makes `ready` true must notify `cv` after changing state under the mutex. While
  // it blocks, the thread does not count as busy. `ready` only looks (no side effect, no
  // thread-local): the virtual clock calls it from the thread that settles as well, with the mutex
  // held, while the waiter blocks. `cv` and the mutex outlive the call.
  virtual bool Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& cv,
                    MonoTime deadline, const std::function<bool()>& ready) = 0;
  bool WaitFor(std::unique_lock<std::mutex>& lock, std::condition_variable& cv, Duration d,
               const std::function<bool()>& ready) {
    return Wait(lock, cv, Monotonic() + d, ready);
  }

  // Counts work that must be finished before virtual time may move: a key in a queue or with a
  // worker, an undelivered notification, a request in flight. No cost worth naming on the real
  // clock. Use BusyScope/BusyToken.
  virtual void BeginWork() {}
  virtual void EndWork() {}
  // A counted thread is about to end. Whoever joins it resumes a moment later: until then that
  // counts, too.
  virtual void ThreadEnds() {}
};

class BusyPause;
// Marks this thread busy for a scope. Clock::Wait inside the scope suspends the mark. Scopes nest.
// On the stack only.
class BusyScope {
 public:
  explicit BusyScope(Clock& clock);
  ~BusyScope();
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;

 private:
  friend class BusyPause;
  Clock& clock_;
  BusyScope* outer_;                      // the next scope of this thread, of any clock
  const BusyPause* paused_by_ = nullptr;  // whoever took the mark off
};

// Takes this thread's marks for `clock` off for a scope; puts them back at its end.
class BusyPause {
 public:
  explicit BusyPause(Clock& clock);
  ~BusyPause();
  BusyPause(const BusyPause&) = delete;
  BusyPause& operator=(const BusyPause&) = delete;

 private:
  Clock& clock_;
};

// Starts a thread that is busy from this call on: `run` under a BusyScope, and no gap before it.
// Without this, time could move before a thread just started has taken its first step. Throws
// std::system_error when there is no thread to be had.
std::thread StartBusyThread(Clock& clock, std::function<void()> run);

// Work that waits for a thread (an entry of a queue). Movable; ends its work when destroyed.
class BusyToken {
 public:
  BusyToken() = default;
  explicit BusyToken(Clock& clock) : clock_(&clock) { clock.BeginWork(); }
  BusyToken(BusyToken&& o) noexcept : clock_(std::exchange(o.clock_, nullptr)) {}
  BusyToken& operator=(BusyToken&& o) noexcept {
    if (this != &o) {
      Reset();
      clock_ = std::exchange(o.clock_, nullptr);
    }
    return *this;
  }
  ~BusyToken() { Reset(); }
  void Reset() {
    if (clock_ != nullptr) std::exchange(clock_, nullptr)->EndWork();
  }

 private:
  Clock* clock_ = nullptr;
};

// Throws std::system_error when the kernel gives no timer or thread.
// The destructor joins the timer thread: never destroy a clock from its own callback.
std::unique_ptr<Clock> MakeRealClock();

// Time that stands still until Advance. Starts at 2030-01-01T00:00:00Z unless told otherwise.
// Timers that are due run at once on the clock's thread, also without Advance. Advance and Settle
// are not for timer callbacks.
class VirtualClock : public Clock {
 public:
  VirtualClock();
  explicit VirtualClock(WallTime start);
  ~VirtualClock() override;

  MonoTime Monotonic() const override;
  WallTime Now() const override;
  TimerId After(Duration delay, std::function<void()> fire) override;
  bool Cancel(TimerId id) override;
  bool Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& cv, MonoTime deadline,
            const std::function<bool()>& ready) override;
  void BeginWork() override;
  void EndWork() override;
  void ThreadEnds() override;

  // Settles, then moves to the next timer within `d`, runs it, settles again, ... and ends at now +
  // d, settled. Timers of one instant run together. Returns false when one step did not settle
  // within `real_limit` of real time (a test fails then; WhyBusy says what was left). The caller's
  // own BusyScopes do not count. One Advance at a time.
  bool Advance(Duration d, std::chrono::seconds real_limit = std::chrono::seconds(60));
  // Like Advance, but stops as soon as `done` holds; `done` is asked whenever time is settled.
  // Returns done().
  bool AdvanceUntil(const std::function<bool()>& done, Duration limit,
                    std::chrono::seconds real_limit = std::chrono::seconds(60));
  // Waits (real time) until no work is counted and every probe says idle, twice in a row.
  bool Settle(std::chrono::seconds real_limit = std::chrono::seconds(60));
  // A condition that counted work does not show (a cache is at the store's resourceVersion). Called
  // from Settle's thread; cheap and non-blocking. Returns an id for RemoveProbe.
  int AddProbe(std::function<bool()> idle);
  void RemoveProbe(int id);
  // What keeps time from moving at this moment, for the message of a failed test; "" when nothing
  // does.
  std::string WhyBusy();
  // Moves the wall clock only (a clock jump).
  void JumpWall(Duration d);

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace kcm::host::clock
