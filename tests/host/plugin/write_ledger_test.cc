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

struct FakeView : WriteLedger::Caches {
  std::map<std::string, uint64_t> seen;
  std::set<std::string> uids;
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

TEST(WriteLedger, UnknownCreateWaitsUntilTheCacheMoved) {
  WriteLedger ledger;
  FakeView view;
  view.seen["pods"] = 7;
  ledger.Unknown("a", kPods, 7);
  ledger.Seal();
  EXPECT_FALSE(ledger.Ready("a", view));
  view.seen["pods"] = 8;
  EXPECT_TRUE(ledger.Ready("a", view));
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
