// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/write_barrier.h"

#include <gtest/gtest.h>

#include <map>

namespace kcm::rules {
namespace {

WriteBarrier::Seen Caches(std::map<std::string, std::string, std::less<>> versions) {
  return [versions = std::move(versions)](std::string_view resource) {
    const auto it = versions.find(resource);
    return it == versions.end() ? std::string() : it->second;
  };
}

TEST(WriteBarrier, HoldsUntilTheCacheHasSeenTheWrite) {
  WriteBarrier b;
  EXPECT_EQ(b.Stale("d/a", Caches({})), std::nullopt);
  b.Wrote("d/a", "u", "pods", "10");
  b.Wrote("d/a", "u", "pods", "9");
  b.Wrote("d/a", "u", "replicasets", "12");
  EXPECT_EQ(b.Stale("d/a", Caches({{"pods", "9"}, {"replicasets", "12"}})), "pods");
  EXPECT_EQ(b.Stale("d/a", Caches({{"pods", "10"}, {"replicasets", "11"}})), "replicasets");
  EXPECT_EQ(b.Stale("d/b", Caches({{"pods", "1"}})), std::nullopt);
  EXPECT_EQ(b.Stale("d/a", Caches({{"pods", "10"}, {"replicasets", "12"}})), std::nullopt);
  EXPECT_EQ(b.Stale("d/a", Caches({{"pods", "1"}})), std::nullopt)
      << "caught up once: the record is gone";
}

TEST(WriteBarrier, WhatCanNotBeComparedIsReady) {
  WriteBarrier b;
  b.Wrote("d/a", "u", "pods", "10");
  EXPECT_EQ(b.Stale("d/a", Caches({})), std::nullopt);
  b.Wrote("d/a", "u", "pods", "abc");
  EXPECT_EQ(b.Stale("d/a", Caches({{"pods", "1"}})), std::nullopt);
}

TEST(WriteBarrier, ForgetsByUid) {
  WriteBarrier b;
  b.Wrote("d/a", "u1", "pods", "10");
  b.Forget("d/a", "u2");
  EXPECT_EQ(b.Stale("d/a", Caches({{"pods", "1"}})), "pods");
  b.Forget("d/a", "u1");
  EXPECT_EQ(b.Stale("d/a", Caches({{"pods", "1"}})), std::nullopt);
  b.Wrote("d/a", "u1", "pods", "10");
  b.Forget("d/a", "");
  EXPECT_EQ(b.Stale("d/a", Caches({{"pods", "1"}})), std::nullopt);
}

TEST(WriteBarrier, AReCreatedOwnerStartsAnew) {
  WriteBarrier b;
  b.Wrote("d/a", "u1", "replicasets", "50");
  b.Wrote("d/a", "u2", "pods", "60");
  EXPECT_EQ(b.Stale("d/a", Caches({{"pods", "60"}, {"replicasets", "1"}})), std::nullopt);
}

TEST(WriteBarrier, AWriteDuringTheCheckStaysRemembered) {
  WriteBarrier b;
  b.Wrote("d/a", "u", "pods", "10");
  EXPECT_EQ(b.Stale("d/a",
                    [&](std::string_view) {
                      b.Wrote("d/a", "u", "pods", "11");
                      return std::string("10");
                    }),
            std::nullopt);
  EXPECT_EQ(b.Stale("d/a", Caches({{"pods", "10"}})), "pods");
}

}  // namespace
}  // namespace kcm::rules
