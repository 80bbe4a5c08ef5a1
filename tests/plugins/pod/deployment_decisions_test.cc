// SPDX-License-Identifier: Apache-2.0
// Decisions of the Deployment controller.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "plugins/pod/deployment/body.h"
#include "plugins/pod/deployment/cleanup.h"
#include "plugins/pod/deployment/progress.h"
#include "plugins/pod/deployment/revision.h"
#include "plugins/pod/deployment/rollback.h"
#include "plugins/pod/deployment/rolling_update.h"
#include "plugins/pod/deployment/scale.h"

namespace kcm::pod::deployment {
namespace {

using nlohmann::json;
using rules::JsonNode;

const rules::WallTime kNow = *rules::ParseTime("2024-05-01T12:00:00Z");

struct Set {
  const char* name;
  int64_t replicas;
  int64_t available = -1;  // -1: all of them
  const char* revision = "";
  int64_t max = 0;       // annotation max-replicas, 0: none
  int64_t desired = -1;  // annotation desired-replicas, -1: none
};

// A Deployment and its ReplicaSets, oldest first, as the controller sees them.
struct World {
  json deployment =
      json::parse(R"({"metadata":{"name":"d","namespace":"ns","uid":"u","generation":1},
    "spec":{"replicas":10,"progressDeadlineSeconds":600,"strategy":{"type":"RollingUpdate",
      "rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"}},
      "selector":{"matchLabels":{"app":"x"}},
      "template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"new"}]}}}})");
  std::vector<json> sets;

  void Strategy(int64_t replicas, const json& surge, const json& unavailable) {
    deployment["spec"]["replicas"] = replicas;
    deployment["spec"]["strategy"]["rollingUpdate"] = {{"maxSurge", surge},
                                                       {"maxUnavailable", unavailable}};
  }
  // The one named "new" has the Deployment's template.
  void Add(const Set& s) {
    json rs{{"metadata",
             {{"name", s.name},
              {"creationTimestamp", "2024-05-01T00:00:" + std::to_string(10 + sets.size()) + "Z"},
              {"generation", 1},
              {"annotations", json::object()}}},
            {"spec", {{"replicas", s.replicas}, {"template", deployment["spec"]["template"]}}}};
    const int64_t available = s.available < 0 ? s.replicas : s.available;
    rs["status"] = {{"replicas", s.replicas},
                    {"readyReplicas", available},
                    {"availableReplicas", available},
                    {"observedGeneration", 1},
                    {"terminatingReplicas", 0}};
    json& annotations = rs["metadata"]["annotations"];
    if (*s.revision != '\0') annotations[std::string(kRevision)] = s.revision;
    if (s.max != 0) annotations[std::string(kMaxReplicas)] = std::to_string(s.max);
    if (s.desired >= 0) annotations[std::string(kDesiredReplicas)] = std::to_string(s.desired);
    if (std::string_view(s.name) != "new")
      rs["spec"]["template"]["spec"]["containers"][0]["image"] = s.name;
    rs["spec"]["template"]["metadata"]["labels"]["pod-template-hash"] = s.name;
    sets.push_back(std::move(rs));
  }
  Rollout See() const {
    Rollout out;
    Result<Deployment> d = DeploymentOf(JsonNode(deployment));
    EXPECT_TRUE(d.ok());
    if (d.ok()) out.deployment = *d;
    for (const json& s : sets) out.sets.push_back(ReplicaSetOf(JsonNode(s)));
    out.new_set = FindNewReplicaSet(JsonNode(deployment), out.sets);
    return out;
  }
};

// "old=8 new=5": the sizes after the steps.
std::string Text(const Rollout& rollout, const std::vector<Resize>& steps) {
  std::string out;
  for (const Resize& r : steps) {
    if (!out.empty()) out += " ";
    out += std::string(rollout.sets[r.set].name) + "=" + std::to_string(r.to);
  }
  return out;
}

TEST(FindNewReplicaSet, IsTheOldestWithTheTemplate) {
  World w;
  w.Add({"old", 1});
  EXPECT_EQ(w.See().new_set, std::nullopt);
  w.Add({"new", 1});
  w.Add({"new", 1});
  EXPECT_EQ(w.See().new_set, 1u);
  // Representation alone makes no difference (DEP-19).
  w.deployment["spec"]["template"]["metadata"]["creationTimestamp"] = nullptr;
  EXPECT_EQ(w.See().new_set, 1u);
}

TEST(RollingUpdate, SizeOfTheNewReplicaSet) {
  const struct {
    const char* name;
    int64_t replicas;
    json surge;
    int64_t current, total, want;
  } rows[] = {
      {"first step of DEP-03", 10, "25%", 0, 10, 3},
      {"second step of DEP-03", 10, "25%", 3, 11, 5},
      {"no room", 10, "25%", 5, 13, 5},
      {"without others", 3, "25%", 0, 0, 3},
      {"too large", 3, "25%", 7, 7, 3},
      {"DEP-05: waits for the old one", 1, 0, 0, 1, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    World w;
    w.Strategy(row.replicas, row.surge, "25%");
    EXPECT_EQ(NewReplicaSetSize(w.See().deployment, row.current, row.total), row.want);
  }
  World recreate;
  recreate.deployment["spec"]["strategy"] = {{"type", "Recreate"}};
  EXPECT_EQ(NewReplicaSetSize(recreate.See().deployment, 0, 40), 10);
}

TEST(RollingUpdate, ScalesDownOldReplicaSets) {
  const struct {
    const char* name;
    int64_t replicas;
    json surge, unavailable;
    std::vector<Set> sets;
    const char* want;
    bool aborted;
  } rows[] = {
      {"DEP-03: two of ten may be missing",
       10,
       "25%",
       "25%",
       {{"old", 10}, {"new", 3, 0}},
       "old=8",
       false},
      {"DEP-03: stalled", 10, "25%", "25%", {{"old", 8}, {"new", 5, 0}}, "", false},
      {"DEP-05: unavailable counts as 1", 1, 0, "25%", {{"old", 1}, {"new", 0}}, "old=0", false},
      {"DEP-06: broken ones go, available ones stay",
       10,
       3,
       2,
       {{"old", 8}, {"broken", 5, 0}, {"new", 0}},
       "broken=0",
       false},
      {"unhealthy first, then healthy",
       10,
       3,
       2,
       {{"old", 6, 4}, {"older", 4}, {"new", 3}},
       "old=4 old=1",
       false},
      {"nothing old", 3, 1, 1, {{"old", 0}, {"new", 3}}, "", false},
      {"more available than wanted", 4, 1, 1, {{"odd", 1, 2}, {"new", 4}}, "", true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    World w;
    w.Strategy(row.replicas, row.surge, row.unavailable);
    for (const Set& s : row.sets) w.Add(s);
    const Rollout rollout = w.See();
    const ScaleDown plan = ScaleDownOld(rollout);
    EXPECT_EQ(Text(rollout, plan.steps), row.want);
    EXPECT_EQ(plan.aborted, row.aborted);
  }
}

TEST(Scale, EventNeedsAnActiveReplicaSetWithAnotherSize) {
  World w;
  w.Add({.name = "empty", .replicas = 0, .desired = 3});
  w.Add({.name = "new", .replicas = 10, .desired = 10});
  EXPECT_FALSE(IsScalingEvent(w.See()));
  w.Add({.name = "old", .replicas = 1, .desired = 3});
  EXPECT_TRUE(IsScalingEvent(w.See()));
  w.sets[2]["metadata"]["annotations"][std::string(kDesiredReplicas)] = "many";
  EXPECT_FALSE(IsScalingEvent(w.See()));
}

TEST(Scale, OneOrSeveral) {
  const struct {
    const char* name;
    int64_t replicas, surge;
    std::vector<Set> sets;
    const char* want;
    bool forced;
  } rows[] = {
      {"the only active one", 5, 1, {{"old", 0}, {"new", 3}}, "new=5", false},
      {"none active: the new one", 5, 1, {{"new", 0}, {"old", 0}}, "new=5", false},
      {"none active and none new: the newest", 5, 1, {{"older", 0}, {"old", 0}}, "old=5", false},
      {"none at all", 5, 1, {}, "", false},
      {"size fits, annotation does not (DEP-24)",
       5,
       1,
       {{.name = "new", .replicas = 5, .desired = 3}},
       "new=5",
       true},
      {"size and annotation fit", 5, 1, {{.name = "new", .replicas = 5, .desired = 5}}, "", false},
      {"saturated: the old ones go",
       5,
       1,
       {{"old", 2}, {.name = "new", .replicas = 5, .desired = 5}},
       "old=0",
       false},
      {"DEP-13",
       16,
       2,
       {{.name = "old", .replicas = 7, .max = 10}, {.name = "new", .replicas = 3, .max = 10}},
       "old=13 new=5",
       true},
      {"DEP-14: the newest of equals grows",
       6,
       1,
       {{.name = "old", .replicas = 3, .max = 6}, {.name = "new", .replicas = 3, .max = 6}},
       "new=4 old=3",
       true},
      {"each shrinks",
       4,
       0,
       {{.name = "old", .replicas = 5, .max = 10}, {.name = "new", .replicas = 5, .max = 10}},
       "old=2 new=2",
       true},
      {"the oldest of equals shrinks",
       2,
       0,
       {{.name = "a", .replicas = 1, .max = 3},
        {.name = "b", .replicas = 1, .max = 3},
        {.name = "new", .replicas = 1, .max = 3}},
       "a=0 b=1 new=1",
       true},
      {"to zero",
       0,
       2,
       {{.name = "old", .replicas = 7, .max = 10}, {.name = "new", .replicas = 3, .max = 10}},
       "old=0 new=0",
       true},
      {"no max-replicas and no status: the leftover",
       6,
       0,
       {{"old", 2}, {"new", 1}},
       "old=5 new=1",
       true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    World w;
    w.Strategy(row.replicas, row.surge, row.surge == 0 ? 1 : 0);
    for (const Set& s : row.sets) w.Add(s);
    const Rollout rollout = w.See();
    const ScaleSteps steps = PlanScaling(rollout, 0);
    EXPECT_EQ(Text(rollout, steps.sizes), row.want);
    EXPECT_EQ(steps.forced, row.forced);
    EXPECT_FALSE(steps.recreate);
  }
  World w;
  w.deployment["spec"]["strategy"] = {{"type", "Recreate"}};
  w.Add({"old", 2});
  w.Add({"new", 3});
  EXPECT_TRUE(PlanScaling(w.See(), 0).recreate);
}

TEST(Revision, HistoryKeepsItsLimit) {
  EXPECT_EQ(AppendRevision("", "1"), "1");
  EXPECT_EQ(AppendRevision("1,2", "3"), "1,2,3");
  EXPECT_EQ(AppendRevision("1,2", "3", 5), "1,2,3");
  EXPECT_EQ(AppendRevision("1,2", "3", 4), "2,3");
  EXPECT_EQ(AppendRevision("11,2", "3", 1), "3");
  EXPECT_EQ(AppendRevision("1", "33", 1), std::nullopt);
}

TEST(Revision, OfOldAndLastOnes) {
  World w;
  w.Add({"a", 0, -1, "1"});
  w.Add({"b", 0, -1, "what"});
  w.Add({"c", 0, -1, "5"});
  w.Add({"new", 1, -1, "7"});
  EXPECT_EQ(MaxOldRevision(w.See()), 5);
  EXPECT_EQ(LastRevision(w.See()), 5);
  EXPECT_EQ(LastRevision(World().See()), 0);
}

TEST(Revision, AnnotationsOfAnExistingNewReplicaSet) {
  World w;
  w.deployment["metadata"]["annotations"] = {
      {"a", "2"},
      {"kubectl.kubernetes.io/last-applied-configuration", "{}"},
      {std::string(kRevision), "9"}};
  w.Add({"new", 1, -1, "1"});
  json& annotations = w.sets[0]["metadata"]["annotations"];
  annotations["a"] = "1";
  annotations["own"] = "x";
  const AnnotationChange change = AnnotateNew(JsonNode(w.deployment), JsonNode(w.sets[0]), 3);
  EXPECT_TRUE(change.changed);
  EXPECT_EQ(change.annotations, (Annotations{{"a", "2"},
                                             {"own", "x"},
                                             {std::string(kRevision), "3"},
                                             {std::string(kRevisionHistory), "1"}}));
  // Settled: nothing to write.
  annotations["a"] = "2";
  EXPECT_FALSE(AnnotateNew(JsonNode(w.deployment), JsonNode(w.sets[0]), 1).changed);
  // A revision that is no number: copied, but not worth a write.
  annotations["a"] = "1";
  annotations[std::string(kRevision)] = "what";
  const AnnotationChange odd = AnnotateNew(JsonNode(w.deployment), JsonNode(w.sets[0]), 3);
  EXPECT_FALSE(odd.changed);
  EXPECT_EQ(odd.annotations.at("a"), "2");
  // No revision yet: no history.
  annotations.erase(std::string(kRevision));
  EXPECT_EQ(AnnotateNew(JsonNode(w.deployment), JsonNode(w.sets[0]), 3)
                .annotations.count(kRevisionHistory),
            0u);
}

TEST(Cleanup, DeletesTheLowestRevisionsBeyondTheLimit) {
  World w;
  w.deployment["spec"]["revisionHistoryLimit"] = 1;
  w.Add({"third", 0, -1, "3"});
  w.Add({"first", 0, -1, "1"});
  w.Add({"busy", 1, -1, "2"});
  w.Add({"fourth", 0, -1, "4"});
  w.Add({"new", 1, -1, "5"});
  // Three are too many; the busy one stays and nothing goes in its stead.
  EXPECT_EQ(SetsToDelete(w.See()), (std::vector<size_t>{1, 0}));
  w.sets[1]["metadata"]["generation"] = 2;
  EXPECT_EQ(SetsToDelete(w.See()), (std::vector<size_t>{0}))
      << "its controller has not seen the last change";
  w.sets[1]["metadata"]["deletionTimestamp"] = "2024-05-01T00:00:00Z";
  EXPECT_EQ(SetsToDelete(w.See()), (std::vector<size_t>{0}))
      << "one that goes already does not count";
  w.deployment["spec"]["revisionHistoryLimit"] = 2147483647;
  EXPECT_TRUE(SetsToDelete(w.See()).empty());
}

TEST(Rollback, FindsTheRevision) {
  World w;
  w.Add({"a", 0, -1, "1"});
  w.Add({"b", 0, -1, "2"});
  w.Add({"new", 1, -1, "3"});
  const struct {
    int64_t target;
    std::optional<size_t> set;
    const char* reason;
    const char* message;
  } rows[] = {
      {0, 1, "DeploymentRollback", "Rolled back deployment \"d\" to revision 2"},
      {1, 0, "DeploymentRollback", "Rolled back deployment \"d\" to revision 1"},
      {99, std::nullopt, "DeploymentRollbackRevisionNotFound",
       "Unable to find the revision to rollback to."},
      {3, std::nullopt, "DeploymentRollbackTemplateUnchanged",
       "The rollback revision contains the same template as current deployment \"d\""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.target);
    const RollbackPlan plan = PlanRollback(w.See(), row.target);
    EXPECT_EQ(plan.set, row.set);
    EXPECT_EQ(plan.reason, row.reason);
    EXPECT_EQ(plan.message, row.message);
  }
  EXPECT_EQ(PlanRollback(World().See(), 0).message, "Unable to find last revision.");
  const auto target = [&](const char* text) {
    w.deployment["metadata"]["annotations"][std::string(kRollbackTo)] = text;
    return RollbackTarget(JsonNode(w.deployment));
  };
  EXPECT_EQ(target("0"), 0);
  EXPECT_EQ(target(""), std::nullopt);
  EXPECT_EQ(target("soon"), std::nullopt);
}

TEST(Body, NamesAndLabelsCarryTheHash) {
  EXPECT_EQ(ReplicaSetName("d", "79bfd649dc"), "d-79bfd649dc");
  const std::string cut = ReplicaSetName(std::string(253, 'a'), "79bfd649dc");
  EXPECT_EQ(cut, std::string(242, 'a') + "-79bfd649dc");
  World w;
  const Rollout rollout = w.See();
  const json body = ReplicaSetBody(
      rollout.deployment, {.name = "d-h", .hash = "h", .replicas = 3, .annotations = {{"a", "1"}}});
  EXPECT_EQ(body["metadata"]["labels"], (json{{"app", "x"}, {"pod-template-hash", "h"}}));
  EXPECT_EQ(body["spec"]["template"]["metadata"]["labels"], body["metadata"]["labels"]);
  EXPECT_EQ(body["spec"]["selector"]["matchLabels"], body["metadata"]["labels"]);
  EXPECT_EQ(
      body["metadata"]["ownerReferences"],
      json::parse(
          R"([{"apiVersion":"apps/v1","kind":"Deployment","name":"d","uid":"u","controller":true,
                             "blockOwnerDeletion":true}])"));
  EXPECT_EQ(body["metadata"]["annotations"], (json{{"a", "1"}}));
  json taken = w.deployment;
  taken["spec"].erase("template");
  TakeTemplate(taken, JsonNode(body));
  EXPECT_EQ(taken["spec"]["template"], w.deployment["spec"]["template"]);
}

DeploymentStatus With(DeploymentStatus status, const char* state, const char* reason,
                      const char* at) {
  status.conditions.push_back({.type = "Progressing",
                               .status = state,
                               .reason = reason,
                               .message = "",
                               .last_update = at,
                               .last_transition = at});
  return status;
}

// "True NewReplicaSetAvailable <message>"
std::string Progress(const DeploymentStatus& s) {
  const Condition* c = s.Find(kProgressing);
  return c == nullptr ? "" : c->status + " " + c->reason + " " + c->message;
}

TEST(Progress, FirstThatApplies) {
  const struct {
    const char* name;
    std::vector<Set> sets;
    DeploymentStatus before;
    const char* want;
  } rows[] = {
      {"complete",
       {{"new", 10}},
       {},
       "True NewReplicaSetAvailable ReplicaSet \"new\" has successfully progressed."},
      {"grew", {{"new", 10, 4}}, {}, "True ReplicaSetUpdated ReplicaSet \"new\" is progressing."},
      {"without a new one",
       {{"old", 10, 4}},
       {},
       "True ReplicaSetUpdated Deployment \"d\" is progressing."},
      {"stalled, in time",
       {{"new", 10, 4}},
       With({.replicas = 10, .updated = 10, .ready = 4, .available = 4}, "True",
            "ReplicaSetUpdated", "2024-05-01T11:50:00Z"),
       "True ReplicaSetUpdated "},
      {"stalled, too late",
       {{"new", 10, 4}},
       With({.replicas = 10, .updated = 10, .ready = 4, .available = 4}, "True",
            "ReplicaSetUpdated", "2024-05-01T11:49:59Z"),
       "False ProgressDeadlineExceeded ReplicaSet \"new\" has timed out progressing."},
      {"late stays late",
       {{"new", 10, 4}},
       With({.replicas = 10, .updated = 10, .ready = 4, .available = 4}, "False",
            "ProgressDeadlineExceeded", "2024-05-01T11:59:59Z"),
       "False ProgressDeadlineExceeded "},
      {"done before, pods missing now",
       {{"new", 10, 4}},
       With({.replicas = 10, .updated = 10, .ready = 10, .available = 10}, "True",
            "NewReplicaSetAvailable", "2024-05-01T08:00:00Z"),
       "True NewReplicaSetAvailable "},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    World w;
    for (const Set& s : row.sets) w.Add(s);
    EXPECT_EQ(Progress(RolloutStatus(w.See(), row.before, true, kNow)), row.want);
    w.deployment["spec"]["progressDeadlineSeconds"] = 2147483647;
    EXPECT_EQ(Progress(RolloutStatus(w.See(), row.before, true, kNow)), "");
  }
}

TEST(Progress, EachStepMovesTheClockButNotTheTransition) {
  World w;
  w.Add({"new", 10, 5});
  const DeploymentStatus before = With({.replicas = 10, .updated = 10, .ready = 4, .available = 4},
                                       "True", "ReplicaSetUpdated", "2024-05-01T11:55:00Z");
  const DeploymentStatus next = RolloutStatus(w.See(), before, true, kNow);
  ASSERT_NE(next.Find(kProgressing), nullptr);
  EXPECT_EQ(next.Find(kProgressing)->last_update, "2024-05-01T12:00:00Z");
  EXPECT_EQ(next.Find(kProgressing)->last_transition, "2024-05-01T11:55:00Z");
}

TEST(Progress, NextCheckComesASecondAfterTheDeadline) {
  World w;
  w.Add({"new", 10, 4});
  const Deployment d = w.See().deployment;
  using std::chrono::seconds;
  EXPECT_EQ(
      NextProgressCheck(d, With({}, "True", "ReplicaSetUpdated", "2024-05-01T11:59:00Z"), kNow),
      seconds(541));
  EXPECT_EQ(
      NextProgressCheck(d, With({}, "True", "ReplicaSetUpdated", "2024-05-01T11:50:00Z"), kNow),
      seconds(1));
  EXPECT_EQ(NextProgressCheck(
                d, With({}, "False", "ProgressDeadlineExceeded", "2024-05-01T11:59:00Z"), kNow),
            std::nullopt);
  EXPECT_EQ(NextProgressCheck(d, With({}, "True", "NewReplicaSetAvailable", "2024-05-01T08:00:00Z"),
                              kNow),
            std::nullopt);
  EXPECT_EQ(NextProgressCheck(d, {}, kNow), std::nullopt);
}

TEST(Progress, PauseAndResumeAreNotedOnce) {
  World w;
  const auto reason = [&](bool paused, const char* now) -> std::string {
    w.deployment["spec"]["paused"] = paused;
    const auto c = PauseCondition(
        w.See().deployment, *now == '\0' ? DeploymentStatus{} : With({}, "True", now, ""), kNow);
    return c ? c->status + " " + c->reason + ": " + c->message : "";
  };
  EXPECT_EQ(reason(true, ""), "Unknown DeploymentPaused: Deployment is paused");
  EXPECT_EQ(reason(true, "DeploymentPaused"), "");
  EXPECT_EQ(reason(true, "ProgressDeadlineExceeded"), "");
  EXPECT_EQ(reason(false, "DeploymentPaused"), "Unknown DeploymentResumed: Deployment is resumed");
  EXPECT_EQ(reason(false, "ReplicaSetUpdated"), "");
  w.deployment["spec"].erase("progressDeadlineSeconds");
  EXPECT_EQ(reason(true, ""), "");
}

TEST(Status, SumsAndAvailability) {
  World w;
  w.Strategy(10, "25%", "25%");
  w.Add({"old", 5});
  w.Add({"new", 5, 3});
  const DeploymentStatus s = PlainStatus(w.See(), {.collisions = 2}, true, kNow);
  EXPECT_EQ(s.replicas, 10);
  EXPECT_EQ(s.updated, 5);
  EXPECT_EQ(s.ready, 8);
  EXPECT_EQ(s.available, 8);
  EXPECT_EQ(s.unavailable, 2);
  EXPECT_EQ(s.terminating, 0);
  EXPECT_EQ(s.collisions, 2);
  EXPECT_EQ(s.observed_generation, 1);
  ASSERT_EQ(s.conditions.size(), 1u);
  EXPECT_EQ(s.conditions[0].reason, "MinimumReplicasAvailable");
  w.sets[1]["status"]["availableReplicas"] = 2;
  w.sets[1]["status"].erase("terminatingReplicas");
  const DeploymentStatus fewer = PlainStatus(w.See(), s, true, kNow);
  EXPECT_EQ(fewer.conditions[0].reason, "MinimumReplicasUnavailable");
  EXPECT_EQ(fewer.terminating, std::nullopt) << "one ReplicaSet does not say";
  w.sets[1]["status"].erase("observedGeneration");
  EXPECT_EQ(PlainStatus(w.See(), s, true, kNow).terminating, 0) << "it has not been looked at yet";
  EXPECT_EQ(PlainStatus(w.See(), s, false, kNow).terminating, std::nullopt);
}

TEST(Status, SurvivesAWriteAndARead) {
  World w;
  w.Add({"new", 10});
  w.sets[0]["status"]["conditions"] = {{{"type", "ReplicaFailure"},
                                        {"status", "True"},
                                        {"reason", "FailedCreate"},
                                        {"message", "quota"},
                                        {"lastTransitionTime", "2024-05-01T11:00:00Z"}}};
  const DeploymentStatus s = RolloutStatus(w.See(), {}, true, kNow);
  ASSERT_NE(s.Find(kReplicaFailure), nullptr);
  EXPECT_EQ(s.Find(kReplicaFailure)->message, "quota");
  EXPECT_EQ(s.Find(kReplicaFailure)->last_update, "2024-05-01T11:00:00Z");
  ApplyStatus(w.deployment, s);
  EXPECT_EQ(StatusOf(JsonNode(w.deployment), true), s);
  w.sets[0]["status"].erase("conditions");
  EXPECT_EQ(RolloutStatus(w.See(), s, true, kNow).Find(kReplicaFailure), nullptr);
}

TEST(Status, SameReasonKeepsTheConditionAsItIs) {
  DeploymentStatus s;
  s.Set(MakeCondition("T", "True", "R", "first", *rules::ParseTime("2024-05-01T08:00:00Z")));
  const DeploymentStatus before = s;
  s.Set(MakeCondition("T", "True", "R", "second", kNow));
  EXPECT_EQ(s, before);
  s.Set(MakeCondition("T", "True", "Other", "third", kNow));
  EXPECT_EQ(s.Find("T")->last_update, "2024-05-01T12:00:00Z");
  EXPECT_EQ(s.Find("T")->last_transition, "2024-05-01T08:00:00Z");
  s.Set(MakeCondition("T", "False", "Other", "fourth", kNow));
  EXPECT_EQ(s.Find("T")->last_transition, "2024-05-01T12:00:00Z");
}

TEST(Deployment, LimitsFollowTheSize) {
  World w;
  w.Strategy(0, "25%", "25%");
  EXPECT_EQ(w.See().deployment.MaxReplicas(), 0);
  EXPECT_EQ(w.See().deployment.MinAvailable(), 0);
  w.Strategy(2, 0, 5);
  EXPECT_EQ(w.See().deployment.MinAvailable(), 0) << "never more unavailable than there are";
  w.deployment["spec"]["strategy"]["rollingUpdate"]["maxSurge"] = "a lot";
  EXPECT_FALSE(DeploymentOf(JsonNode(w.deployment)).ok());
}

}  // namespace
}  // namespace kcm::pod::deployment
