// SPDX-License-Identifier: Apache-2.0
// Statuses, selectors, histories and versions of horizontal-pod-autoscaler-controller.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "plugins/pod/hpa/histories.h"
#include "plugins/pod/hpa/metrics_client.h"
#include "plugins/pod/hpa/scale_to_zero.h"
#include "plugins/pod/hpa/selectors.h"
#include "plugins/pod/hpa/status.h"

namespace kcm::pod::hpa {
namespace {

using nlohmann::json;
using rules::JsonNode;
using rules::Node;
using namespace std::chrono_literals;  // NOLINT: test vocabulary

const rules::WallTime kTime = *rules::ParseTime("2024-05-01T12:00:00Z");

TEST(HpaSetCondition, ChangesItsTimeWithItsStatusOnly) {
  json status = json::object();
  SetCondition(status, "A", true, "Ra", "ma", kTime);
  SetCondition(status, "B", false, "Rb", "mb", kTime);
  SetCondition(status, "A", true, "R2", "m2", kTime + 1s);
  ASSERT_EQ(status["conditions"].size(), 2u);
  EXPECT_EQ(status["conditions"][0], (json{{"type", "A"},
                                           {"status", "True"},
                                           {"reason", "R2"},
                                           {"message", "m2"},
                                           {"lastTransitionTime", "2024-05-01T12:00:00Z"}}));
  SetCondition(status, "A", false, "R3", "m3", kTime + 2s);
  EXPECT_EQ(status["conditions"][0]["lastTransitionTime"], "2024-05-01T12:00:02Z");
  EXPECT_TRUE(HasTrueCondition({{"conditions", {{{"type", "A"}, {"status", "True"}}}}}, "A"));
  EXPECT_FALSE(HasTrueCondition(status, "A"));
  RemoveCondition(status, "A");
  ASSERT_EQ(status["conditions"].size(), 1u);
  EXPECT_EQ(status["conditions"][0]["type"], "B");
  EXPECT_FALSE(HasTrueCondition(json::object(), "A"));
}

TEST(HpaSetCounts, ZeroCurrentReplicasAndTheGenerationAreLeftOut) {
  json status{{"observedGeneration", 3}, {"currentReplicas", 5}, {"conditions", json::array()}};
  SetCounts(status, 0, 0, nullptr);
  EXPECT_EQ(
      status,
      (json{{"conditions", json::array()}, {"desiredReplicas", 0}, {"currentMetrics", nullptr}}));
  SetCounts(status, 2, 3, json::array({FailedMetricStatus()}));
  EXPECT_EQ(status["currentReplicas"], 2);
  EXPECT_EQ(status["currentMetrics"], (json::array({{{"type", ""}}})));
}

json OneMetric(const char* average) {
  return {{"desiredReplicas", 1},
          {"currentMetrics",
           {{{"type", "Resource"},
             {"resource", {{"name", "memory"}, {"current", {{"averageValue", average}}}}}}}}};
}

TEST(HpaSameStatus, MeansTheSame) {
  const struct {
    const char* name;
    json before, after;
    bool want;
  } rows[] = {
      {"nothing yet", json::object(), {{"desiredReplicas", 0}, {"currentMetrics", nullptr}}, true},
      {"no status", nullptr, {{"desiredReplicas", 0}}, true},
      {"a zero", {{"desiredReplicas", 1}}, {{"desiredReplicas", 1}, {"currentReplicas", 0}}, true},
      {"a count", {{"desiredReplicas", 1}}, {{"desiredReplicas", 2}}, false},
      {"another unit", OneMetric("104857600"), OneMetric("100Mi"), true},
      {"another value", OneMetric("104857601"), OneMetric("100Mi"), false},
      {"one more metric", {{"desiredReplicas", 1}}, OneMetric("1"), false},
      {"a failed metric",
       {{"currentMetrics", json::array({json::object()})}},
       {{"desiredReplicas", 0}, {"currentMetrics", json::array({FailedMetricStatus()})}},
       true},
      {"empty conditions", {{"conditions", json::array()}}, json::object(), true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(SameStatus(row.before, row.after), row.want);
  }
}

TEST(HpaMetricStatus, OfEachType) {
  const Usage usage{.ratio = 1, .average = 157286400000, .utilization = 55};
  const json memory{{"type", "Resource"}, {"resource", {{"name", "memory"}}}};
  EXPECT_EQ(ResourceMetricStatus(JsonNode(memory), usage, false),
            (json{{"type", "Resource"},
                  {"resource", {{"name", "memory"}, {"current", {{"averageValue", "150Mi"}}}}}}));
  const json cpu{{"type", "ContainerResource"},
                 {"containerResource", {{"name", "cpu"}, {"container", "c"}}}};
  EXPECT_EQ(ResourceMetricStatus(JsonNode(cpu), {.average = 500, .utilization = 50}, true),
            (json{{"type", "ContainerResource"},
                  {"containerResource",
                   {{"name", "cpu"},
                    {"container", "c"},
                    {"current", {{"averageValue", "500m"}, {"averageUtilization", 50}}}}}}));
  const json object{{"type", "Object"},
                    {"object",
                     {{"metric", {{"name", "qps"}}},
                      {"describedObject", {{"kind", "Service"}, {"name", "s"}}},
                      {"target", {{"type", "Value"}}}}}};
  EXPECT_EQ(ValueMetricStatus(JsonNode(object), "value", 2000000),
            (json{{"type", "Object"},
                  {"object",
                   {{"metric", {{"name", "qps"}}},
                    {"describedObject", {{"kind", "Service"}, {"name", "s"}}},
                    {"current", {{"value", "2k"}}}}}}));
}

TEST(HpaSelectors, FindWhoSelectsAPod) {
  const auto parsed = [](const char* text) { return *rules::LabelSelector::Parse(text); };
  Selectors selectors;
  for (const char* name : {"eq", "set", "none"}) selectors.Add("ns", name);
  selectors.Set("ns", "eq", parsed("app=web"));
  selectors.Set("ns", "set", parsed("app in (web,db),!legacy"));
  selectors.Set("ns", "unknown", parsed("app=web"));
  selectors.Add("other", "eq");
  selectors.Set("other", "eq", parsed("app=web"));
  EXPECT_EQ(selectors.size(), 4u);
  const auto found = [&](const json& labels) {
    const json pod{{"metadata", {{"labels", labels}}}};
    const Node pods[] = {JsonNode(pod)};
    return selectors.Selecting("ns", pods);
  };
  using Names = Selectors::Names;
  EXPECT_EQ(found({{"app", "web"}}), (Names{"eq", "set"}));
  EXPECT_EQ(found({{"app", "web"}, {"legacy", ""}}), (Names{"eq"}));
  EXPECT_EQ(found({{"app", "db"}}), (Names{"set"}));
  EXPECT_EQ(found({{"x", "y"}}), Names());
  selectors.Set("ns", "eq", parsed("tier=fe"));
  EXPECT_EQ(found({{"app", "web"}}), (Names{"set"})) << "the old selector is forgotten";
  EXPECT_EQ(found({{"tier", "fe"}}), (Names{"eq"}));
  selectors.Add("ns", "eq");
  EXPECT_EQ(found({{"tier", "fe"}}), (Names{"eq"})) << "it was known";
  selectors.Remove("ns", "eq");
  selectors.Remove("ns", "set");
  selectors.Remove("ns", "set");
  EXPECT_EQ(found({{"tier", "fe"}, {"app", "web"}}), Names());
  EXPECT_EQ(selectors.size(), 2u);
}

TEST(HpaHistories, AreHandedOver) {
  Histories old;
  old.Of("ns/a").Begin(5, kTime);
  old.Of("ns/a").ups.push_back({2, kTime + 1s});
  old.Of("ns/b").downs.push_back({3, kTime + 2s});
  Histories next;
  next.Load(old.Save());
  EXPECT_EQ(next.Of("ns/a").recommendations, (std::vector<Recommendation>{{5, kTime}}));
  EXPECT_EQ(next.Of("ns/a").ups, (std::vector<ScaleEvent>{{2, kTime + 1s}}));
  EXPECT_EQ(next.Of("ns/b").downs, (std::vector<ScaleEvent>{{3, kTime + 2s}}));
  next.Drop("ns/a");
  EXPECT_TRUE(next.Of("ns/a").recommendations.empty());
  Histories spoiled;
  spoiled.Load("ns/a r five 6\n");  // of a build that wrote it in another way
  EXPECT_TRUE(spoiled.Of("ns/a").recommendations.empty());
}

TEST(HpaChooseVersion, TheServersChoiceIfItIsKnown) {
  const auto chosen = [](const char* preferred, const std::vector<const char*>& served) {
    json group{{"preferredVersion", {{"version", preferred}}}, {"versions", json::array()}};
    for (const char* v : served) group["versions"].push_back({{"version", v}});
    const Result<std::string> got = ChooseVersion(JsonNode(group));
    return got.ok() ? *got : got.error().message;
  };
  EXPECT_EQ(chosen("v1beta1", {"v1beta2", "v1beta1"}), "v1beta1");
  EXPECT_EQ(chosen("v2", {"v2", "v1beta2", "v1beta1"}), "v1beta2");
  EXPECT_EQ(chosen("v2", {"v2"}), "no known available metric versions found");
}

TEST(HpaScaleToZero, NeedsMetricsThatGoOnWithoutPods) {
  const json external{{{"type", "Resource"}}, {{"type", "External"}}};
  const json resource{{{"type", "Resource"}}};
  EXPECT_TRUE(GoesToZero(2, 0, {0, 10}, JsonNode(external)));
  EXPECT_FALSE(GoesToZero(2, 0, {0, 10}, JsonNode(resource)));
  EXPECT_FALSE(GoesToZero(2, 1, {0, 10}, JsonNode(external)));
  EXPECT_FALSE(GoesToZero(0, 0, {0, 10}, JsonNode(external)));
  EXPECT_FALSE(GoesToZero(2, 0, {1, 10}, JsonNode(external)));
  EXPECT_TRUE(MayLeaveZero(true, {0, 10}, JsonNode(external)));
  EXPECT_FALSE(MayLeaveZero(true, {0, 10}, JsonNode(resource)));
  EXPECT_TRUE(MayLeaveZero(true, {2, 10}, JsonNode(resource))) << "the minimum was raised";
  EXPECT_FALSE(MayLeaveZero(false, {2, 10}, JsonNode(external)));
}

}  // namespace
}  // namespace kcm::pod::hpa
