// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/expectations.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace kcm::rules {
namespace {

using namespace std::chrono_literals;

TEST(Expectations, NothingKnownIsSatisfied) {
  Expectations e;
  EXPECT_TRUE(e.Satisfied("d/a", 0s));
  e.CreationObserved("d/a");
  e.DeletionObserved("d/a", "d/p");
  EXPECT_TRUE(e.Satisfied("d/a", 0s)) << "observing creates no record";
  EXPECT_EQ(e.Pending("d/a").creations, 0);
}

TEST(Expectations, CreationsCountDown) {
  Expectations e;
  e.Expect("d/a", {.creations = 2}, 0s);
  EXPECT_FALSE(e.Satisfied("d/a", 1s));
  e.CreationObserved("d/a");
  EXPECT_FALSE(e.Satisfied("d/a", 1s));
  e.CreationObserved("d/a");
  EXPECT_TRUE(e.Satisfied("d/a", 1s));
  e.CreationObserved("d/a");
  EXPECT_EQ(e.Pending("d/a").creations, -1) << "counts may go below zero";
  EXPECT_TRUE(e.Satisfied("d/a", 1s));
}

TEST(Expectations, BothSidesMustBeSeen) {
  Expectations e;
  e.Expect("d/a", {.creations = 1, .deletions = 2}, 0s);
  e.CreationObserved("d/a");
  EXPECT_FALSE(e.Satisfied("d/a", 0s));
  e.DeletionObserved("d/a", 2);
  EXPECT_TRUE(e.Satisfied("d/a", 0s));
}

TEST(Expectations, ExpireAfterFiveMinutes) {
  Expectations e;
  e.Expect("d/a", {.creations = 1}, 10s);
  EXPECT_FALSE(e.Satisfied("d/a", 10s + 5min)) << "at five minutes it still holds";
  EXPECT_TRUE(e.Satisfied("d/a", 10s + 5min + 1ns));
}

TEST(Expectations, EachExpectedPodCountsOnce) {
  Expectations e;
  e.ExpectDeletionsOf("d/a", {"d/p", "d/q", "d/q"}, 0s);
  EXPECT_EQ(e.Pending("d/a").deletions, 2);
  e.DeletionObserved("d/a", "d/p");
  e.DeletionObserved("d/a", "d/p");
  e.DeletionObserved("d/a", "d/other");
  EXPECT_EQ(e.Pending("d/a").deletions, 1);
  e.DeletionObserved("d/a", "d/q");
  EXPECT_TRUE(e.Satisfied("d/a", 0s));
}

TEST(Expectations, ANewRecordReplacesTheOld) {
  Expectations e;
  e.ExpectDeletionsOf("d/a", {"d/p"}, 0s);
  e.Expect("d/a", {.creations = 1}, 4min);
  e.DeletionObserved("d/a", "d/p");
  EXPECT_EQ(e.Pending("d/a").deletions, 0);
  EXPECT_FALSE(e.Satisfied("d/a", 8min)) << "the age is that of the new record";
}

TEST(Expectations, ForgettingSatisfies) {
  Expectations e;
  e.Expect("d/a", {.creations = 1}, 0s);
  e.Expect("d/b", {.creations = 1}, 0s);
  e.Forget("d/a");
  e.Forget("d/unknown");
  EXPECT_TRUE(e.Satisfied("d/a", 0s));
  EXPECT_FALSE(e.Satisfied("d/b", 0s));
}

TEST(Expectations, CountsFromManyThreads) {
  Expectations e;
  e.Expect("d/a", {.creations = 400}, 0s);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) e.CreationObserved("d/a");
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(e.Pending("d/a").creations, 0);
}

}  // namespace
}  // namespace kcm::rules
