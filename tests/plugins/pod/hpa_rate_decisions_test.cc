// SPDX-License-Identifier: Apache-2.0
// From proposed to wanted replicas: windows, rates, bounds.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "plugins/pod/hpa/behavior.h"
#include "plugins/pod/hpa/normalization.h"

namespace kcm::pod::hpa {

void PrintTo(const Wording& w, std::ostream* out) { *out << w.reason; }

namespace {

using nlohmann::json;
using rules::JsonNode;
using namespace std::chrono_literals;  // NOLINT: test vocabulary

const rules::WallTime kStart = *rules::ParseTime("2024-05-01T12:00:00Z");

TEST(HpaNormalize, BoundsAndTheLargestStep) {
  const struct {
    const char* name;
    int64_t proposal, current;
    Bounds bounds;
    int64_t want;
    Wording limit;
    bool limited;
  } rows[] = {
      {"within", 5, 3, {1, 10}, 5, kDesiredWithinRange, false},
      {"HPA-06: twice as many", 20, 3, {1, 30}, 6, kScaleUpLimit, true},
      {"HPA-06: four at any rate", 20, 1, {1, 30}, 4, kScaleUpLimit, true},
      {"the maximum comes first", 20, 8, {1, 10}, 10, kTooManyReplicas, true},
      {"both at once: the maximum", 20, 5, {1, 10}, 10, kTooManyReplicas, true},
      {"the minimum", 1, 3, {2, 10}, 2, kTooFewReplicas, true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    History history;
    const Normalized got = Normalize(history, row.proposal, row.current, row.bounds, 0s, kStart);
    EXPECT_EQ(got.replicas, row.want);
    EXPECT_EQ(got.limit, row.limit);
    EXPECT_EQ(got.limited, row.limited);
    EXPECT_EQ(got.able, kReadyForNewScale);
  }
}

TEST(HpaNormalize, KeepsTheHighestRecommendationOfTheWindow) {
  History history;
  history.Begin(5, kStart);
  const auto at = [&](std::chrono::seconds later, int64_t proposal) {
    return Normalize(history, proposal, 5, {1, 10}, 300s, kStart + later);
  };
  EXPECT_EQ(at(15s, 2).replicas, 5);
  EXPECT_EQ(at(300s, 2).able, kScaleDownStabilized) << "exactly as old still counts";
  EXPECT_EQ(history.recommendations.size(), 3u);
  EXPECT_EQ(at(301s, 2).replicas, 2);
  EXPECT_EQ(history.recommendations.size(), 3u) << "the old entry was overwritten";
  EXPECT_EQ(at(302s, 2).able, kReadyForNewScale);
}

TEST(HpaHistory, BeginsOnce) {
  History history;
  history.Begin(5, kStart);
  history.Begin(7, kStart + 1s);
  EXPECT_EQ(history.recommendations, (std::vector<Recommendation>{{5, kStart}}));
}

ScalingRules OnePolicy(bool percent, int64_t value, std::chrono::seconds period,
                       ScalingRules::Select select = ScalingRules::Select::kMax) {
  ScalingRules out;
  out.select = select;
  out.policies = {{.percent = percent, .value = value, .period = period}};
  return out;
}

TEST(HpaNormalizeWithBehavior, RatesOfPolicies) {
  using Select = ScalingRules::Select;
  const Behavior pods{.up = OnePolicy(false, 2, 60s), .down = OnePolicy(false, 3, 60s)};
  const Behavior percents{.up = OnePolicy(true, 15, 60s), .down = OnePolicy(true, 15, 60s)};
  const Behavior off{.up = OnePolicy(true, 15, 60s, Select::kDisabled),
                     .down = OnePolicy(true, 15, 60s, Select::kDisabled)};
  Behavior several = percents;
  for (ScalingRules* direction : {&several.up, &several.down})
    direction->policies.push_back({.percent = false, .value = 4, .period = 60s});
  Behavior fewest = several;
  fewest.up.select = fewest.down.select = Select::kMin;
  const struct {
    const char* name;
    Behavior behavior;
    int64_t proposal, current, want;
    Wording limit;
  } rows[] = {
      {"within", pods, 12, 10, 12, kDesiredWithinRange},
      {"pods up", pods, 20, 10, 12, kScaleUpLimit},
      {"pods down", pods, 2, 10, 7, kScaleDownLimit},
      {"percent up is rounded up", percents, 20, 11, 13, kScaleUpLimit},
      {"percent down is cut off", percents, 2, 11, 9, kScaleDownLimit},
      {"off: up", off, 20, 10, 10, kScaleUpLimit},
      {"off: down", off, 2, 10, 10, kScaleDownLimit},
      {"the larger change up", several, 30, 10, 14, kScaleUpLimit},
      {"the larger change down", several, 2, 10, 6, kScaleDownLimit},
      {"the smaller change up", fewest, 30, 10, 12, kScaleUpLimit},
      {"the smaller change down", fewest, 2, 10, 8, kScaleDownLimit},
      {"the maximum", pods, 60, 49, 50, kTooManyReplicas},
      {"the minimum", pods, 0, 3, 1, kTooFewReplicas},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    History history;
    history.Begin(row.current, kStart - 1h);
    const Normalized got =
        NormalizeWithBehavior(history, row.proposal, row.current, {1, 50}, row.behavior, kStart);
    EXPECT_EQ(got.replicas, row.want);
    EXPECT_EQ(got.limit, row.limit);
    EXPECT_EQ(got.limited, row.limit != kDesiredWithinRange);
  }
}

// HPA-14, HPA-16
TEST(HpaNormalizeWithBehavior, WhatWasDoneInThePeriodCounts) {
  const Behavior behavior{.up = OnePolicy(false, 2, 60s), .down = OnePolicy(true, 10, 60s)};
  History history;
  const auto replicas = [&](std::chrono::seconds later, int64_t proposal, int64_t current) {
    return NormalizeWithBehavior(history, proposal, current, {1, 200}, behavior, kStart + later)
        .replicas;
  };
  EXPECT_EQ(replicas(0s, 10, 2), 4);
  RecordScaling(history, 2, 4, behavior, kStart);
  EXPECT_EQ(replicas(59s, 10, 4), 4);
  EXPECT_EQ(replicas(60s, 10, 4), 6) << "exactly a period later it is forgotten";
  // What went down in the period may come up again.
  RecordScaling(history, 100, 90, behavior, kStart + 200s);
  EXPECT_EQ(replicas(210s, 50, 90), 90);
  EXPECT_EQ(replicas(210s, 150, 90), 102);
  RecordScaling(history, 4, 6, behavior, kStart + 400s);
  EXPECT_EQ(history.ups, (std::vector<ScaleEvent>{{2, kStart + 400s}})) << "the old one is gone";
}

TEST(HpaNormalizeWithBehavior, WindowsOfBothDirections) {
  Behavior behavior{.up = OnePolicy(false, 100, 15s), .down = OnePolicy(false, 100, 15s)};
  behavior.up.window = 60s;
  behavior.down.window = 120s;
  const auto after = [&](std::vector<Recommendation> seen, int64_t proposal, int64_t current) {
    History history;
    history.recommendations = std::move(seen);
    return NormalizeWithBehavior(history, proposal, current, {1, 50}, behavior, kStart);
  };
  const Normalized up = after({{6, kStart - 59s}, {2, kStart - 60s}}, 9, 4);
  EXPECT_EQ(up.replicas, 6) << "the lowest of the window; exactly as old does not count";
  EXPECT_EQ(up.able, kScaleUpStabilized);
  const Normalized down = after({{7, kStart - 119s}, {20, kStart - 120s}}, 2, 10);
  EXPECT_EQ(down.replicas, 7);
  EXPECT_EQ(down.able, kScaleDownStabilized);
  const Normalized kept = after({{2, kStart - 10s}, {20, kStart - 20s}}, 9, 4);
  EXPECT_EQ(kept.replicas, 4) << "between both nothing changes";
  EXPECT_EQ(kept.able, kScaleUpStabilized);
  EXPECT_EQ(after({}, 9, 4).able, kReadyForNewScale);
}

TEST(HpaBehaviorOf, AbsentFieldsAreAsTheServerFillsThemIn) {
  const json given{{"scaleUp",
                    {{"selectPolicy", "Min"},
                     {"stabilizationWindowSeconds", 30},
                     {"policies",
                      {{{"type", "Pods"}, {"value", 1}, {"periodSeconds", 60}},
                       {{"type", "Percent"}, {"value", 5}, {"periodSeconds", 90}}}}}}};
  const Behavior some = BehaviorOf(JsonNode(given), 5min);
  EXPECT_EQ(some.up.select, ScalingRules::Select::kMin);
  EXPECT_EQ(some.up.window, 30s);
  EXPECT_EQ(some.up.LongestPeriod(), 90s);
  EXPECT_FALSE(some.up.policies.at(0).percent);
  EXPECT_TRUE(some.up.policies.at(1).percent);
  EXPECT_EQ(some.down.window, 5min);
  const Behavior none = BehaviorOf(rules::Node(), 5min);
  ASSERT_EQ(none.up.policies.size(), 2u);
  EXPECT_EQ(none.up.policies[0].value, 4);
  EXPECT_EQ(none.up.policies[1].value, 100);
  EXPECT_EQ(none.up.window, 0s);
  ASSERT_EQ(none.down.policies.size(), 1u);
  EXPECT_TRUE(none.down.policies[0].percent);
  EXPECT_EQ(none.down.policies[0].period, 15s);
}

TEST(HpaTolerancesOf, OneDirectionEach) {
  const json behavior{{"scaleUp", {{"tolerance", "20m"}}}, {"scaleDown", {{"tolerance", "0.05"}}}};
  const Tolerances given = TolerancesOf(JsonNode(behavior), 0.1, true);
  EXPECT_EQ(given.up, 0.02);
  EXPECT_EQ(given.down, 0.05);
  const Tolerances off = TolerancesOf(JsonNode(behavior), 0.1, false);
  EXPECT_EQ(off.up, 0.1);
  EXPECT_EQ(off.down, 0.1);
  EXPECT_EQ(TolerancesOf(rules::Node(), 0.3, true).up, 0.3);
}

}  // namespace
}  // namespace kcm::pod::hpa
