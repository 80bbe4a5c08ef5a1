// SPDX-License-Identifier: Apache-2.0
// Decisions of the ReplicaSet engine.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "plugins/pod/replicaset/pods.h"
#include "plugins/pod/replicaset/status.h"

namespace kcm::pod::replicaset {
namespace {

using nlohmann::json;
using rules::JsonNode;
using rules::Node;

const rules::WallTime kNow = *rules::ParseTime("2024-05-01T12:00:00Z");

json Pod(const std::string& name, const std::string& created, bool ready,
         const std::string& ready_since = "", const std::string& node = "n1") {
  json p{
      {"metadata",
       {{"name", name}, {"uid", name}, {"creationTimestamp", created}, {"labels", {{"app", "x"}}}}},
      {"spec", {{"nodeName", node}}},
      {"status", {{"phase", "Running"}}}};
  p["status"]["conditions"] = {{{"type", "Ready"}, {"status", ready ? "True" : "False"}}};
  if (!ready_since.empty()) p["status"]["conditions"][0]["lastTransitionTime"] = ready_since;
  return p;
}

std::vector<Node> NodesOf(const std::vector<json>& pods) {
  std::vector<Node> out;
  for (const json& p : pods) out.push_back(JsonNode(p));
  return out;
}

TEST(PlanScale, IsTheDifferenceInBursts) {
  const struct {
    int64_t active, wanted, creates, deletes;
  } rows[] = {{0, 3, 3, 0},      {3, 3, 0, 0},      {5, 2, 0, 3},
              {0, 1200, 500, 0}, {1200, 0, 0, 500}, {2, -1, 0, 2}};
  for (const auto& row : rows) {
    SCOPED_TRACE(std::to_string(row.active) + " to " + std::to_string(row.wanted));
    const ScalePlan plan = PlanScale(row.active, row.wanted);
    EXPECT_EQ(plan.creates, row.creates);
    EXPECT_EQ(plan.deletes, row.deletes);
  }
}

TEST(PodsToDelete, TakesUnreadyThenCrowdedOnes) {
  const std::vector<json> pods = {
      Pod("ready1", "2024-05-01T11:00:00Z", true, "2024-05-01T11:00:00Z", "n1"),
      Pod("ready2", "2024-05-01T11:00:00Z", true, "2024-05-01T11:00:00Z", "n2"),
      Pod("waiting", "2024-05-01T11:00:00Z", false)};
  EXPECT_EQ(PodsToDelete(NodesOf(pods), {}, 1, kNow), (std::vector<size_t>{2}));
  const std::vector<json> related = {Pod("sibling", "2024-05-01T11:00:00Z", true, "", "n2")};
  EXPECT_EQ(PodsToDelete(NodesOf(pods), NodesOf(related), 2, kNow), (std::vector<size_t>{2, 1}));
  // All of them: as they are.
  EXPECT_EQ(PodsToDelete(NodesOf(pods), {}, 3, kNow), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(PodsToDelete(NodesOf(pods), {}, 9, kNow).size(), 3u);
}

TEST(DeletionAgeRatios, CompareWithTheYoungestReadyPod) {
  const std::vector<json> pods = {Pod("old", "2024-05-01T10:00:00Z", true),
                                  Pod("young", "2024-05-01T11:30:00Z", true),
                                  Pod("younger, not ready", "2024-05-01T11:59:00Z", false)};
  const std::vector<size_t> all = {0, 1, 2};
  EXPECT_EQ(DeletionAgeRatios(NodesOf(pods), all, kNow), (std::vector<double>{4, 1}));
  // A youngest of no age has no ratio.
  EXPECT_TRUE(
      DeletionAgeRatios(NodesOf(pods), all, *rules::ParseTime("2024-05-01T11:30:00Z")).empty());
  EXPECT_TRUE(DeletionAgeRatios({}, {}, kNow).empty());
}

json ReplicaSet() {
  return json::parse(R"({"metadata":{"generation":4},
    "spec":{"replicas":3,"minReadySeconds":10,"template":{"metadata":{"labels":{"app":"x"}}}},
    "status":{"replicas":2,"observedGeneration":3}})");
}

TEST(CountPods, CountsLabelsReadinessAndAvailability) {
  std::vector<json> pods = {
      Pod("available", "", true, "2024-05-01T11:59:50Z"),  // exactly ten seconds
      Pod("ready", "", true, "2024-05-01T11:59:51Z"), Pod("waiting", "", false)};
  pods[2]["metadata"]["labels"]["app"] = "y";
  const json rs = ReplicaSet();
  EXPECT_EQ(CountPods(JsonNode(rs), NodesOf(pods), 1, kNow), (Counts{.replicas = 3,
                                                                     .fully_labeled = 2,
                                                                     .ready = 2,
                                                                     .available = 1,
                                                                     .terminating = 1,
                                                                     .observed_generation = 4}));
}

TEST(CountsInStatus, LeavesOutWhatTheServerDoesNotKnow) {
  json rs = ReplicaSet();
  rs["status"]["terminatingReplicas"] = 2;
  EXPECT_EQ(CountsInStatus(JsonNode(rs), true).terminating, 2);
  EXPECT_EQ(CountsInStatus(JsonNode(rs), false).terminating, std::nullopt);
  EXPECT_EQ(CountsInStatus(JsonNode(rs), false).replicas, 2);
}

TEST(DecideFailure, SetsKeepsAndRemoves) {
  const json healthy = ReplicaSet();
  json failed = healthy;
  failed["status"]["conditions"] = {
      {{"type", "ReplicaFailure"}, {"status", "True"}, {"message", "first"}}};
  const Error error = MakeError(Code::kForbidden, "exceeded quota");
  using Type = FailureChange::Type;
  EXPECT_EQ(DecideFailure(JsonNode(healthy), 1, 3, nullptr).type, Type::kKeep);
  EXPECT_EQ(DecideFailure(JsonNode(failed), 1, 3, nullptr).type, Type::kRemove);
  EXPECT_EQ(DecideFailure(JsonNode(failed), 1, 3, &error).type, Type::kKeep);
  const FailureChange created = DecideFailure(JsonNode(healthy), 1, 3, &error);
  EXPECT_EQ(created.type, Type::kSet);
  EXPECT_EQ(created.reason, "FailedCreate");
  EXPECT_EQ(created.message, "exceeded quota");
  EXPECT_EQ(DecideFailure(JsonNode(healthy), 4, 3, &error).reason, "FailedDelete");
}

TEST(ApplyStatus, ChangesOnlyTheStatus) {
  json rs = ReplicaSet();
  rs["metadata"]["annotations"]["team"] = "x";
  rs["status"]["conditions"] = {{{"type", "Other"}, {"status", "True"}}};
  rs["status"]["terminatingReplicas"] = 5;
  const json before = rs;
  const Counts counts{
      .replicas = 3, .ready = 1, .terminating = std::nullopt, .observed_generation = 4};
  const FailureChange set{
      .type = FailureChange::Type::kSet, .reason = "FailedCreate", .message = "why"};
  ApplyStatus(rs, counts, set, kNow);
  EXPECT_EQ(rs["metadata"], before["metadata"]);
  EXPECT_EQ(rs["spec"], before["spec"]);
  EXPECT_EQ(rs["status"]["replicas"], 3);
  EXPECT_FALSE(rs["status"].contains("terminatingReplicas"));
  ASSERT_EQ(rs["status"]["conditions"].size(), 2u);
  EXPECT_EQ(rs["status"]["conditions"][1], (json{{"type", "ReplicaFailure"},
                                                 {"status", "True"},
                                                 {"reason", "FailedCreate"},
                                                 {"message", "why"},
                                                 {"lastTransitionTime", "2024-05-01T12:00:00Z"}}));
  // A second time does not double it; removing leaves the other one.
  ApplyStatus(rs, counts, set, kNow);
  EXPECT_EQ(rs["status"]["conditions"].size(), 2u);
  ApplyStatus(rs, counts, {.type = FailureChange::Type::kRemove}, kNow);
  EXPECT_EQ(rs["status"]["conditions"], before["status"]["conditions"]);
}

}  // namespace
}  // namespace kcm::pod::replicaset
