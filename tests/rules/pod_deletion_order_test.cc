// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/pod_deletion_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "rules/parsed.h"

namespace kcm::rules {
namespace {

const WallTime kNow = *ParseTime("2024-05-02T00:00:00Z");

// A running, ready pod of 5 h age; each row overrides what it is about.
struct PodOf {
  std::string uid = "m";
  std::string node = "n1";
  std::string phase = "Running";
  bool ready = true;
  std::string cost = "";
  int ready_hours = 5;  // 0: no time
  int restarts = 0;
  int sidecar_restarts = 0;
  int created_hours = 5;  // 0: no time
};

nlohmann::json HoursAgo(int hours) {
  if (hours == 0) return nullptr;
  return FormatTime(kNow - std::chrono::hours(hours));
}

std::string Json(const PodOf& p) {
  nlohmann::json pod;
  pod["metadata"] = {{"uid", p.uid}, {"creationTimestamp", HoursAgo(p.created_hours)}};
  if (!p.cost.empty()) {
    pod["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"] = p.cost;
  }
  pod["spec"] = {{"initContainers", {{{"name", "s"}, {"restartPolicy", "Always"}}}}};
  if (!p.node.empty()) pod["spec"]["nodeName"] = p.node;
  pod["status"] = {
      {"phase", p.phase},
      {"conditions",
       {{{"type", "Ready"},
         {"status", p.ready ? "True" : "False"},
         {"lastTransitionTime", HoursAgo(p.ready_hours)}}}},
      {"containerStatuses", {{{"name", "c"}, {"restartCount", p.restarts}}}},
      {"initContainerStatuses", {{{"name", "s"}, {"restartCount", p.sidecar_restarts}}}}};
  return pod.dump();
}

// Whether `x` goes before `y`, given in the other order.
bool Before(const PodOf& x, const PodOf& y, std::vector<int64_t> ranks = {}) {
  const Parsed px(Json(x));
  const Parsed py(Json(y));
  const std::vector<Node> pods = {py, px};
  return PodDeletionOrder(pods, ranks, kNow)[0] == 1;
}

TEST(PodDeletionOrder, EachStepDecides) {
  const struct {
    const char* name;
    PodOf first;
    PodOf second;
  } rows[] = {
      {"unassigned first", {.node = ""}, {.node = "n1", .phase = "Pending", .ready = false}},
      {"pending before unknown", {.phase = "Pending"}, {.phase = "Unknown", .ready = false}},
      {"unknown before running", {.phase = "Unknown"}, {.phase = "Running", .ready = false}},
      {"not ready before ready", {.ready = false}, {.ready = true, .cost = "-5"}},
      {"lower cost first", {.cost = "-1"}, {.cost = "", .ready_hours = 1}},
      {"illegal cost is 0", {.cost = "5", .ready_hours = 9}, {.cost = "100"}},
      {"younger readiness first", {.ready_hours = 2}, {.ready_hours = 5}},
      {"no ready time first", {.ready_hours = 0}, {.ready_hours = 1}},
      {"5 h and 8 h are one bucket: uid decides",
       {.uid = "a", .ready_hours = 8},
       {.uid = "b", .ready_hours = 5}},
      {"the uid ends the comparison",
       {.uid = "a", .ready_hours = 8},
       {.uid = "b", .ready_hours = 5, .restarts = 9}},
      {"more restarts first", {.restarts = 3}, {.restarts = 2, .sidecar_restarts = 9}},
      {"more sidecar restarts first",
       {.sidecar_restarts = 1},
       {.sidecar_restarts = 0, .created_hours = 1}},
      {"younger creation first", {.created_hours = 2}, {.created_hours = 5}},
      {"no creation time first", {.created_hours = 0}, {.created_hours = 2}},
      {"creation in one bucket: uid decides",
       {.uid = "a", .created_hours = 8},
       {.uid = "b", .created_hours = 6}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_TRUE(Before(row.first, row.second));
    EXPECT_FALSE(Before(row.second, row.first));
  }
}

TEST(PodDeletionOrder, HigherRankFirst) {
  EXPECT_TRUE(Before({.ready_hours = 24}, {.ready_hours = 1}, {1, 2}));
  EXPECT_FALSE(Before({.ready_hours = 24}, {.ready_hours = 1}, {2, 1}));
  EXPECT_TRUE(Before({.cost = "1"}, {.cost = "2"}, {9, 1})) << "cost comes before rank";
}

TEST(PodDeletionOrder, EqualPodsKeepTheirOrder) { EXPECT_FALSE(Before({}, {})); }

TEST(PodDeletionOrder, FutureReadinessIsYoungest) {
  const PodOf future{.uid = "z", .ready_hours = -1};
  EXPECT_TRUE(Before(future, {.uid = "a", .ready_hours = 1}));
}

TEST(PodDeletionOrder, TimesFarOutsideTheClockAreOld) {
  const Parsed ancient(R"({"metadata":{"creationTimestamp":"1700-01-01T00:00:00Z"}})");
  const Parsed recent(R"({"metadata":{"creationTimestamp":"2024-05-01T00:00:00Z"}})");
  const std::vector<Node> pods = {ancient, recent};
  EXPECT_EQ(PodDeletionOrder(pods, {}, kNow), (std::vector<size_t>{1, 0}));
}

TEST(PodDeletionOrder, IsAPermutationWhereTheRulesContradictThemselves) {
  // a before b by restarts (same time), b before c and c before a by uid (one bucket): a circle.
  std::vector<std::unique_ptr<Parsed>> parsed;
  std::vector<Node> pods;
  for (int i = 0; i < 100; ++i) {
    const PodOf kinds[] = {{.uid = "z", .ready_hours = 5, .restarts = 1},
                           {.uid = "a", .ready_hours = 5},
                           {.uid = "m", .ready_hours = 6}};
    parsed.push_back(std::make_unique<Parsed>(Json(kinds[i % 3])));
    pods.push_back(*parsed.back());
  }
  std::vector<size_t> order = PodDeletionOrder(pods, {}, kNow);
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
  EXPECT_EQ(order.size(), pods.size());
}

TEST(PodDeletionCost, ReadsLegalInt32Only) {
  const struct {
    const char* text;
    int32_t want;
  } rows[] = {{"", 0},
              {"0", 0},
              {"5", 5},
              {"-5", -5},
              {"+5", 0},
              {"007", 0},
              {"00", 0},
              {"x", 0},
              {"5x", 0},
              {"2147483647", INT32_MAX},
              {"2147483648", 0},
              {"-2147483648", INT32_MIN},
              {"-2147483649", 0},
              {" 5", 0},
              {"-", 0},
              {"1.5", 0}};
  for (const auto& row : rows) {
    const Parsed pod(Json({.cost = row.text}));
    EXPECT_EQ(PodDeletionCost(pod), row.want) << row.text;
  }
}

TEST(DeletionRanks, CountsActiveRelatedPodsOfTheNode) {
  const Parsed on1(Json({.node = "n1"}));
  const Parsed also_on1(Json({.node = "n1"}));
  const Parsed done_on1(Json({.node = "n1", .phase = "Succeeded"}));
  const Parsed on2(Json({.node = "n2"}));
  const std::vector<Node> pods = {on1, on2};
  const std::vector<Node> related = {on1, also_on1, done_on1};
  EXPECT_EQ(DeletionRanks(pods, related), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(DeletionRanks(pods, {}), (std::vector<int64_t>{0, 0}));
}

}  // namespace
}  // namespace kcm::rules
