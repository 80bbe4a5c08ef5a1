// SPDX-License-Identifier: Apache-2.0
// The real clock. Waits are short and only have a lower bound: a slow machine does not fail them.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "host/clock/clock.h"

namespace kcm::host::clock {
namespace {

using namespace std::chrono_literals;

class RealClockTest : public ::testing::Test {
 protected:
  // Blocks until `n` events were recorded.
  void AwaitEvents(size_t n) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(clock_->WaitFor(lock, cv_, 30s, [&] { return events_.size() >= n; }));
  }
  void Record(int event) {
    {
      std::lock_guard lock(mutex_);
      events_.push_back(event);
    }
    cv_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable cv_;
  std::vector<int> events_;
  std::unique_ptr<Clock> clock_ = MakeRealClock();
};

TEST_F(RealClockTest, TimersRunEarliestFirstAndNotEarly) {
  const MonoTime start = clock_->Monotonic();
  clock_->After(30ms, [&] { Record(3); });
  clock_->After(20ms, [&] { Record(2); });
  clock_->After(0ms, [&] { Record(1); });
  AwaitEvents(3);
  EXPECT_GE(clock_->Monotonic() - start, 30ms);
  EXPECT_EQ(events_, (std::vector<int>{1, 2, 3}));
}

TEST_F(RealClockTest, AnEarlierTimerWakesTheSleepingThread) {
  const TimerId late = clock_->After(1h, [&] { Record(9); });
  clock_->After(1ms, [&] { Record(1); });
  AwaitEvents(1);
  EXPECT_TRUE(clock_->Cancel(late));
}

TEST_F(RealClockTest, WaitEndsAtDeadlineOrWhenReady) {
  std::unique_lock lock(mutex_);
  const MonoTime start = clock_->Monotonic();
  EXPECT_FALSE(clock_->WaitFor(lock, cv_, 5ms, [] { return false; }));
  EXPECT_GE(clock_->Monotonic() - start, 5ms);
  clock_->After(1ms, [&] { Record(1); });
  EXPECT_TRUE(clock_->Wait(lock, cv_, MonoTime::Max(), [&] { return !events_.empty(); }));
}

TEST_F(RealClockTest, DestructionDropsWhatHasNotFired) {
  auto held = std::make_shared<int>(0);
  clock_->After(1h, [held] { ++*held; });
  clock_.reset();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, 0);
}

TEST_F(RealClockTest, ManyThreadsStartAndCancel) {
  std::atomic<int> fired{0};
  std::atomic<int> prevented{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const TimerId id = clock_->After(std::chrono::microseconds(i % 50), [&] { ++fired; });
        if (i % 2 == 0 && clock_->Cancel(id)) ++prevented;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  clock_->After(1ms, [&] { Record(1); });
  AwaitEvents(1);
  EXPECT_EQ(fired + prevented, 2000);
}

TEST_F(RealClockTest, WallTimeIsPlausible) {
  EXPECT_GT(clock_->Now(), WallTime(std::chrono::hours(24 * 365 * 50)));
  EXPECT_GT(clock_->Monotonic(), MonoTime());
}

}  // namespace
}  // namespace kcm::host::clock
