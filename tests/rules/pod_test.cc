// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/pod.h"

#include <gtest/gtest.h>

#include "kcm/rules/condition.h"
#include "rules/parsed.h"

namespace kcm::rules {
namespace {

using namespace std::chrono_literals;

WallTime At(int seconds) {
  return *ParseTime("2024-05-01T10:00:00Z") + std::chrono::seconds(seconds);
}

std::string ReadyPod(const char* since, const char* status = "True") {
  return std::string(R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":")") +
         status + R"(","lastTransitionTime":)" + since + "}]}}";
}

TEST(Pod, PredicatesOfPhaseAndDeletion) {
  const struct {
    const char* json;
    bool active, terminal, terminating;
  } rows[] = {
      {R"({})", true, false, false},
      {R"({"status":{"phase":"Running"}})", true, false, false},
      {R"({"status":{"phase":"Succeeded"}})", false, true, false},
      {R"({"status":{"phase":"Failed"}})", false, true, false},
      {R"({"metadata":{"deletionTimestamp":"2024-05-01T10:00:00Z"},"status":{"phase":"Running"}})",
       false, false, true},
      {R"({"metadata":{"deletionTimestamp":"2024-05-01T10:00:00Z"},"status":{"phase":"Failed"}})",
       false, true, false},
      {R"({"metadata":{"deletionTimestamp":null},"status":{"phase":"Pending"}})", true, false,
       false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.json);
    const Parsed pod(row.json);
    EXPECT_EQ(IsPodActive(pod), row.active);
    EXPECT_EQ(IsPodTerminal(pod), row.terminal);
    EXPECT_EQ(IsPodTerminating(pod), row.terminating);
  }
}

TEST(Pod, AvailableAtExactlyMinReadySeconds) {
  const struct {
    const char* name;
    std::string pod;
    int64_t min_ready;
    WallTime now;
    bool want;
  } rows[] = {
      {"at once without minReadySeconds", ReadyPod("\"2024-05-01T10:00:00Z\""), 0, At(0), true},
      {"one second early", ReadyPod("\"2024-05-01T10:00:00Z\""), 10, At(9), false},
      {"exactly then", ReadyPod("\"2024-05-01T10:00:00Z\""), 10, At(10), true},
      {"a future transition never counts", ReadyPod("\"2024-05-01T10:00:00Z\""), 1, At(-60), false},
      {"not ready", ReadyPod("\"2024-05-01T10:00:00Z\"", "False"), 0, At(100), false},
      {"no transition time", ReadyPod("null"), 1, At(100), false},
      {"no transition time, no minimum", ReadyPod("null"), 0, At(100), true},
      {"an absurd minimum", ReadyPod("\"2024-05-01T10:00:00Z\""), INT64_MAX, At(100), false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(IsPodAvailable(Parsed(row.pod), row.min_ready, row.now), row.want);
  }
}

TEST(Pod, FirstReadyConditionCounts) {
  EXPECT_FALSE(IsPodReady(Parsed(
      R"({"status":{"conditions":[{"type":"Ready","status":"False"},{"type":"Ready","status":"True"}]}})")));
  EXPECT_FALSE(IsPodReady(Parsed("{}")));
}

TEST(Pod, NextAvailabilityCheckIsTheSmallestPositive) {
  const Parsed early(ReadyPod("\"2024-05-01T10:00:00Z\""));
  const Parsed late(ReadyPod("\"2024-05-01T10:00:05Z\""));
  const Parsed unready(ReadyPod("\"2024-05-01T10:00:01Z\"", "False"));
  const Parsed timeless(ReadyPod("null"));
  const std::vector<Node> pods = {early, late, unready, timeless};
  EXPECT_EQ(NextAvailabilityCheck(pods, 10, At(8)), 2s);
  EXPECT_EQ(NextAvailabilityCheck(pods, 10, At(10)), 5s)
      << "available exactly now is no reason to wait";
  EXPECT_EQ(NextAvailabilityCheck(pods, 10, At(15)), std::nullopt);
  EXPECT_EQ(NextAvailabilityCheck(pods, 0, At(0)), std::nullopt);
  EXPECT_EQ(NextAvailabilityCheck({}, 10, At(0)), std::nullopt);
}

TEST(Pod, RestartsOfContainersAndSidecars) {
  const Parsed pod(
      R"({"spec":{"initContainers":[{"name":"side","restartPolicy":"Always"},{"name":"init"}]},
    "status":{"containerStatuses":[{"name":"a","restartCount":2},{"name":"b","restartCount":5}],
    "initContainerStatuses":[{"name":"side","restartCount":3},{"name":"init","restartCount":9}]}})");
  EXPECT_EQ(MaxContainerRestarts(pod), 5);
  EXPECT_EQ(MaxSidecarRestarts(pod), 3) << "ordinary init containers do not count";
  EXPECT_EQ(MaxContainerRestarts(Node()), 0);
}

TEST(Condition, FindsAndCompares) {
  const Parsed job(
      R"({"status":{"conditions":[{"type":"Failed","status":"False"},{"type":"Complete","status":"True","reason":"R"}]}})");
  EXPECT_TRUE(IsConditionTrue(job, "Complete"));
  EXPECT_TRUE(IsConditionFalse(job, "Failed"));
  EXPECT_FALSE(IsConditionFalse(job, "Suspended"))
      << "an absent condition is neither true nor false";
  EXPECT_EQ(ConditionStatus(job, "Suspended"), "");
  const Parsed same(
      R"({"type":"Complete","status":"True","reason":"R","message":"","lastTransitionTime":"2024-05-01T10:00:00Z"})");
  EXPECT_TRUE(SameCondition(FindCondition(job, "Complete"), same));
  EXPECT_FALSE(SameCondition(FindCondition(job, "Failed"), same));
}

}  // namespace
}  // namespace kcm::rules
