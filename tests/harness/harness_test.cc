// SPDX-License-Identifier: Apache-2.0
// The harness itself: a host with plugins comes up on devcluster and goes down.
#include <gtest/gtest.h>

#include "harness/cluster.h"

namespace kcm::harness {
namespace {

TEST(Harness, HostStartsSettlesAndStops) {
  Cluster cluster({.plugins = {"namespace"}, .nodes = 1});
  cluster.Settle();
  EXPECT_TRUE(cluster.host().ControllersStarted());
  cluster.Advance(std::chrono::minutes(1));
  EXPECT_EQ(cluster.StopHost(), 0);
}

}  // namespace
}  // namespace kcm::harness
