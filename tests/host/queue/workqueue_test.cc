// SPDX-License-Identifier: Apache-2.0
// WorkQueue's guarantees (spec/host.md 6), on virtual time.
#include "host/queue/workqueue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace kcm::host::queue {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class WorkQueueTest : public ::testing::Test {
 protected:
  std::unique_ptr<WorkQueue> Make(RateLimit limit = {}) {
    Options options;
    options.name = "test";
    options.clock = &clock_;
    options.metrics = &metrics_;
    options.limit = limit;
    return std::make_unique<WorkQueue>(std::move(options));
  }
  // Everything in line, taken and done by this thread.
  std::vector<std::string> Drain(WorkQueue& queue) {
    std::vector<std::string> keys;
    while (queue.Length() > 0) {
      keys.push_back(queue.Get().value());
      queue.Done(keys.back());
    }
    return keys;
  }
  // Lets time pass although nobody takes the keys.
  void Pass(WorkQueue& queue, clock::Duration d) {
    queue.Park();
    EXPECT_TRUE(clock_.Advance(d)) << clock_.WhyBusy();
    queue.Resume();
  }
  std::string Scrape() { return metrics_.Expose(false, false); }

  clock::VirtualClock clock_;
  metric::Registry metrics_;
};

TEST_F(WorkQueueTest, KeysComeOutInOrderOnce) {
  auto queue = Make();
  for (const char* key : {"a", "b", "a", "c", "b"}) queue->Add(key);
  EXPECT_EQ(queue->Length(), 3U);
  EXPECT_THAT(Drain(*queue), ElementsAre("a", "b", "c"));
  EXPECT_EQ(queue->Length(), 0U);
}

// Trap T14.
TEST_F(WorkQueueTest, KeyAddedWhileProcessedRunsAgainExactlyOnce) {
  auto queue = Make();
  queue->Add("a");
  EXPECT_EQ(queue->Get(), "a");
  queue->Add("a");
  queue->Add("a");
  EXPECT_EQ(queue->Length(), 0U) << "never with two workers";
  EXPECT_EQ(queue->Processing(), 1U);
  queue->Done("a");
  EXPECT_THAT(Drain(*queue), ElementsAre("a"));
  EXPECT_EQ(queue->Processing(), 0U);
}

TEST_F(WorkQueueTest, DoneOfAStrangerIsIgnored) {
  auto queue = Make();
  queue->Add("a");
  queue->Done("a");
  queue->Done("nobody");
  EXPECT_THAT(Drain(*queue), ElementsAre("a"));
}

TEST_F(WorkQueueTest, OfTwoDelaysTheEarlierWins) {
  auto queue = Make();
  queue->AddAfter("late", 10s);
  queue->AddAfter("late", 20s);
  queue->AddAfter("early", 10s);
  queue->AddAfter("early", 3s);
  EXPECT_EQ(queue->Waiting(), 2U);
  ASSERT_TRUE(clock_.Advance(2999ms));
  EXPECT_EQ(queue->Length(), 0U);
  Pass(*queue, 1ms);
  EXPECT_THAT(Drain(*queue), ElementsAre("early"));
  Pass(*queue, 7s);
  EXPECT_THAT(Drain(*queue), ElementsAre("late"));
  ASSERT_TRUE(clock_.Advance(1h));
  EXPECT_EQ(queue->Length(), 0U) << "each delay was for one run";
}

TEST_F(WorkQueueTest, PlainAddDoesNotCancelADelay) {
  auto queue = Make();
  queue->AddAfter("a", 5s);
  queue->Add("a");
  EXPECT_THAT(Drain(*queue), ElementsAre("a"));
  Pass(*queue, 5s);
  EXPECT_THAT(Drain(*queue), ElementsAre("a"));
}

TEST_F(WorkQueueTest, DelayOfZeroOrLessIsAnAdd) {
  auto queue = Make();
  queue->AddAfter("a", 0s);
  queue->AddAfter("b", -1s);
  EXPECT_THAT(Drain(*queue), ElementsAre("a", "b"));
}

TEST_F(WorkQueueTest, BackOffDoublesAndForgetStartsOver) {
  auto queue = Make();
  const auto delay = [&] {
    queue->AddRateLimited("a");
    const clock::MonoTime start = clock_.Monotonic();
    while (queue->Length() == 0) Pass(*queue, 1ms);
    Drain(*queue);
    return clock_.Monotonic() - start;
  };
  EXPECT_EQ(delay(), 5ms);
  EXPECT_EQ(delay(), 10ms);
  EXPECT_EQ(delay(), 20ms);
  EXPECT_EQ(queue->NumRequeues("a"), 3);
  queue->Forget("a");
  EXPECT_EQ(queue->NumRequeues("a"), 0);
  EXPECT_EQ(delay(), 5ms);
}

TEST_F(WorkQueueTest, OtherLimitsHoldFromTheNextFailureOn) {
  auto queue = Make();
  for (int i = 0; i < 3; ++i) queue->AddRateLimited("a");
  const auto due_in = [&](const std::string& key) {
    for (const auto& k : queue->Keys(10))
      if (k.key == key) return k.due_in;
    return clock::Duration(-1);
  };
  EXPECT_EQ(due_in("a"), 5ms);
  RateLimit slow;
  slow.base = 1s;
  slow.cap = 10s;
  slow.bucket_qps = 0.01;
  slow.bucket_burst = 1;
  queue->SetLimit(slow);
  EXPECT_EQ(due_in("a"), 5ms) << "what waits stays";
  EXPECT_EQ(queue->NumRequeues("a"), 3);
  Pass(*queue, 5ms);
  Drain(*queue);
  queue->AddRateLimited("a");
  EXPECT_EQ(due_in("a"), 8s) << "the fourth failure";
  queue->AddRateLimited("b");
  EXPECT_EQ(due_in("b"), 100s) << "of the bucket";
  queue->SetLimit(RateLimit());
  queue->AddRateLimited("c");
  EXPECT_EQ(due_in("c"), 200ms) << "after what is reserved already";
}

TEST_F(WorkQueueTest, ForgetLeavesADelayedKeyAlone) {
  auto queue = Make();
  queue->AddRateLimited("a");
  queue->Forget("a");
  EXPECT_EQ(queue->Waiting(), 1U);
}

TEST_F(WorkQueueTest, BucketDelaysManyKeysTogether) {
  auto queue = Make();
  for (int i = 0; i < 120; ++i) queue->AddRateLimited("k" + std::to_string(i));
  Pass(*queue, 5ms);
  EXPECT_EQ(Drain(*queue).size(), 100U) << "the burst";
  Pass(*queue, 995ms);
  size_t later = 0;
  while (queue->Waiting() + queue->Length() > 0) {
    later += Drain(*queue).size();
    Pass(*queue, 100ms);
  }
  EXPECT_EQ(later, 20U);
  const auto since = clock_.Monotonic();
  EXPECT_GE(since - clock::MonoTime(1h), 2s) << "10 a second";

  RateLimit no_bucket;
  no_bucket.bucket = false;
  auto free = Make(no_bucket);
  for (int i = 0; i < 500; ++i) free->AddRateLimited("k" + std::to_string(i));
  Pass(*free, 5ms);
  EXPECT_EQ(free->Length(), 500U);
  Drain(*free);
}

TEST_F(WorkQueueTest, ShutDownHandsOutWhatIsInLineAndDropsTheRest) {
  auto queue = Make();
  queue->Add("a");
  queue->AddAfter("b", 1s);
  queue->Pause();
  queue->ShutDown();
  queue->Add("c");
  queue->AddAfter("d", 0s);
  queue->AddRateLimited("e");
  EXPECT_EQ(queue->Get(), "a") << "and the pause is over";
  EXPECT_EQ(queue->Get(), std::nullopt);
  queue->Done("a");
  ASSERT_TRUE(clock_.Advance(1h));
  EXPECT_EQ(queue->Get(), std::nullopt);
}

TEST_F(WorkQueueTest, ParkedKeysLetTimePassAndPausedOnesDoNot) {
  auto queue = Make();
  queue->Park();
  queue->Add("a");
  EXPECT_TRUE(clock_.Advance(1s));
  queue->Resume();
  EXPECT_FALSE(clock_.Settle(0s));
  queue->Pause();
  EXPECT_FALSE(clock_.Settle(0s));
  queue->Park();
  EXPECT_TRUE(clock_.Settle());
  queue->Clear();
  queue->Resume();
  EXPECT_TRUE(clock_.Settle());
}

TEST_F(WorkQueueTest, ClearDropsAllButWhatIsProcessed) {
  auto queue = Make();
  queue->Add("busy");
  EXPECT_EQ(queue->Get(), "busy");
  queue->Add("ready");
  queue->AddRateLimited("delayed");
  queue->AddAfter("busy", 5s);
  queue->Clear();
  EXPECT_EQ(queue->Length() + queue->Waiting(), 0U);
  EXPECT_EQ(queue->NumRequeues("delayed"), 0);
  EXPECT_EQ(queue->Processing(), 1U);
  EXPECT_THAT(Scrape(), HasSubstr("workqueue_depth{name=\"test\"} 0\n"));
  queue->Add("busy");
  queue->Done("busy");
  EXPECT_THAT(Drain(*queue), ElementsAre("busy"));
}

TEST_F(WorkQueueTest, KeysTellTheirState) {
  auto queue = Make();
  queue->Add("run");
  EXPECT_EQ(queue->Get(), "run");
  queue->Add("run");
  queue->Add("both");
  queue->AddAfter("both", 9s);
  queue->AddRateLimited("late");
  std::vector<std::string> seen;
  for (const auto& k : queue->Keys(10)) {
    seen.push_back(k.key + " " + k.state + " " + std::to_string(k.due_in / 1ms) + " " +
                   std::to_string(k.failures));
  }
  EXPECT_THAT(seen, ElementsAre("run processing+ready 0 0", "both ready+delayed 9000 0",
                                "late delayed 5 1"));
  EXPECT_EQ(queue->Keys(2).size(), 2U);
  queue->Done("run");
  Drain(*queue);
}

TEST_F(WorkQueueTest, MetricsFollowTheKeys) {
  auto queue = Make();
  queue->Add("a");
  queue->Add("a");
  queue->Add("b");
  EXPECT_THAT(Scrape(), HasSubstr("workqueue_depth{name=\"test\"} 2\n"));
  clock_.JumpWall(1h);  // a wall clock jump is no queueing time
  EXPECT_EQ(queue->Get(), "a");
  EXPECT_EQ(queue->Get(), "b");
  ASSERT_TRUE(clock_.Advance(3s));
  queue->Done("b");
  queue->AddAfter("c", 1h);
  queue->AddAfter("d", 0s);
  const std::string text = Scrape();
  EXPECT_THAT(text, HasSubstr("workqueue_depth{name=\"test\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_adds_total{name=\"test\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_retries_total{name=\"test\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_unfinished_work_seconds{name=\"test\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("workqueue_longest_running_processor_seconds{name=\"test\"} 3\n"));
  EXPECT_THAT(text,
              HasSubstr("workqueue_work_duration_seconds_bucket{name=\"test\",le=\"1\"} 0\n"));
  EXPECT_THAT(text,
              HasSubstr("workqueue_work_duration_seconds_bucket{name=\"test\",le=\"10\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("workqueue_queue_duration_seconds_bucket{name=\"test\",le=\"1e-08\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("# HELP workqueue_depth [ALPHA] "));
  queue.reset();
  const std::string after = Scrape();
  EXPECT_THAT(after, HasSubstr("workqueue_depth{name=\"test\"} 0\n"));
  EXPECT_THAT(after, HasSubstr("workqueue_unfinished_work_seconds{name=\"test\"} 0\n"));
}

// Workers as the host runs them.
class WorkQueueWorkers : public WorkQueueTest {
 protected:
  void Start(WorkQueue& queue, int workers, std::function<void(const std::string&)> reconcile) {
    for (int i = 0; i < workers; ++i) {
      threads_.push_back(clock::StartBusyThread(clock_, [&queue, reconcile] {
        while (const auto key = queue.Get()) {
          reconcile(*key);
          queue.Done(*key);
        }
      }));
    }
  }
  void Join() {
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }
  // A rate limiter's wait inside a reconcile.
  void SleepOnClock(clock::Duration d) {
    std::mutex mutex;
    std::condition_variable cv;
    std::unique_lock lock(mutex);
    clock_.WaitFor(lock, cv, d, [] { return false; });
  }

  std::vector<std::thread> threads_;
};

TEST_F(WorkQueueWorkers, WaitInsideAReconcileLetsTimeMove) {
  auto queue = Make();
  std::atomic<int> done{0};
  Start(*queue, 2, [&](const std::string&) {
    SleepOnClock(10s);
    ++done;
  });
  for (const char* key : {"a", "b", "c", "d"}) queue->Add(key);
  ASSERT_TRUE(clock_.Advance(19s)) << clock_.WhyBusy();
  EXPECT_EQ(done, 2);
  ASSERT_TRUE(clock_.Advance(1s));
  EXPECT_EQ(done, 4);
  queue->ShutDown();
  Join();
}

TEST_F(WorkQueueWorkers, OneKeyIsWithOneWorkerAndNothingIsLost) {
  auto queue = Make();
  std::mutex mutex;
  std::set<std::string> inside;
  std::map<std::string, int> last_seen;
  std::map<std::string, std::atomic<int>> version;
  constexpr int kKeys = 20;
  const auto name = [](int i) { return "key" + std::to_string(i % kKeys); };
  for (int i = 0; i < kKeys; ++i) version[name(i)] = 0;
  Start(*queue, 4, [&](const std::string& key) {
    {
      std::lock_guard lock(mutex);
      EXPECT_TRUE(inside.insert(key).second) << key << " is with two workers";
    }
    const int seen = version.at(key);
    std::this_thread::yield();
    std::lock_guard lock(mutex);
    inside.erase(key);
    last_seen[key] = seen;
  });
  std::vector<std::thread> writers;
  for (int w = 0; w < 3; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < 2000; ++i) {
        ++version.at(name(i + w));
        if (i % 3 == 0) {
          queue->AddAfter(name(i + w), std::chrono::milliseconds(i % 7));
        } else {
          queue->Add(name(i + w));
        }
      }
    });
  }
  for (std::thread& t : writers) t.join();
  ASSERT_TRUE(clock_.Advance(1s)) << clock_.WhyBusy();
  for (const auto& [key, v] : version)
    EXPECT_EQ(last_seen[key], v) << key << ": the last change was not looked at";
  queue->ShutDown();
  Join();
}

// The hand-over of a hot swap: pause, wait until idle, exchange the workers, go on.
TEST_F(WorkQueueWorkers, HandOverKeepsKeysAndDelays) {
  auto queue = Make();
  std::atomic<int> by_old{0};
  std::atomic<int> by_new{0};
  Start(*queue, 2, [&](const std::string&) {
    SleepOnClock(1s);
    ++by_old;
  });
  queue->Add("a");
  queue->AddAfter("late", 1min);
  ASSERT_TRUE(clock_.Settle());
  queue->Pause();
  EXPECT_EQ(queue->Processing(), 1U);
  EXPECT_FALSE(queue->WaitIdle(0s));
  queue->Add("b");
  std::thread swap = clock::StartBusyThread(clock_, [&] {
    EXPECT_TRUE(queue->WaitIdle(1h));
    queue->Interrupt();
    Join();
    queue->Uninterrupt();
    Start(*queue, 1, [&](const std::string&) { ++by_new; });
    queue->Resume();
  });
  // The paused key holds time back, so the worker's sleep ends only if the swap's side lets it:
  // drop it from the count.
  queue->Park();
  ASSERT_TRUE(clock_.AdvanceUntil([&] { return by_new == 1; }, 10s)) << clock_.WhyBusy();
  swap.join();
  EXPECT_EQ(by_old, 1);
  ASSERT_TRUE(clock_.Advance(1min));
  EXPECT_EQ(by_new, 2) << "the delayed key ran on the new build";
  queue->ShutDown();
  Join();
}

TEST_F(WorkQueueWorkers, InterruptReleasesBlockedWorkers) {
  auto queue = Make();
  Start(*queue, 3, [](const std::string&) {});
  ASSERT_TRUE(clock_.Settle());
  queue->Interrupt();
  Join();
  EXPECT_EQ(queue->Get(), std::nullopt) << "until Uninterrupt";
  queue->Uninterrupt();
  queue->Add("a");
  EXPECT_EQ(queue->Get(), "a");
  queue->Done("a");
}

TEST_F(WorkQueueWorkers, DestructionWithTimersPendingIsClean) {
  for (int i = 0; i < 50; ++i) {
    auto queue = Make();
    for (int k = 0; k < 20; ++k)
      queue->AddAfter(std::to_string(k), std::chrono::nanoseconds(20 - k));
    Pass(*queue, 10ns);
  }
  EXPECT_TRUE(clock_.Advance(1s));
  EXPECT_THAT(Scrape(), Not(HasSubstr("workqueue_depth{name=\"test\"} -")));
}

}  // namespace
}  // namespace kcm::host::queue
