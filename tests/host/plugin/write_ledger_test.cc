// SPDX-License-Identifier: Apache-2.0
// WriteLedger: keys wait for the writes of an older generation only.
#include "host/plugin/write_ledger.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace kcm::host::plugin {
namespace {

const client::Gvr kPods{"", "v1", "pods"};
const client::Gvr kSets{"apps", "v1", "replicasets"};

using namespace std::chrono_literals;

const WriteLedger::Place kPodsHere{kPods, "default"}, kPodsThere{kPods, "other"};

struct FakeView : WriteLedger::Caches {
  clock::MonoTime now{1h};
  std::map<std::string, uint64_t> seen;
  std::set<std::string> uids;
  clock::MonoTime Now() const override { return now; }
  uint64_t Seen(const client::Gvr& gvr) const override {
    const auto it = seen.find(gvr.resource);
    return it == seen.end() ? UINT64_MAX : it->second;
  }
  bool Holds(const client::Gvr&, std::string_view, std::string_view,
             std::string_view uid) const override {
    return uids.contains(std::string(uid));
  }
};

TEST(WriteLedger, RunningGenerationIsNotHeldUp) {
  WriteLedger ledger;
  FakeView view;
  view.seen["pods"] = 5;
  ledger.Wrote("a", kPods, 10);
  EXPECT_TRUE(ledger.Ready("a", view));
  ledger.Seal();
  EXPECT_FALSE(ledger.Ready("a", view));
  EXPECT_TRUE(ledger.Ready("b", view)) << "another key does not wait";
  // A write of the new generation for the key makes it wait no shorter and no longer than both.
  view.seen["pods"] = 10;
  EXPECT_TRUE(ledger.Ready("a", view));
  EXPECT_EQ(ledger.size(), 0u);
}

TEST(WriteLedger, HighestVersionOfEachResourceCounts) {
  WriteLedger ledger;
  FakeView view;
  view.seen = {{"pods", 20}, {"replicasets", 1}};
  ledger.Wrote("a", kPods, 10);
  ledger.Wrote("a", kPods, 21);
  ledger.Wrote("a", kPods, 15);
  ledger.Wrote("a", kSets, 2);
  ledger.Seal();
  EXPECT_FALSE(ledger.Ready("a", view));
  view.seen["pods"] = 21;
  EXPECT_FALSE(ledger.Ready("a", view)) << "the ReplicaSet is not seen yet";
  view.seen["replicasets"] = 2;
  EXPECT_TRUE(ledger.Ready("a", view));
}

TEST(WriteLedger, DeletedObjectsMustBeGone) {
  WriteLedger ledger;
  FakeView view;
  view.uids = {"u1"};
  ledger.Deleted("a", kPods, "default", "web-1", "u1");
  ledger.Seal();
  EXPECT_FALSE(ledger.Ready("a", view));
  view.uids.clear();
  EXPECT_TRUE(ledger.Ready("a", view));
}

// Design 9. Events of other objects move the cache, too: they say nothing about the create.
TEST(WriteLedger, UnknownCreateWaitsForWhatTheServerHolds) {
  WriteLedger ledger;
  FakeView view;
  view.seen["pods"] = 7;
  ledger.Unknown("a", kPodsHere, view.now);
  EXPECT_TRUE(ledger.Ready("a", view));
  EXPECT_TRUE(ledger.ToRead("a", view.now).empty());
  ledger.Seal();
  EXPECT_FALSE(ledger.Ready("a", view));
  view.seen["pods"] = 8;
  EXPECT_FALSE(ledger.Ready("a", view)) << "by another object's event";
  EXPECT_EQ(ledger.ToRead("a", view.now), std::vector{kPodsHere});
  EXPECT_TRUE(ledger.ToRead("a", view.now).empty()) << "it is being read";
  ledger.Read(kPodsHere, 9, view.now);
  EXPECT_FALSE(ledger.Ready("a", view));
  EXPECT_TRUE(ledger.ToRead("a", view.now).empty());
  view.seen["pods"] = 9;
  EXPECT_TRUE(ledger.Ready("a", view));
  EXPECT_EQ(ledger.size(), 0u);
}

TEST(WriteLedger, PlacesAreReadOnceForAllKeysOfAGeneration) {
  WriteLedger ledger;
  FakeView view;
  view.seen["pods"] = 7;
  for (const char* key : {"a", "b"}) ledger.Unknown(key, kPodsHere, view.now);
  ledger.Unknown("a", kPodsThere, view.now);
  ledger.Seal();
  EXPECT_EQ(ledger.ToRead("b", view.now), std::vector{kPodsHere});
  EXPECT_EQ(ledger.ToRead("a", view.now), std::vector{kPodsThere});
  ledger.Read(kPodsHere, 7, view.now);
  EXPECT_TRUE(ledger.Ready("b", view));
  EXPECT_FALSE(ledger.Ready("a", view)) << "the other place";
  // What was read before the next build says nothing about creates of this one.
  ledger.Unknown("b", kPodsHere, view.now);
  ledger.Seal();
  EXPECT_FALSE(ledger.Ready("b", view));
  EXPECT_EQ(ledger.ToRead("b", view.now), std::vector{kPodsHere});
}

TEST(WriteLedger, ReadThatFailsIsDueAgainLaterEachTime) {
  WriteLedger ledger;
  FakeView view;
  view.seen["pods"] = 7;
  ledger.Unknown("a", kPodsHere, view.now);
  ledger.Seal();
  for (const clock::Duration pause : {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms, 5000ms}) {
    EXPECT_EQ(ledger.ToRead("a", view.now), std::vector{kPodsHere});
    ledger.Read(kPodsHere, std::nullopt, view.now);
    EXPECT_FALSE(ledger.Ready("a", view));
    EXPECT_TRUE(ledger.ToRead("a", view.now + (pause - 1ns)).empty()) << pause.count();
    view.now = view.now + pause;
  }
}

TEST(WriteLedger, NoKeyIsHeldForLongerThanAMinute) {
  WriteLedger ledger;
  FakeView view;
  view.seen = {{"pods", 7}, {"replicasets", 7}};
  view.uids = {"u1"};
  ledger.Unknown("a", kPodsHere, view.now);
  ledger.Wrote("a", kSets, 10);
  ledger.Deleted("a", kPods, "default", "web-1", "u1");
  view.now = view.now + 1h;
  ledger.Seal();
  view.now = view.now + 1h;
  std::string given_up;
  EXPECT_FALSE(ledger.Ready("a", view, &given_up)) << "it counts from the first look";
  view.now = view.now + 59s;
  EXPECT_FALSE(ledger.Ready("a", view, &given_up));
  EXPECT_EQ(given_up, "");
  view.now = view.now + 1s;
  EXPECT_TRUE(ledger.Ready("a", view, &given_up));
  EXPECT_EQ(given_up,
            "apps/v1/replicasets of version 10, v1/pods web-1: deleted, v1/pods created without an "
            "answer");
  EXPECT_EQ(ledger.size(), 0u);
}

TEST(WriteLedger, TrimForgetsCreatesWithoutAnAnswerAfterAMinute) {
  WriteLedger ledger;
  FakeView view;
  view.seen["pods"] = 7;
  ledger.Unknown("a", kPodsHere, view.now);
  ledger.Unknown("b", {kSets, "default"}, view.now);  // that nobody watches any more
  view.now = view.now + 30s;
  ledger.Unknown("a", kPodsHere, view.now);  // once more
  view.now = view.now + 59s;
  ledger.Trim(view);
  EXPECT_EQ(ledger.size(), 1u);
  view.now = view.now + 1s;
  ledger.Trim(view);
  EXPECT_EQ(ledger.size(), 0u);
}

TEST(WriteLedger, ResourcesNobodyWatchesDoNotBlock) {
  WriteLedger ledger;
  const FakeView view;
  ledger.Wrote("a", kPods, 10);
  ledger.Seal();
  EXPECT_TRUE(ledger.Ready("a", view));
}

TEST(WriteLedger, TrimBoundsMemory) {
  WriteLedger ledger;
  FakeView view;
  view.seen["pods"] = 500;
  for (uint64_t i = 1; i <= 1000; ++i) ledger.Wrote("k" + std::to_string(i), kPods, i);
  ledger.Seal();
  ledger.Wrote("fresh", kPods, 400);
  ledger.Trim(view);
  EXPECT_EQ(ledger.size(), 500u);
  EXPECT_FALSE(ledger.Ready("k501", view));
  EXPECT_TRUE(ledger.Ready("k500", view));
  view.seen["pods"] = 1000;
  ledger.Trim(view);
  EXPECT_EQ(ledger.size(), 0u);
  EXPECT_TRUE(ledger.Ready("k501", view));
}

TEST(WriteLedger, EmptyKeysAndVersionsRecordNothing) {
  WriteLedger ledger;
  ledger.Wrote("", kPods, 10);
  ledger.Wrote("a", kPods, 0);
  ledger.Deleted("", kPods, "", "x", "u");
  EXPECT_EQ(ledger.size(), 0u);
}

}  // namespace
}  // namespace kcm::host::plugin
