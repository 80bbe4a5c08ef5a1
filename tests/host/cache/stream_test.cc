// SPDX-License-Identifier: Apache-2.0
// Stream and subscribers: order, independence, pause, resync rounds (spec/host.md 5.4, 5.6).
#include "host/cache/stream.h"

#include <gtest/gtest.h>

#include <latch>
#include <semaphore>

#include "host/cache/objects.h"

namespace kcm::host::cache {
namespace {

using test::Pod;
using namespace std::chrono_literals;

struct GatedRecorder : Handler {
  void OnNotification(const Notification& n) override {
    if (gate != nullptr) gate->wait();
    std::lock_guard<std::mutex> lock(mutex);
    seen.push_back(n);
    changed.notify_all();
  }
  std::vector<uint64_t> Sequences() {
    std::lock_guard<std::mutex> lock(mutex);
    std::vector<uint64_t> out;
    for (const Notification& n : seen) out.push_back(n.sequence);
    return out;
  }
  void Await(size_t n) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return seen.size() >= n; });
  }
  std::latch* gate = nullptr;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Notification> seen;
};

// Its calls begin one by one, as `steps` allows.
struct SteppedRecorder : GatedRecorder {
  void OnNotification(const Notification& n) override {
    begun.release();
    steps.acquire();
    GatedRecorder::OnNotification(n);
  }
  std::counting_semaphore<> begun{0}, steps{0};
};

std::vector<Entry> Adds(int n, uint64_t version) {
  std::vector<Entry> out(static_cast<size_t>(n));
  for (Entry& e : out)
    e.notification.object = Pod("a", "p" + std::to_string(version), version), ++version;
  return out;
}

struct StreamTest : ::testing::Test {
  clock::VirtualClock clock;
  std::shared_ptr<Stream> stream = std::make_shared<Stream>(&clock);
};

TEST_F(StreamTest, EveryHandlerGetsAllInOrderAndASlowOneDelaysOnlyItself) {
  std::latch gate(1);
  GatedRecorder fast, slow;
  slow.gate = &gate;
  auto f = stream->Subscribe(&fast, "fast", {}, 0ns);
  auto s = stream->Subscribe(&slow, "slow", {}, 0ns);
  for (int i = 0; i < 100; ++i) stream->Publish(Adds(1, static_cast<uint64_t>(i) + 1));
  fast.Await(100);
  EXPECT_EQ(s->DeliveredSequence(), 0u);
  EXPECT_EQ(s->Backlog(), 100u);
  gate.count_down();
  slow.Await(100);
  ASSERT_TRUE(clock.Settle());
  EXPECT_EQ(fast.Sequences(), slow.Sequences());
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(slow.seen[i].sequence, i + 1);
  EXPECT_EQ(s->Backlog(), 0u);
}

TEST_F(StreamTest, UndeliveredNotificationsAreWork) {
  std::latch gate(1);
  GatedRecorder slow;
  slow.gate = &gate;
  auto s = stream->Subscribe(&slow, "slow", {}, 0ns);
  stream->Publish(Adds(3, 1));
  EXPECT_FALSE(clock.Settle(std::chrono::seconds(0)));
  gate.count_down();
  EXPECT_TRUE(clock.Settle());
  EXPECT_EQ(slow.seen.size(), 3u);
}

TEST_F(StreamTest, ALateHandlerGetsTheSnapshotThenTheRest) {
  stream->Publish(Adds(5, 1));
  stream->MarkSynced();
  GatedRecorder late;
  auto l = stream->Subscribe(&late, "late", {Pod("a", "x", 1), Pod("a", "y", 2)}, 0ns);
  stream->Publish(Adds(1, 9));
  late.Await(3);
  ASSERT_TRUE(clock.Settle());
  EXPECT_EQ(late.seen[0].object->Name(), "x");
  EXPECT_TRUE(late.seen[0].initial);
  EXPECT_EQ(late.seen[1].object->Name(), "y");
  EXPECT_EQ(late.seen[2].sequence, 6u);
  EXPECT_FALSE(late.seen[2].initial);
  EXPECT_TRUE(l->HasSynced());
}

TEST_F(StreamTest, HandlerIsSyncedWhenTheInitialListHasReturnedFromIt) {
  std::latch gate(1);
  GatedRecorder slow;
  slow.gate = &gate;
  auto s = stream->Subscribe(&slow, "slow", {}, 0ns);
  EXPECT_FALSE(s->HasSynced());
  stream->Publish(Adds(2, 1));
  stream->MarkSynced();
  EXPECT_FALSE(s->HasSynced());
  gate.count_down();
  ASSERT_TRUE(clock.Settle());
  EXPECT_TRUE(s->HasSynced());
}

TEST_F(StreamTest, PauseStopsAtASequenceAndLosesNothing) {
  GatedRecorder handler;
  auto s = stream->Subscribe(&handler, "h", {}, 0ns);
  stream->Publish(Adds(40, 1));
  ASSERT_TRUE(clock.Settle());
  EXPECT_EQ(s->PauseAt(1000), 40u) << "the newest queued one is earlier";
  stream->Publish(Adds(10, 50));
  ASSERT_TRUE(clock.Settle()) << "what a paused handler has to come is no work";
  EXPECT_EQ(handler.seen.size(), 40u);
  EXPECT_EQ(s->QueuedSequence(), 50u);
  s->Resume();
  ASSERT_TRUE(clock.Settle());
  EXPECT_EQ(handler.seen.size(), 50u);
  EXPECT_EQ(handler.seen.back().sequence, 50u);
}

TEST_F(StreamTest, PauseWaitsForTheRunningCall) {
  std::latch gate(1);
  GatedRecorder slow;
  slow.gate = &gate;
  auto s = stream->Subscribe(&slow, "h", {}, 0ns);
  stream->Publish(Adds(3, 1));
  uint64_t at = 99;
  std::thread pauser([&] { at = s->PauseAt(2).value_or(0); });
  gate.count_down();
  pauser.join();
  EXPECT_GE(at, 1u);
  EXPECT_LE(at, 3u);
  EXPECT_EQ(slow.Sequences().back(), at);
}

// Several entries are taken at once: a pause that comes in the middle of them must not be late.
TEST_F(StreamTest, PauseEndsWhatWasTakenAtOnceWhereItWasAskedTo) {
  SteppedRecorder handler;
  auto s = stream->Subscribe(&handler, "h", {Pod("a", "x", 1), Pod("a", "y", 2)}, 0ns);
  stream->Publish(Adds(12, 3));
  for (int i = 0; i < 5; ++i) handler.begun.acquire(), handler.steps.release();
  handler.begun.acquire();  // both of the snapshot and three more have returned, the fourth runs
  EXPECT_EQ(s->PauseAt(6, clock.Monotonic()), std::nullopt) << "asked for, not yet reached";
  handler.steps.release(100);
  EXPECT_EQ(s->PauseAt(6), 6u);
  EXPECT_EQ(handler.Sequences(), (std::vector<uint64_t>{0, 0, 1, 2, 3, 4, 5, 6}));
  s->Resume();
  ASSERT_TRUE(clock.Settle());
  EXPECT_EQ(handler.Sequences(),
            (std::vector<uint64_t>{0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST_F(StreamTest, PauseInTheMiddleOfTheSnapshotLosesNoneOfIt) {
  stream->Publish(Adds(4, 1));
  SteppedRecorder handler;
  auto s =
      stream->Subscribe(&handler, "h", {Pod("a", "x", 1), Pod("a", "y", 2), Pod("a", "z", 3)}, 0ns);
  handler.begun.acquire();
  // Before what the snapshot stands for.
  EXPECT_EQ(s->PauseAt(2, clock.Monotonic()), std::nullopt);
  handler.steps.release(100);
  ASSERT_TRUE(clock.Settle());
  EXPECT_EQ(handler.seen.size(), 1u);
  EXPECT_FALSE(s->HasSynced());
  s->Resume();
  ASSERT_TRUE(clock.Settle());
  ASSERT_EQ(handler.seen.size(), 3u);
  EXPECT_EQ(handler.seen[0].object->Name(), "x");
  EXPECT_EQ(handler.seen[1].object->Name(), "y");
  EXPECT_EQ(handler.seen[2].object->Name(), "z");
  EXPECT_TRUE(handler.seen[2].initial);
}

TEST_F(StreamTest, NothingIsDeliveredAfterTheSubscriptionsEnd) {
  SteppedRecorder handler;
  auto s = stream->Subscribe(&handler, "h", {}, 0ns);
  stream->Publish(Adds(10, 1));
  handler.begun.acquire();
  std::thread ender([&] { s.reset(); });
  stream->Close();
  handler.steps.release();
  ender.join();
  EXPECT_EQ(handler.seen.size(), 1u);
}

TEST_F(StreamTest, MembersOnlyEntriesReachThoseInTheRound) {
  GatedRecorder with, without;
  auto w = stream->Subscribe(&with, "w", {}, 10s);
  auto o = stream->Subscribe(&without, "o", {}, 0ns);
  auto same = [] {
    std::vector<Entry> e = Adds(1, 7);
    e[0].members_only = true;
    return e;
  };
  stream->Publish(same());  // before the first timer all are in the round (5.4.5)
  ASSERT_TRUE(clock.Settle());
  EXPECT_EQ(with.seen.size(), 1u);
  EXPECT_EQ(without.seen.size(), 1u);
  clock.Advance(10s);
  EXPECT_TRUE(stream->StartRound(clock.Monotonic()));
  stream->Publish(same());
  ASSERT_TRUE(clock.Settle());
  EXPECT_EQ(with.seen.size(), 2u);
  EXPECT_EQ(without.seen.size(), 1u);
  EXPECT_EQ(o->DeliveredSequence(), 2u) << "what is not for it counts as delivered";
  EXPECT_FALSE(stream->StartRound(clock.Monotonic())) << "nobody is due again at once";
  stream->Publish(same());
  ASSERT_TRUE(clock.Settle());
  EXPECT_EQ(with.seen.size(), 2u) << "not due in this round";
}

TEST_F(StreamTest, ALongBacklogIsFreedWithoutDeepRecursion) {
  std::latch gate(1);
  GatedRecorder slow;
  slow.gate = &gate;
  auto s = stream->Subscribe(&slow, "slow", {}, 0ns);
  const wire::ObjectPtr pod = Pod("a", "x", 1);
  for (int i = 0; i < 100; ++i) {
    std::vector<Entry> e(10000);
    for (Entry& x : e) x.notification.object = pod;
    stream->Publish(std::move(e));
  }
  stream->Close();
  gate.count_down();
  s.reset();
}

}  // namespace
}  // namespace kcm::host::cache
