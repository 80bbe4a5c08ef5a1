// SPDX-License-Identifier: Apache-2.0
// Decisions of the pod garbage collector.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "plugins/pod/podgc/candidates.h"

namespace kcm::pod::podgc {
namespace {

using nlohmann::json;
using rules::JsonNode;

const rules::WallTime kNow = *rules::ParseTime("2024-05-01T12:00:00Z");

json Pod(const std::string& name, const std::string& phase, const std::string& created,
         const std::string& reason = "") {
  return {{"metadata", {{"name", name}, {"uid", "u-" + name}, {"creationTimestamp", created}}},
          {"status", {{"phase", phase}, {"reason", reason}}}};
}

TEST(SurplusTerminated, EvictedThenOldestThenByName) {
  const std::vector<json> pods = {
      Pod("young", "Failed", "2024-05-01T11:00:00Z"),
      Pod("b", "Succeeded", "2024-05-01T10:00:00Z"),
      Pod("a", "Failed", "2024-05-01T10:00:00Z"),
      Pod("evicted", "Failed", "2024-05-01T11:30:00Z", "Evicted"),
      Pod("done, called evicted", "Succeeded", "2024-05-01T11:45:00Z", "Evicted"),
      Pod("no time", "Failed", ""),
      Pod("odd phase", "Gone", "2024-05-01T11:50:00Z"),
      Pod("p", "Pending", "2024-05-01T01:00:00Z"),
      Pod("r", "Running", "2024-05-01T01:00:00Z"),
      Pod("u", "Unknown", "2024-05-01T01:00:00Z"),
  };
  std::vector<rules::Node> nodes;
  for (const json& p : pods) nodes.push_back(JsonNode(p));
  const struct {
    int64_t threshold;
    std::vector<size_t> want;
  } rows[] = {
      {1, {3, 5, 2, 1, 0, 4}}, {5, {3, 5}}, {6, {3}}, {7, {}}, {100, {}}, {0, {}}, {-1, {}},
  };
  for (const auto& row : rows) EXPECT_EQ(SurplusTerminated(nodes, row.threshold), row.want);
}

TEST(IsOutOfService, NeedsTheTaintAndANodeThatIsNotReady) {
  const struct {
    const char* name;
    const char* node;
    bool want;
  } rows[] = {
      {"not ready, tainted",
       R"({"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service"}]},
           "status":{"conditions":[{"type":"Ready","status":"False"}]}})",
       true},
      {"unknown, tainted",
       R"({"spec":{"taints":[{"key":"x"},{"key":"node.kubernetes.io/out-of-service"}]},
           "status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})",
       true},
      {"no condition, tainted",
       R"({"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service"}]}})", true},
      {"ready, tainted",
       R"({"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service"}]},
           "status":{"conditions":[{"type":"Ready","status":"True"}]}})",
       false},
      {"not ready, another taint",
       R"({"spec":{"taints":[{"key":"node.kubernetes.io/not-ready"}]},
           "status":{"conditions":[{"type":"Ready","status":"False"}]}})",
       false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const json node = json::parse(row.node);
    EXPECT_EQ(IsOutOfService(JsonNode(node)), row.want);
  }
}

TEST(FailPatch, CarriesWhatChanges) {
  const struct {
    const char* name;
    const char* pod;
    Disruption disruption;
    const char* want;
  } rows[] = {
      {"no generation", R"({"metadata":{"uid":"u"}})", Disruption::kNone,
       R"({"metadata":{"uid":"u"},"status":{"phase":"Failed"}})"},
      {"generation", R"({"metadata":{"uid":"u","generation":3},"status":{"observedGeneration":2}})",
       Disruption::kNone,
       R"({"metadata":{"uid":"u"},"status":{"phase":"Failed","observedGeneration":3}})"},
      {"generation seen",
       R"({"metadata":{"uid":"u","generation":3},"status":{"observedGeneration":3}})",
       Disruption::kNone, R"({"metadata":{"uid":"u"},"status":{"phase":"Failed"}})"},
      {"node gone", R"({"metadata":{"uid":"u","generation":1},"status":{"observedGeneration":1}})",
       Disruption::kNodeGone,
       R"({"metadata":{"uid":"u"},"status":{"phase":"Failed","conditions":[
           {"type":"DisruptionTarget","status":"True","reason":"DeletionByPodGC",
            "message":"PodGC: node no longer exists","observedGeneration":1,
            "lastTransitionTime":"2024-05-01T12:00:00Z"}]}})"},
      {"a target already",
       R"({"metadata":{"uid":"u"},"status":{"conditions":[{"type":"DisruptionTarget",
           "status":"True","lastTransitionTime":"2024-05-01T11:00:00Z"}]}})",
       Disruption::kNodeGone,
       R"({"metadata":{"uid":"u"},"status":{"phase":"Failed","conditions":[
           {"type":"DisruptionTarget","status":"True","reason":"DeletionByPodGC",
            "message":"PodGC: node no longer exists",
            "lastTransitionTime":"2024-05-01T11:00:00Z"}]}})"},
      {"no target any more",
       R"({"metadata":{"uid":"u"},"status":{"conditions":[{"type":"DisruptionTarget",
           "status":"False","lastTransitionTime":"2024-05-01T11:00:00Z"}]}})",
       Disruption::kNodeGone,
       R"({"metadata":{"uid":"u"},"status":{"phase":"Failed","conditions":[
           {"type":"DisruptionTarget","status":"True","reason":"DeletionByPodGC",
            "message":"PodGC: node no longer exists",
            "lastTransitionTime":"2024-05-01T12:00:00Z"}]}})"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const json pod = json::parse(row.pod);
    EXPECT_EQ(json::parse(FailPatch(JsonNode(pod), row.disruption, kNow)), json::parse(row.want));
  }
}

}  // namespace
}  // namespace kcm::pod::podgc
