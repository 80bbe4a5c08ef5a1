// SPDX-License-Identifier: Apache-2.0
// Counting what is left and choosing when to look again.
#include "plugins/namespace/namespace/leftovers.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"

namespace kcm::ns::namespaces {
namespace {

using nlohmann::json;
using std::chrono::seconds;

rules::WallTime AtSecond(int64_t s) { return rules::WallTime(seconds(s)); }

TEST(NamespaceLeftovers, CountsItemsAndEachFinalizer) {
  const json list = json::parse(R"({"items":[
    {"metadata":{"name":"a","finalizers":["b.io/x","a.io/y"]}},
    {"metadata":{"name":"b","finalizers":["b.io/x"]}},
    {"metadata":{"name":"c"}}]})");
  const Leftovers left = CountLeftovers(rules::JsonNode(list));
  EXPECT_EQ(left.count, 3);
  EXPECT_EQ(left.finalizers, (std::map<std::string, int64_t>{{"a.io/y", 1}, {"b.io/x", 2}}));
  for (const char* empty : {R"({})", R"({"items":null})", R"({"items":[]})"}) {
    const json none = json::parse(empty);
    EXPECT_EQ(CountLeftovers(rules::JsonNode(none)).count, 0) << empty;
  }
}

TEST(NamespaceLeftovers, LongestGracePeriodOfLivingPods) {
  const struct {
    const char* name;
    const char* items;
    int64_t want;
  } rows[] = {
      {"none", "[]", 0},
      {"longest", R"([{"spec":{"terminationGracePeriodSeconds":30}},
                      {"spec":{"terminationGracePeriodSeconds":60},"status":{"phase":"Running"}}])",
       60},
      {"ended ones do not count",
       R"([{"spec":{"terminationGracePeriodSeconds":90},"status":{"phase":"Succeeded"}},
           {"spec":{"terminationGracePeriodSeconds":80},"status":{"phase":"Failed"}},
           {"spec":{"terminationGracePeriodSeconds":1},"status":{"phase":"Pending"}}])",
       1},
      {"missing is skipped", R"([{"spec":{}},{"spec":{"terminationGracePeriodSeconds":null}}])", 0},
      {"negative", R"([{"spec":{"terminationGracePeriodSeconds":-5}}])", 0},
      {"absurd stays representable",
       R"([{"spec":{"terminationGracePeriodSeconds":9223372036854775807}}])",
       100LL * 365 * 24 * 3600},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const json list{{"items", json::parse(row.items)}};
    EXPECT_EQ(LongestGracePeriod(rules::JsonNode(list)), row.want);
  }
}

TEST(NamespaceLeftovers, EstimateEndsWithTheNamespacesOwnAge) {
  EXPECT_EQ(StillToWait(30, AtSecond(100), AtSecond(129)), 30);
  EXPECT_EQ(StillToWait(30, AtSecond(100), AtSecond(130)), 0);
  EXPECT_EQ(StillToWait(0, AtSecond(100), AtSecond(100)), 0);
  EXPECT_EQ(StillToWait(30, AtSecond(100), AtSecond(50)), 30)
      << "a clock that is behind the server's";
  EXPECT_EQ(StillToWait(30, rules::WallTime::min(), AtSecond(100)), 0) << "no deletionTimestamp";
}

TEST(NamespaceLeftovers, Wait) {
  const Leftovers none, plain{2, {}}, held{2, {{"a.io/x", 1}}};
  const struct {
    const char* name;
    Leftovers left;
    int64_t estimate, want;
    bool unexpected;
  } rows[] = {
      {"gone", none, 30, 0, false},
      {"grace", plain, 30, 30, false},
      {"grace beats", held, 30, 30, false},
      {"finalizer", held, 0, 15, false},
      {"nothing explains it", plain, 0, 0, true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Wait wait = WaitFor(row.left, row.estimate);
    EXPECT_EQ(wait.estimate, row.want);
    EXPECT_EQ(wait.unexpected, row.unexpected);
  }
}

TEST(NamespaceLeftovers, RequeueDelay) {
  EXPECT_EQ(RequeueDelay(30), seconds(16));
  EXPECT_EQ(RequeueDelay(1), seconds(1));
  EXPECT_EQ(RequeueDelay(15), seconds(8));
}

}  // namespace
}  // namespace kcm::ns::namespaces
