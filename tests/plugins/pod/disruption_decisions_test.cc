// SPDX-License-Identifier: Apache-2.0
// Decisions of disruption-controller.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "plugins/pod/disruption/budget.h"
#include "plugins/pod/disruption/stale_target.h"

namespace kcm::pod::disruption {

void PrintTo(const Expected& e, std::ostream* out) { *out << e.pods << " pods, " << e.healthy; }

namespace {

using nlohmann::json;
using rules::JsonNode;
using rules::Node;
using namespace std::chrono_literals;  // NOLINT: test vocabulary

const rules::WallTime kNow = *rules::ParseTime("2024-05-01T12:00:00Z");

TEST(ExpectedOf, RoundsUpAndStaysAboveZero) {
  const struct {
    json spec;
    int64_t count;
    bool controllers;
    Expected want;
  } rows[] = {
      {{{"maxUnavailable", 1}}, 5, true, {5, 4}},
      {{{"maxUnavailable", 9}}, 5, true, {5, 0}},
      {{{"maxUnavailable", "30%"}}, 7, true, {7, 4}},
      {{{"maxUnavailable", "10%"}}, 1, true, {1, 0}},
      {{{"maxUnavailable", "0%"}}, 4, true, {4, 4}},
      {{{"minAvailable", "30%"}}, 7, true, {7, 3}},
      {{{"minAvailable", "100%"}}, 7, true, {7, 7}},
      {{{"minAvailable", 2}}, 3, false, {3, 2}},
      {{{"minAvailable", 0}}, 3, false, {3, 0}},
      {json::object(), 3, false, {0, 0}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.spec.dump());
    const json budget{{"spec", row.spec}};
    EXPECT_EQ(CountsControllers(JsonNode(budget)), row.controllers);
    const Result<Expected> got = ExpectedOf(JsonNode(budget), row.count);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(*got, row.want);
  }
  const json bad{{"spec", {{"minAvailable", "many"}}}};
  EXPECT_FALSE(ExpectedOf(JsonNode(bad), 3).ok());
}

json Pod(const char* name, bool ready, bool deleting = false) {
  json pod{
      {"metadata", {{"name", name}}},
      {"status", {{"conditions", {{{"type", "Ready"}, {"status", ready ? "True" : "False"}}}}}}};
  if (deleting) pod["metadata"]["deletionTimestamp"] = "2024-05-01T11:59:00Z";
  return pod;
}

TEST(DisruptedPods, AreKeptForTwoMinutes) {
  const std::vector<json> pods = {Pod("fresh", true),       Pod("at the end", true),
                                  Pod("over", true),        Pod("no time", true),
                                  Pod("going", true, true), Pod("other", true),
                                  Pod("not ready", false)};
  std::vector<Node> nodes;
  for (const json& p : pods) nodes.push_back(JsonNode(p));
  const json budget = json::parse(R"({"status":{"disruptedPods":{
      "fresh":"2024-05-01T11:59:00Z","at the end":"2024-05-01T11:58:00Z",
      "over":"2024-05-01T11:57:59Z","no time":"","going":"2024-05-01T11:59:00Z",
      "gone":"2024-05-01T11:59:00Z"}}})");
  const DisruptedPods got = DisruptedPodsOf(JsonNode(budget), nodes, kNow);
  ASSERT_EQ(got.kept.size(), 2u);
  EXPECT_EQ(got.kept.at("fresh").since, "2024-05-01T11:59:00Z");
  EXPECT_TRUE(got.kept.contains("at the end"));
  EXPECT_EQ(got.not_deleted, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(got.recheck, kNow);
  // fresh does not count any more, the one at the end of its time does again.
  EXPECT_EQ(CountHealthy(nodes, got, kNow), 4);
}

json Budget(const char* status) {
  return {{"metadata", {{"generation", 2}}}, {"status", json::parse(status)}};
}

TEST(BudgetStatus, IsWrittenWhenAnythingDiffers) {
  const BudgetStatus wanted{.healthy = 5, .expected = {5, 4}, .disrupted = {}};
  const char* const same =
      R"({"currentHealthy":5,"desiredHealthy":4,"expectedPods":5,"disruptionsAllowed":1,
          "observedGeneration":2,"conditions":[{"type":"X"},{"type":"DisruptionAllowed",
          "status":"True","reason":"SufficientPods"}]})";
  EXPECT_TRUE(IsUpToDate(JsonNode(Budget(same)), wanted));
  for (const char* field : {"currentHealthy", "desiredHealthy", "expectedPods",
                            "disruptionsAllowed", "observedGeneration", "conditions"}) {
    SCOPED_TRACE(field);
    json other = Budget(same);
    other["status"].erase(field);
    EXPECT_FALSE(IsUpToDate(JsonNode(other), wanted));
    ApplyStatus(other, wanted, kNow);
    EXPECT_TRUE(IsUpToDate(JsonNode(other), wanted));
  }
  json other = Budget(same);
  other["status"]["disruptedPods"] = {{"p", "2024-05-01T11:59:00Z"}};
  EXPECT_FALSE(IsUpToDate(JsonNode(other), wanted));
  other = Budget(same);
  other["status"]["conditions"][1]["reason"] = "SyncFailed";
  EXPECT_FALSE(IsUpToDate(JsonNode(other), wanted));
}

TEST(BudgetStatus, AllowsNothingWithoutExpectedPods) {
  EXPECT_EQ((BudgetStatus{.healthy = 2, .expected = {0, 0}, .disrupted = {}}).Allowed(), 0);
  EXPECT_EQ((BudgetStatus{.healthy = 2, .expected = {3, 3}, .disrupted = {}}).Allowed(), 0);
  EXPECT_EQ((BudgetStatus{.healthy = 9, .expected = {3, 1}, .disrupted = {}}).Allowed(), 8);
}

TEST(BudgetStatus, KeepsForeignConditionsAndTheTimeOfAnUnchangedStatus) {
  json budget = Budget(
      R"({"disruptedPods":{"p":"t"},"currentHealthy":1,"observedGeneration":2,"conditions":[
          {"type":"DisruptionAllowed","status":"False","reason":"InsufficientPods","message":"",
           "lastTransitionTime":"2024-05-01T10:00:00Z","observedGeneration":1},
          {"type":"foreign","status":"True"}]})");
  EXPECT_TRUE(ApplyFailure(budget, "why", kNow));
  EXPECT_EQ(budget["status"], json::parse(
                                  R"({"disruptedPods":{"p":"t"},"currentHealthy":1,
          "observedGeneration":2,"disruptionsAllowed":0,"conditions":[
          {"type":"DisruptionAllowed","status":"False","reason":"SyncFailed","message":"why",
           "lastTransitionTime":"2024-05-01T10:00:00Z","observedGeneration":2},
          {"type":"foreign","status":"True"}]})"));
  EXPECT_FALSE(ApplyFailure(budget, "why", kNow)) << "said already";
  ApplyStatus(budget, {.healthy = 2, .expected = {2, 1}, .disrupted = {}}, kNow);
  EXPECT_EQ(budget["status"]["conditions"][0]["lastTransitionTime"], "2024-05-01T12:00:00Z");
  EXPECT_EQ(budget["status"]["conditions"][0]["message"], "");
  EXPECT_EQ(budget["status"]["conditions"][1]["type"], "foreign");
  EXPECT_FALSE(budget["status"].contains("disruptedPods"));
}

json Target(const char* status, const char* reason, const char* since) {
  return {{"metadata", {{"uid", "u"}, {"resourceVersion", "7"}}},
          {"status",
           {{"phase", "Running"},
            {"conditions",
             {{{"type", "DisruptionTarget"},
               {"status", status},
               {"reason", reason},
               {"lastTransitionTime", since}}}}}}};
}

TEST(StaleTarget, IsStaleAfterTwoMinutes) {
  json failed = Target("True", "X", "2024-05-01T11:00:00Z"), deleting = failed;
  failed["status"]["phase"] = "Failed";
  deleting["metadata"]["deletionTimestamp"] = "2024-05-01T11:30:00Z";
  using Time = std::optional<std::chrono::nanoseconds>;
  const struct {
    const char* name;
    json pod;
    Time want;
  } rows[] = {
      {"fresh", Target("True", "X", "2024-05-01T11:59:30Z"), 90s},
      {"just now stale", Target("True", "X", "2024-05-01T11:58:00Z"), 0s},
      {"long stale", Target("True", "X", "2024-05-01T01:58:00Z"), 0s},
      {"no time", Target("True", "X", ""), 0s},
      {"in the future", Target("True", "X", "2024-05-01T12:01:00Z"), 180s},
      {"taken back", Target("False", "", "2024-05-01T11:00:00Z"), std::nullopt},
      {"of the kubelet", Target("True", "TerminationByKubelet", "2024-05-01T11:00:00Z"),
       std::nullopt},
      {"terminal", failed, std::nullopt},
      {"being deleted", deleting, std::nullopt},
      {"none", json::object(), std::nullopt},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(TargetIsStaleIn(JsonNode(row.pod), kNow), row.want);
  }
  EXPECT_EQ(json::parse(TakeBackPatch(JsonNode(rows[0].pod), kNow)),
            json::parse(R"({"metadata":{"uid":"u","resourceVersion":"7"},"status":{"conditions":[
                {"type":"DisruptionTarget","status":"False","reason":null,"message":null,
                 "lastProbeTime":null,"lastTransitionTime":"2024-05-01T12:00:00Z"}]}})"));
}

}  // namespace
}  // namespace kcm::pod::disruption
