// SPDX-License-Identifier: Apache-2.0
// Who has to go.
#include "devcluster/nodes/preemption.h"

#include <gtest/gtest.h>

namespace kcm::devcluster::nodes {
namespace {

Pod PodOf(const std::string& name, int64_t priority, int64_t milli_cpu) {
  Pod pod;
  pod.name = name;
  pod.priority = priority;
  pod.milli_cpu = milli_cpu;
  return pod;
}

std::vector<std::string> Names(const std::vector<const Pod*>& pods) {
  std::vector<std::string> out;
  for (const Pod* pod : pods) out.push_back(pod->name);
  return out;
}

FitsWithout NeedsCpu(int64_t milli_cpu) {
  return [milli_cpu](const Room& room, const std::vector<const Pod*>&) {
    return room.used_milli_cpu + milli_cpu <= room.node.milli_cpu;
  };
}

TEST(Preemption, EvictsNoMoreThanNeededAndTheLeastImportant) {
  const Pod high = PodOf("high", 50, 400), low = PodOf("low", 1, 400),
            lowest = PodOf("lowest", 0, 200);
  Room room;
  room.node.milli_cpu = 1000;
  for (const Pod* pod : {&high, &low, &lowest}) room.Take(*pod);
  EXPECT_EQ(Names(VictimsOn(room, {&high, &low, &lowest}, NeedsCpu(100))),
            (std::vector<std::string>{"lowest"}));
  EXPECT_EQ(Names(VictimsOn(room, {&high, &low, &lowest}, NeedsCpu(600))),
            (std::vector<std::string>{"low", "lowest"}));
  EXPECT_EQ(Names(VictimsOn(room, {&high, &low, &lowest}, NeedsCpu(1000))),
            (std::vector<std::string>{"high", "low", "lowest"}));
  EXPECT_TRUE(VictimsOn(room, {&high, &low, &lowest}, NeedsCpu(1001)).empty());
  EXPECT_TRUE(VictimsOn(room, {}, NeedsCpu(0)).empty()) << "nobody to evict is no help";
}

TEST(Preemption, TheNodeThatLosesLeastIsChosen) {
  const Pod p9 = PodOf("9", 9, 1), p5 = PodOf("5", 5, 1), q5 = PodOf("5b", 5, 1);
  const Eviction one_nine{"a", {&p9}}, one_five{"b", {&p5}}, two_fives{"c", {&p5, &q5}};
  EXPECT_TRUE(HurtsLess(two_fives, one_nine)) << "the highest priority counts first";
  EXPECT_TRUE(HurtsLess(one_five, two_fives));
  EXPECT_FALSE(HurtsLess(one_five, one_five));
}

}  // namespace
}  // namespace kcm::devcluster::nodes
