// SPDX-License-Identifier: Apache-2.0
// Sets of completion indexes: text, parsing and arithmetic (spec/pod-batch.md 1.6).
#include "kcm/rules/index_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kcm::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(IndexSet, ReadsAndWritesTheText) {
  const struct {
    const char* name;
    const char* text;
    int64_t bound;
    const char* want;
    int64_t size;
  } rows[] = {
      {"nothing", "", 10, "", 0},
      {"one", "3", 10, "3", 1},
      {"a run of two is two numbers", "3,4", 10, "3,4", 2},
      {"also when written as an interval", "3-4", 10, "3,4", 2},
      {"a run of three is an interval", "3,4,5", 10, "3-5", 3},
      {"mixed", "1,3-5,7,8", 10, "1,3-5,7,8", 6},
      {"adjacent intervals become one", "1-2,3-4", 10, "1-4", 4},
      {"an end beyond the bound is cut", "2-9", 4, "2,3", 2},
      {"a start at the bound ends the text", "1,4,2", 4, "1", 1},
      {"no numbers are skipped", "a,1,,b-2,3-x,5", 10, "1,5", 2},
      {"a minus is no index", "-1,2", 10, "2", 1},
      {"backwards", "5-3,7", 10, "7", 1},
      {"beyond int64", "1,99999999999999999999,3", 10, "1,3", 2},
      {"overlapping and out of order", "5-7,1,6-8,0", 10, "0,1,5-8", 6},
      {"bound 0", "0-5", 0, "", 0},
      {"large", "0-2147483646", 2147483647, "0-2147483646", 2147483647},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const IndexSet set = IndexSet::Parse(row.text, row.bound);
    EXPECT_EQ(set.Text(), row.want);
    EXPECT_EQ(set.size(), row.size);
    EXPECT_EQ(set.empty(), row.size == 0);
    EXPECT_EQ(IndexSet::Parse(set.Text(), row.bound), set);
  }
}

TEST(IndexSet, AddsInAnyOrder) {
  IndexSet set;
  for (const int64_t i : {8, 4, 1, 3, 7, 5, 4, -1}) set.Add(i);
  EXPECT_EQ(set.Text(), "1,3-5,7,8");
  set.Add(6);
  EXPECT_EQ(set.Text(), "1,3-8");
  set.Add(2);
  EXPECT_EQ(set.Text(), "1-8");
  set.Add(0);
  EXPECT_EQ(set.Text(), "0-8");
  IndexSet other = IndexSet::Parse("9,12-14", 20);
  set.Add(other);
  EXPECT_EQ(set.Text(), "0-9,12-14");
}

TEST(IndexSet, KnowsItsMembers) {
  const IndexSet set = IndexSet::Parse("1,3-5,9", 10);
  std::vector<int64_t> members;
  for (int64_t i = -1; i < 12; ++i)
    if (set.Has(i)) members.push_back(i);
  EXPECT_THAT(members, ElementsAre(1, 3, 4, 5, 9));
  EXPECT_FALSE(IndexSet().Has(0));
}

TEST(IndexSet, CountsWhatTwoHaveInCommon) {
  const IndexSet set = IndexSet::Parse("1,3-5,9", 10);
  const struct {
    const char* other;
    int64_t want;
  } rows[] = {{"", 0}, {"0,2,6-8", 0}, {"1-3", 2}, {"0-9", 5}, {"4,9", 2}, {"5-9", 2}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.other);
    EXPECT_EQ(set.CountCommon(IndexSet::Parse(row.other, 10)), row.want);
    EXPECT_EQ(IndexSet::Parse(row.other, 10).CountCommon(set), row.want);
  }
}

TEST(IndexSet, ListsTheLowestThatAreMissing) {
  const IndexSet set = IndexSet::Parse("1,3-5,9", 10);
  EXPECT_THAT(set.Missing(3, 10), ElementsAre(0, 2, 6));
  EXPECT_THAT(set.Missing(100, 12), ElementsAre(0, 2, 6, 7, 8, 10, 11));
  EXPECT_THAT(set.Missing(100, 3), ElementsAre(0, 2)) << "indexes beyond the bound do not count";
  EXPECT_THAT(set.Missing(0, 10), IsEmpty());
  EXPECT_THAT(IndexSet::Parse("0-9", 10).Missing(1, 10), IsEmpty());
  EXPECT_THAT(IndexSet().Missing(2, 10), ElementsAre(0, 1));
}

}  // namespace
}  // namespace kcm::rules
