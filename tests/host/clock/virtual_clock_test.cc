// SPDX-License-Identifier: Apache-2.0
// Virtual time: what moves it, what holds it back, and that nobody is left behind.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "host/clock/clock.h"

namespace kcm::host::clock {
namespace {

using namespace std::chrono_literals;

TEST(VirtualClockTime, StandsStillUntilAdvanced) {
  VirtualClock clock;
  EXPECT_EQ(clock.Now(), WallTime(1893456000s));
  const MonoTime start = clock.Monotonic();
  EXPECT_GT(start, MonoTime()) << "a default MonoTime must lie in the past";
  ASSERT_TRUE(clock.Advance(90s));
  EXPECT_EQ(clock.Monotonic() - start, 90s);
  EXPECT_EQ(clock.Now(), WallTime(1893456090s));
  clock.JumpWall(-1h);
  EXPECT_EQ(clock.Now(), WallTime(1893456090s - 1h));
  EXPECT_EQ(clock.Monotonic() - start, 90s);
}

TEST(MonoTimeArithmetic, Saturates) {
  EXPECT_EQ(MonoTime(1h) + Duration::max(), MonoTime::Max());
  EXPECT_EQ(MonoTime::Max() + 1s, MonoTime::Max());
  EXPECT_EQ(MonoTime(1h) + (-1h), MonoTime());
}

TEST(VirtualClockTimers, RunInOrderAtTheirOwnTime) {
  VirtualClock clock;
  const MonoTime start = clock.Monotonic();
  std::vector<std::pair<int, Duration>> ran;
  const auto record = [&](int n) {
    return [&, n] { ran.emplace_back(n, clock.Monotonic() - start); };
  };
  clock.After(3s, record(3));
  clock.After(1s, record(1));
  clock.After(2s, record(2));
  clock.After(2s, record(20));
  clock.After(4s, record(4));
  ASSERT_TRUE(clock.Advance(3s));
  const std::vector<std::pair<int, Duration>> want = {{1, 1s}, {2, 2s}, {20, 2s}, {3, 3s}};
  EXPECT_EQ(ran, want);
  EXPECT_EQ(clock.Monotonic() - start, 3s);
}

TEST(VirtualClockTimers, TimerStartedByATimerRunsInTheSameAdvance) {
  VirtualClock clock;
  int ticks = 0;
  std::function<void()> tick = [&] {
    ++ticks;
    clock.After(10s, tick);
  };
  clock.After(10s, tick);
  ASSERT_TRUE(clock.Advance(100s));
  EXPECT_EQ(ticks, 10);
}

TEST(VirtualClockTimers, DueAtOnceRunsWithoutAdvance) {
  std::mutex mutex;
  std::condition_variable cv;
  bool ran = false;
  std::thread::id runner;
  VirtualClock clock;  // ends before what its callback uses
  clock.After(-5s, [&] {
    {
      std::lock_guard lock(mutex);
      ran = true;
      runner = std::this_thread::get_id();
    }
    cv.notify_all();
  });
  std::unique_lock lock(mutex);
  EXPECT_TRUE(clock.WaitFor(lock, cv, Duration::max(), [&] { return ran; }));
  EXPECT_NE(runner, std::this_thread::get_id());
}

TEST(VirtualClockTimers, CancelledTimerDoesNotRun) {
  VirtualClock clock;
  bool ran = false;
  const TimerId id = clock.After(1s, [&] { ran = true; });
  EXPECT_TRUE(clock.Cancel(id));
  EXPECT_FALSE(clock.Cancel(id));
  EXPECT_FALSE(clock.Cancel(0));
  EXPECT_FALSE(clock.Cancel(4711));
  ASSERT_TRUE(clock.Advance(1h));
  EXPECT_FALSE(ran);
}

TEST(VirtualClockTimers, CancelWaitsForARunningCallback) {
  VirtualClock clock;
  std::mutex mutex;
  std::condition_variable cv;
  bool entered = false;
  bool cancelling = false;
  std::atomic<bool> finished{false};
  const TimerId id = clock.After(0s, [&] {
    std::unique_lock lock(mutex);
    entered = true;
    cv.notify_all();
    cv.wait(lock, [&] { return cancelling; });
    lock.unlock();
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    finished = true;
  });
  {
    std::unique_lock lock(mutex);
    cv.wait(lock, [&] { return entered; });
    cancelling = true;
  }
  cv.notify_all();
  EXPECT_FALSE(clock.Cancel(id));
  EXPECT_TRUE(finished) << "Cancel returned while the callback ran";
}

TEST(VirtualClockTimers, CancelFromInsideItselfReturns) {
  VirtualClock clock;
  std::atomic<TimerId> id{0};
  bool prevented = true;
  id = clock.After(1s, [&] { prevented = clock.Cancel(id); });
  ASSERT_TRUE(clock.Advance(1s));
  EXPECT_FALSE(prevented);
}

TEST(VirtualClockTimers, WhatACallbackHoldsIsGoneAfterCancel) {
  VirtualClock clock;
  auto held = std::make_shared<int>(1);
  const TimerId id = clock.After(1s, [held] {});
  clock.Cancel(id);
  EXPECT_EQ(held.use_count(), 1);
  const TimerId fired = clock.After(1s, [held] {});
  ASSERT_TRUE(clock.Advance(1s));
  clock.Cancel(fired);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(VirtualClockWait, EndsAtItsDeadline) {
  VirtualClock clock;
  const MonoTime start = clock.Monotonic();
  std::mutex mutex;
  std::condition_variable cv;
  std::thread waiter = StartBusyThread(clock, [&] {
    std::unique_lock lock(mutex);
    EXPECT_FALSE(clock.WaitFor(lock, cv, 7s, [] { return false; }));
    EXPECT_EQ(clock.Monotonic() - start, 7s);
    EXPECT_FALSE(clock.WaitFor(lock, cv, 0s, [] { return false; }));
    EXPECT_TRUE(clock.WaitFor(lock, cv, -1s, [] { return true; }))
        << "ready counts before the deadline";
  });
  EXPECT_TRUE(clock.Advance(10s));
  waiter.join();
}

// A chain of threads handing over by condition variables only, without tokens: settled means that
// the last one is done.
TEST(VirtualClockWait, HandOverBetweenWaitersCountsAtEveryMoment) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  VirtualClock clock;
  std::mutex mutex;
  std::condition_variable cv;
  int baton = 0;
  bool stop = false;
  std::vector<std::thread> chain;
  for (int i = 1; i <= kThreads; ++i) {
    chain.push_back(StartBusyThread(clock, [&, i] {
      std::unique_lock lock(mutex);
      while (clock.Wait(lock, cv, MonoTime::Max(), [&] { return stop || baton == i; }) && !stop) {
        lock.unlock();
        std::this_thread::yield();
        lock.lock();
        ++baton;
        cv.notify_all();
      }
    }));
  }
  for (int round = 0; round < kRounds; ++round) {
    {
      std::lock_guard lock(mutex);
      baton = 1;
    }
    cv.notify_all();
    ASSERT_TRUE(clock.Settle());
    std::lock_guard lock(mutex);
    ASSERT_EQ(baton, kThreads + 1) << "round " << round;
  }
  {
    std::lock_guard lock(mutex);
    stop = true;
  }
  cv.notify_all();
  for (std::thread& t : chain) t.join();
}

// Workers that sleep on the clock inside their work do not hold time back, and all of their sleeps
// end in time.
TEST(VirtualClockWait, SleepInsideBusyScopeLetsTimeMove) {
  constexpr int kThreads = 8;
  VirtualClock clock;
  std::mutex mutex;
  std::condition_variable cv;
  int finished = 0;
  std::vector<Duration> took(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(StartBusyThread(clock, [&, i] {
      const BusyScope inner(clock);
      const MonoTime begin = clock.Monotonic();
      std::unique_lock lock(mutex);
      for (int k = 0; k < 50; ++k)
        clock.WaitFor(lock, cv, std::chrono::seconds(i + 1), [] { return false; });
      took[static_cast<size_t>(i)] = clock.Monotonic() - begin;
      ++finished;
    }));
  }
  ASSERT_TRUE(clock.Advance(std::chrono::seconds(50 * kThreads))) << clock.WhyBusy();
  {
    std::lock_guard lock(mutex);
    EXPECT_EQ(finished, kThreads);
  }
  for (std::thread& t : threads) t.join();
  for (int i = 0; i < kThreads; ++i)
    EXPECT_EQ(took[static_cast<size_t>(i)], std::chrono::seconds(50 * (i + 1)));
}

TEST(VirtualClockSettle, TokenHoldsTimeBackAndSaysSo) {
  VirtualClock clock;
  BusyToken token(clock);
  EXPECT_FALSE(clock.Settle(0s));
  EXPECT_FALSE(clock.Advance(1s, 0s));
  EXPECT_EQ(clock.WhyBusy(), "counted work: 1");
  BusyToken moved = std::move(token);
  EXPECT_FALSE(clock.Settle(0s));
  moved = BusyToken();
  EXPECT_TRUE(clock.Settle());
  EXPECT_EQ(clock.WhyBusy(), "");
}

TEST(VirtualClockSettle, ProbeHoldsTimeBackUntilRemoved) {
  VirtualClock clock;
  std::atomic<bool> idle{false};
  const int id = clock.AddProbe([&] { return idle.load(); });
  EXPECT_FALSE(clock.Settle(0s));
  EXPECT_EQ(clock.WhyBusy(), "probe 1 is not idle");
  idle = true;
  EXPECT_TRUE(clock.Settle());
  idle = false;
  clock.RemoveProbe(id);
  EXPECT_TRUE(clock.Settle());
}

TEST(VirtualClockSettle, OwnScopesOfTheCallerDoNotCount) {
  VirtualClock clock;
  const BusyScope outer(clock);
  const BusyScope inner(clock);
  EXPECT_TRUE(clock.Advance(5s));
  EXPECT_EQ(clock.WhyBusy(), "");
}

TEST(VirtualClockSettle, ScopeOfAnotherClockStaysCounted) {
  VirtualClock clock;
  VirtualClock other;
  const BusyScope busy(clock);
  EXPECT_TRUE(other.Settle());
  std::thread looks([&] { EXPECT_FALSE(clock.Settle(0s)); });
  looks.join();
}

TEST(VirtualClockSettle, PauseTakesTheMarkOffAndPutsItBack) {
  VirtualClock clock;
  const BusyScope busy(clock);
  const auto settled = [&] {
    bool result = false;
    std::thread looks([&] { result = clock.Settle(0s); });
    looks.join();
    return result;
  };
  EXPECT_FALSE(settled());
  {
    const BusyPause pause(clock);
    const BusyPause nested(clock);
    EXPECT_EQ(clock.WhyBusy(), "");
    {
      const BusyScope inside(clock);
      EXPECT_FALSE(settled());
    }
  }
  EXPECT_FALSE(settled());
}

TEST(VirtualClockSettle, AdvanceInsideACallbackIsRefused) {
  VirtualClock clock;
  bool settled = true;
  clock.After(1s, [&] { settled = clock.Settle(1s); });
  ASSERT_TRUE(clock.Advance(1s));
  EXPECT_FALSE(settled);
}

TEST(VirtualClockAdvance, UntilStopsAtTheFirstSettledMomentThatHolds) {
  VirtualClock clock;
  const MonoTime start = clock.Monotonic();
  std::atomic<int> ticks{0};
  std::function<void()> tick = [&] {
    ++ticks;
    clock.After(1s, tick);
  };
  clock.After(1s, tick);
  EXPECT_TRUE(clock.AdvanceUntil([&] { return ticks == 5; }, 1h));
  EXPECT_EQ(clock.Monotonic() - start, 5s);
  EXPECT_FALSE(clock.AdvanceUntil([] { return false; }, 10s));
  EXPECT_EQ(clock.Monotonic() - start, 15s);
}

// Timers feed a queue, workers take from it and start further timers: at each settled moment all of
// it is done.
TEST(VirtualClockAdvance, TimersAndWorkersStayInStep) {
  VirtualClock clock;
  std::mutex mutex;
  std::condition_variable cv;
  std::deque<BusyToken> queue;
  bool stop = false;
  int handled = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(StartBusyThread(clock, [&] {
      std::unique_lock lock(mutex);
      while (clock.Wait(lock, cv, MonoTime::Max(), [&] { return stop || !queue.empty(); }) &&
             !stop) {
        queue.pop_front();
        clock.WaitFor(lock, cv, 100ms, [&] { return stop; });
        ++handled;
      }
    }));
  }
  std::function<void()> tick = [&] {
    {
      std::lock_guard lock(mutex);
      queue.emplace_back(clock);
    }
    cv.notify_all();
    clock.After(1s, tick);
  };
  clock.After(1s, tick);
  for (int second = 1; second <= 300; ++second) {
    ASSERT_TRUE(clock.Advance(second == 1 ? 1s + 500ms : 1s)) << clock.WhyBusy();
    std::lock_guard lock(mutex);
    ASSERT_EQ(handled, second);
  }
  {
    std::lock_guard lock(mutex);
    stop = true;
  }
  cv.notify_all();
  for (std::thread& t : workers) t.join();
}

}  // namespace
}  // namespace kcm::host::clock
