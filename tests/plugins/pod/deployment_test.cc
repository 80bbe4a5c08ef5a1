// SPDX-License-Identifier: Apache-2.0
// deployment-controller in a real host, beside replicaset-controller: the scenarios of
// spec/pod-workloads.md section 4.
#include <map>
#include <regex>

#include "plugins/pod/workloads.h"

namespace kcm::harness {
namespace {

constexpr char kRevision[] = "deployment.kubernetes.io/revision";
constexpr char kHistory[] = "deployment.kubernetes.io/revision-history";
constexpr char kDesired[] = "deployment.kubernetes.io/desired-replicas";
constexpr char kMax[] = "deployment.kubernetes.io/max-replicas";
constexpr char kRollback[] = "deprecated.deployment.rollback.to";

Json Image(const std::string& image) {
  return {{"template", {{"spec", {{"containers", {{{"name", "c"}, {"image", image}}}}}}}}};
}
Json Rolling(const Json& surge, const Json& unavailable) {
  return {{"strategy",
           {{"type", "RollingUpdate"},
            {"rollingUpdate", {{"maxSurge", surge}, {"maxUnavailable", unavailable}}}}}};
}

class Deployment : public Workloads {
 protected:
  using Workloads::Workloads;
  void Create(int replicas, const Json& spec = Json::object()) {
    CreateAndSettle(Workload("Deployment", "d", replicas, spec));
  }
  void SetSpec(const Json& spec) {
    cluster.MergePatch("deployments", "d", {{"spec", spec}});
    Settle();
  }
  void SetImage(const std::string& image) { SetSpec(Image(image)); }
  void Annotate(const std::string& name, const Json& value) {
    cluster.MergePatch("deployments", "d", {{"metadata", {{"annotations", {{name, value}}}}}});
    Settle();
  }
  Json D() { return cluster.Get("deployments", "d"); }
  std::string Reason(const std::string& type) {
    const Json c = Condition(D(), type);
    return c.is_null() ? "" : c["status"].get<std::string>() + " " + c["reason"].get<std::string>();
  }
  // The ReplicaSet that d controls with this image; null when there is none.
  Json Set(const std::string& image) {
    for (const Json& rs : cluster.List("replicasets"))
      if (OwnerName(rs) == "d" && rs["spec"]["template"]["spec"]["containers"][0]["image"] == image)
        return rs;
    return nullptr;
  }
  std::string SetName(const std::string& image) {
    const Json rs = Set(image);
    return rs.is_null() ? "none" : Name(rs);
  }
  int64_t Size(const std::string& image) {
    const Json rs = Set(image);
    return rs.is_null() ? -1 : rs["spec"]["replicas"].get<int64_t>();
  }
  // A Recreate rollout from "nginx:1" to "new": its two old pods, which are on their way out.
  std::vector<Json> BeginRecreate() {
    Create(2, {{"strategy", {{"type", "Recreate"}}},
               {"template", {{"spec", {{"terminationGracePeriodSeconds", 60}}}}}});
    Complete("nginx:1");
    const std::string old_set = SetName("nginx:1");
    SetImage("new");
    cluster.Advance(5s);
    return PodsOf(old_set);
  }
  // Makes one more pod of this image ready.
  bool RunOne(const std::string& image) {
    for (const Json& p : AlivePodsOf(SetName(image))) {
      if (IsReady(p)) continue;
      Run(Name(p));
      Settle();
      return true;
    }
    return false;
  }
  // Plays kubelet until the rollout to `image` is over.
  void Complete(const std::string& image) {
    for (int round = 0; round < 60; ++round) {
      FinishDeletions();
      if (Set(image).is_null() || !RunOne(image)) {
        if (Reason("Progressing") == "True NewReplicaSetAvailable" &&
            Number(D()["status"], "updatedReplicas") == D()["spec"]["replicas"] &&
            Number(D()["status"], "replicas") == D()["spec"]["replicas"]) {
          cluster.Advance(1s);
          return;
        }
        cluster.Advance(100ms);
      }
    }
    ADD_FAILURE() << "the rollout to " << image << " is not complete: " << D()["status"].dump();
  }
};

TEST_F(Deployment, DEP_01_CreatesOneReplicaSet) {
  Create(3);
  const std::vector<Json> sets = cluster.List("replicasets");
  ASSERT_EQ(sets.size(), 1u);
  const Json& rs = sets[0];
  const std::string hash = rs["metadata"]["labels"]["pod-template-hash"];
  EXPECT_TRUE(std::regex_match(hash, std::regex("[bcdfghjklmnpqrstvwxz2456789]{1,10}"))) << hash;
  EXPECT_EQ(Name(rs), "d-" + hash);
  EXPECT_EQ(rs["spec"]["selector"]["matchLabels"],
            (Json{{"app", "x"}, {"pod-template-hash", hash}}));
  EXPECT_EQ(rs["spec"]["template"]["metadata"]["labels"],
            (Json{{"app", "x"}, {"pod-template-hash", hash}}));
  EXPECT_EQ(Controller(rs)["kind"], "Deployment");
  EXPECT_EQ(Controller(rs)["uid"], D()["metadata"]["uid"]);
  EXPECT_EQ(Annotation(rs, kRevision), "1");
  EXPECT_EQ(Annotation(rs, kDesired), "3");
  EXPECT_EQ(Annotation(rs, kMax), "4");
  EXPECT_EQ(Annotation(D(), kRevision), "1");
  EXPECT_TRUE(cluster.HasEvent("Deployment", "d", "ScalingReplicaSet",
                               "Scaled up replica set d-" + hash + " from 0 to 3"));
}

TEST_F(Deployment, DEP_02_ReportsCompletion) {
  Create(3);
  Complete("nginx:1");
  const Json status = D()["status"];
  for (const char* count : {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"})
    EXPECT_EQ(status[count], 3) << count;
  EXPECT_EQ(Reason("Available"), "True MinimumReplicasAvailable");
  EXPECT_EQ(Reason("Progressing"), "True NewReplicaSetAvailable");
  EXPECT_EQ(Condition(D(), "Progressing")["message"],
            "ReplicaSet \"" + SetName("nginx:1") + "\" has successfully progressed.");
}

TEST_F(Deployment, DEP_03_RollsInStepsWithinTheLimits) {
  Create(10);
  Complete("nginx:1");
  SetImage("new");
  cluster.Advance(30s);
  EXPECT_EQ(Size("nginx:1"), 8);
  EXPECT_EQ(Size("new"), 5);
  const std::string old_set = SetName("nginx:1"), new_set = SetName("new");
  for (const std::string& step : {"Scaled up replica set " + new_set + " from 0 to 3",
                                  "Scaled down replica set " + old_set + " from 10 to 8",
                                  "Scaled up replica set " + new_set + " from 3 to 5"}) {
    EXPECT_TRUE(cluster.HasEvent("Deployment", "d", "ScalingReplicaSet", step)) << step;
  }
  EXPECT_EQ(D()["status"]["availableReplicas"], 8);
}

TEST_F(Deployment, DEP_04_NeverLeavesTheLimits) {
  Create(10);
  Complete("nginx:1");
  SetImage("new");
  const auto check = [&] {
    EXPECT_GE(D()["status"]["availableReplicas"], 8);
    EXPECT_LE(Size("nginx:1") + Size("new"), 13);
    int64_t available = 0;
    for (const char* image : {"nginx:1", "new"})
      available += Number(Set(image)["status"], "availableReplicas");
    EXPECT_GE(available, 8);
  };
  check();
  for (int i = 0; i < 40 && (Size("nginx:1") > 0 || Size("new") < 10); ++i) {
    FinishDeletions();
    if (!RunOne("new")) cluster.Advance(1s);
    check();
  }
  EXPECT_EQ(Size("new"), 10);
  EXPECT_EQ(Size("nginx:1"), 0);
}

TEST_F(Deployment, DEP_05_CountsOneAsUnavailableWhenBothLimitsAreZero) {
  Create(1, Rolling(0, "25%"));
  Complete("nginx:1");
  SetImage("new");
  EXPECT_EQ(Size("nginx:1"), 0);
  FinishDeletions();
  cluster.Advance(1s);
  EXPECT_EQ(Size("new"), 1);
  const std::vector<std::string> events = cluster.Events("Deployment", "d");
  const auto down = std::find(
      events.begin(), events.end(),
      "Normal ScalingReplicaSet Scaled down replica set " + SetName("nginx:1") + " from 1 to 0");
  const auto up = std::find(
      events.begin(), events.end(),
      "Normal ScalingReplicaSet Scaled up replica set " + SetName("new") + " from 0 to 1");
  ASSERT_NE(down, events.end());
  ASSERT_NE(up, events.end());
  EXPECT_EQ(Set("new")["metadata"]["generation"], 2) << "created with 0 replicas";
}

TEST_F(Deployment, DEP_06_ReplacesABrokenRollout) {
  Create(10, Rolling(3, 2));
  Complete("nginx:1");
  SetImage("broken");
  FinishDeletions();
  ASSERT_EQ(Size("nginx:1"), 8);
  ASSERT_EQ(Size("broken"), 5);
  SetImage("third");
  FinishDeletions();
  cluster.Advance(1s);
  EXPECT_EQ(Size("broken"), 0);
  EXPECT_EQ(Size("nginx:1"), 8);
  EXPECT_EQ(Size("third"), 5);
  EXPECT_FALSE(cluster.HasEvent("Deployment", "d", "ScalingReplicaSet",
                                "Scaled up replica set " + SetName("third") + " from 0 to 0"));
  EXPECT_TRUE(cluster.HasEvent("Deployment", "d", "ScalingReplicaSet",
                               "Scaled down replica set " + SetName("broken") + " from 5 to 0"));
  EXPECT_TRUE(cluster.HasEvent("Deployment", "d", "ScalingReplicaSet",
                               "Scaled up replica set " + SetName("third") + " from 0 to 5"));
}

TEST_F(Deployment, DEP_07_GoesBackToAnOldReplicaSet) {
  Create(1);
  Complete("nginx:1");
  SetImage("two");
  Complete("two");
  const std::string first = SetName("nginx:1");
  SetImage("nginx:1");
  Complete("nginx:1");
  EXPECT_EQ(cluster.List("replicasets").size(), 2u);
  EXPECT_EQ(SetName("nginx:1"), first);
  EXPECT_EQ(Annotation(Set("nginx:1"), kRevision), "3");
  EXPECT_EQ(Annotation(Set("nginx:1"), kHistory), "1");
  EXPECT_EQ(Annotation(D(), kRevision), "3");
  EXPECT_EQ(Size("two"), 0);
}

TEST_F(Deployment, DEP_08_CopiesAnnotations) {
  Json d = Workload("Deployment", "d", 1);
  d["metadata"]["annotations"] = {{"a", "1"},
                                  {"kubectl.kubernetes.io/last-applied-configuration", "{}"}};
  CreateAndSettle(d);
  EXPECT_EQ(Annotation(Set("nginx:1"), "a"), "1");
  Annotate("a", "2");
  EXPECT_EQ(Annotation(Set("nginx:1"), "a"), "2");
  Annotate("a", nullptr);
  cluster.Advance(1s);
  EXPECT_EQ(Annotation(Set("nginx:1"), "a"), "2");
  EXPECT_EQ(Annotation(Set("nginx:1"), "kubectl.kubernetes.io/last-applied-configuration"), "");
}

TEST_F(Deployment, DEP_09_KeepsTheHistoryShort) {
  Create(1, {{"revisionHistoryLimit", 2}});
  Complete("nginx:1");
  for (const char* image : {"two", "three", "four", "five"}) {
    SetImage(image);
    Complete(image);
  }
  cluster.Advance(1s);
  std::vector<std::string> revisions;
  for (const Json& rs : cluster.List("replicasets")) revisions.push_back(Annotation(rs, kRevision));
  std::sort(revisions.begin(), revisions.end());
  EXPECT_EQ(revisions, (std::vector<std::string>{"3", "4", "5"}));
  SetSpec({{"revisionHistoryLimit", 0}});
  cluster.Advance(1s);
  ASSERT_EQ(cluster.List("replicasets").size(), 1u);
  EXPECT_EQ(Annotation(cluster.List("replicasets")[0], kRevision), "5");
}

TEST_F(Deployment, DEP_10_PausedItOnlyScales) {
  Create(3, {{"paused", true}});
  EXPECT_EQ(cluster.List("replicasets").size(), 0u);
  SetSpec({{"paused", false}});
  Complete("nginx:1");
  SetSpec({{"paused", true}});
  SetImage("new");
  cluster.Advance(5s);
  EXPECT_EQ(cluster.List("replicasets").size(), 1u);
  EXPECT_EQ(Reason("Progressing"), "Unknown DeploymentPaused");
  SetSpec({{"replicas", 5}});
  EXPECT_EQ(Size("nginx:1"), 5);
  (void)cluster.Audit();
  SetSpec({{"paused", false}});
  bool resumed = false, created_after = false;
  for (const auto& e : cluster.Audit()) {
    if (e.method == "PUT" && e.uri.find("/deployments/d/status") != std::string::npos)
      resumed = resumed || e.body.find("DeploymentResumed") != std::string::npos;
    if (e.method == "POST" && e.uri.find("/replicasets") != std::string::npos)
      created_after = resumed;
  }
  EXPECT_TRUE(resumed);
  EXPECT_TRUE(created_after);
  EXPECT_GT(Size("new"), 0);
}

TEST_F(Deployment, DEP_11_NotesThatTheDeadlineHasPassed) {
  AlignToSecond();
  Create(1, {{"progressDeadlineSeconds", 10}});
  cluster.Advance(9s);
  EXPECT_NE(Reason("Progressing"), "False ProgressDeadlineExceeded");
  cluster.Advance(4s);
  EXPECT_EQ(Reason("Progressing"), "False ProgressDeadlineExceeded");
  EXPECT_EQ(Condition(D(), "Progressing")["message"],
            "ReplicaSet \"" + SetName("nginx:1") + "\" has timed out progressing.");
  cluster.Advance(60s);
  EXPECT_EQ(Size("nginx:1"), 1);
  EXPECT_EQ(cluster.List("replicasets").size(), 1u);
  Complete("nginx:1");
  EXPECT_EQ(Reason("Progressing"), "True NewReplicaSetAvailable");
}

TEST_F(Deployment, DEP_12_AResumedDeploymentHasItsWholeDeadline) {
  Create(1, {{"progressDeadlineSeconds", 5}});
  SetSpec({{"paused", true}});
  cluster.Advance(20s);
  EXPECT_EQ(Reason("Progressing"), "Unknown DeploymentPaused");
  AlignToSecond();
  SetSpec({{"paused", false}});
  for (int i = 0; i < 5; ++i) {
    EXPECT_NE(Reason("Progressing"), "False ProgressDeadlineExceeded") << i;
    cluster.Advance(950ms);
  }
  EXPECT_NE(Reason("Progressing"), "False ProgressDeadlineExceeded");
}

TEST_F(Deployment, DEP_13_ScalesInProportionInOneReconcile) {
  Create(8, Rolling(2, 0));
  Complete("nginx:1");
  SetImage("new");
  ASSERT_EQ(Size("new"), 2);
  RunOne("new");
  FinishDeletions();
  ASSERT_EQ(Size("nginx:1"), 7);
  ASSERT_EQ(Size("new"), 3);
  (void)cluster.HostWrites();
  SetSpec({{"replicas", 16}});
  EXPECT_EQ(Size("nginx:1"), 13);
  EXPECT_EQ(Size("new"), 5);
  for (const char* image : {"nginx:1", "new"}) {
    EXPECT_EQ(Annotation(Set(image), kMax), "18") << image;
    EXPECT_EQ(Annotation(Set(image), kDesired), "16") << image;
  }
  // One PUT each, before the status that ends the reconcile.
  std::vector<std::string> puts;
  for (const std::string& w : cluster.HostWrites()) {
    if (w.find("/deployments/d/status") != std::string::npos) break;
    if (w.rfind("PUT /apis/apps/v1/namespaces/default/replicasets/", 0) == 0 &&
        w.find("/status") == std::string::npos)
      puts.push_back(w);
  }
  std::sort(puts.begin(), puts.end());
  std::vector<std::string> want = {
      "PUT /apis/apps/v1/namespaces/default/replicasets/" + SetName("nginx:1"),
      "PUT /apis/apps/v1/namespaces/default/replicasets/" + SetName("new")};
  std::sort(want.begin(), want.end());
  EXPECT_EQ(puts, want);
}

TEST_F(Deployment, DEP_14_TheNewerOfEqualsGrows) {
  Create(5, Rolling(1, 0));
  Complete("nginx:1");
  SetImage("new");
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(RunOne("new"));
    FinishDeletions();
  }
  ASSERT_EQ(Size("nginx:1"), 3);
  ASSERT_EQ(Size("new"), 3);
  SetSpec({{"replicas", 6}});
  EXPECT_EQ(Size("new"), 4);
  EXPECT_EQ(Size("nginx:1"), 3);
}

TEST_F(Deployment, DEP_15_RecreateWaitsForTheLastOldPod) {
  const std::vector<Json> going = BeginRecreate();
  EXPECT_EQ(Size("nginx:1"), 0);
  ASSERT_EQ(going.size(), 2u);
  EXPECT_TRUE(Set("new").is_null());
  Gone(Name(going[0]));
  cluster.Advance(5s);
  EXPECT_TRUE(Set("new").is_null());
  EXPECT_EQ(cluster.List("pods").size(), 1u);
  Gone(Name(going[1]));
  cluster.Until(
      "the new ReplicaSet", [&] { return Size("new") == 2; }, 5s);
  EXPECT_EQ(Size("new"), 2);
}

// The write that names the new ReplicaSet would meet a conflict if it were made from a Deployment
// that is older than the controller's own last status: nothing changes the message later.
TEST_F(Deployment, RecreateNamesTheNewReplicaSetAlsoWhenTheCacheIsBehind) {
  const std::vector<Json> going = BeginRecreate();
  ASSERT_EQ(going.size(), 2u);
  cluster.HoldCaches("deployments");
  const Json before = D()["status"];
  Gone(Name(going[0]));
  cluster.Advance(1s);
  ASSERT_NE(D()["status"], before) << "nothing was written that the cache could be behind of";
  Gone(Name(going[1]));
  cluster.Advance(5s);
  EXPECT_TRUE(Set("new").is_null());
  cluster.ReleaseCaches();
  cluster.Until("the new ReplicaSet", [&] { return Size("new") == 2; });
  Complete("new");
  EXPECT_EQ(Condition(D(), "Progressing")["message"],
            "ReplicaSet \"" + SetName("new") + "\" has successfully progressed.");
}

TEST_F(Deployment, DEP_16_AFailedPodDoesNotBlockRecreate) {
  Create(1, {{"strategy", {{"type", "Recreate"}}}});
  Complete("nginx:1");
  const std::string old_set = SetName("nginx:1"), failed = Name(PodsOf(old_set)[0]);
  cluster.PatchStatus("pods", failed, {{"phase", "Failed"}});
  Settle();
  SetImage("new");
  FinishDeletions();
  cluster.Advance(5s);
  EXPECT_EQ(Size("new"), 1);
  EXPECT_EQ(OwnerName(cluster.Get("pods", failed)), old_set);
}

TEST_F(Deployment, DEP_17_AdoptsAnOrphanOfItsTemplate) {
  Json rs = Workload("ReplicaSet", "foreign", 1,
                     {{"selector", {{"matchLabels", {{"pod-template-hash", "abc"}}}}},
                      {"template", {{"metadata", {{"labels", {{"pod-template-hash", "abc"}}}}}}}});
  rs["metadata"]["labels"] = {{"app", "x"}, {"pod-template-hash", "abc"}};
  CreateAndSettle(rs);
  Create(1);
  cluster.Advance(1s);
  ASSERT_EQ(cluster.List("replicasets").size(), 1u);
  const Json adopted = cluster.Get("replicasets", "foreign");
  EXPECT_EQ(OwnerName(adopted), "d");
  EXPECT_EQ(Annotation(adopted, kRevision), "1");
  EXPECT_EQ(Annotation(D(), kRevision), "1");
  const std::string reason = Reason("Progressing");
  EXPECT_TRUE(reason == "True FoundNewReplicaSet" || reason == "True ReplicaSetUpdated" ||
              reason == "True NewReplicaSetAvailable")
      << reason;
}

TEST_F(Deployment, DEP_18_AReleasedReplicaSetLeavesItsNameTaken) {
  Create(3);
  Complete("nginx:1");
  const std::string released = SetName("nginx:1");
  cluster.MergePatch("replicasets", released, {{"metadata", {{"labels", {{"app", "other"}}}}}});
  Settle();
  cluster.Advance(5s);
  EXPECT_EQ(OwnerName(cluster.Get("replicasets", released)), "");
  EXPECT_EQ(D()["status"]["collisionCount"], 1);
  EXPECT_NE(SetName("nginx:1"), released);
  EXPECT_EQ(Size("nginx:1"), 3);
  EXPECT_EQ(cluster.List("replicasets").size(), 2u);
  EXPECT_EQ(AlivePodsOf(released).size(), 3u);
  EXPECT_EQ(AlivePodsOf(SetName("nginx:1")).size(), 3u);
}

TEST_F(Deployment, DEP_19_OnlyTheMeaningOfATemplateCounts) {
  const auto containers = [](const char* cpu, const Json& env) {
    return Json{{"template",
                 {{"spec",
                   {{"containers",
                     {{{"name", "c"},
                       {"image", "nginx:1"},
                       {"env", env},
                       {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}}}}};
  };
  const Json a{{"name", "A"}, {"value", "1"}}, b{{"name", "B"}, {"value", "2"}};
  Create(1, containers("1", {a, b}));
  Complete("nginx:1");
  SetSpec(containers("1000m", {a, b}));
  cluster.Advance(5s);
  EXPECT_EQ(cluster.List("replicasets").size(), 1u);
  EXPECT_GE(D()["status"]["observedGeneration"], D()["metadata"]["generation"]);
  SetSpec(containers("1000m", {b, a}));
  EXPECT_EQ(cluster.List("replicasets").size(), 2u);
}

TEST_F(Deployment, DEP_20_ShowsTheFailureOfItsReplicaSet) {
  CreateQuota("q", "1");
  Settle();
  Create(2);
  const Json failure = Condition(D(), "ReplicaFailure");
  ASSERT_FALSE(failure.is_null());
  EXPECT_EQ(failure["status"], "True");
  EXPECT_EQ(failure["reason"], "FailedCreate");
  EXPECT_EQ(failure["message"], Condition(Set("nginx:1"), "ReplicaFailure")["message"]);
  EXPECT_NE(failure["message"].get<std::string>().find("exceeded quota"), std::string::npos);
  SetSpec({{"replicas", 1}});
  cluster.Until("the ReplicaSet recovers",
                [&] { return Condition(Set("nginx:1"), "ReplicaFailure").is_null(); });
  Settle();
  EXPECT_TRUE(Condition(D(), "ReplicaFailure").is_null());
}

TEST_F(Deployment, DEP_21_RollsBackByAnnotation) {
  Create(1);
  Complete("nginx:1");
  SetImage("two");
  Complete("two");
  SetImage("three");
  Complete("three");
  Annotate(kRollback, "0");
  Json d = D();
  EXPECT_EQ(d["spec"]["template"]["spec"]["containers"][0]["image"], "two");
  EXPECT_FALSE(d["spec"]["template"]["metadata"]["labels"].contains("pod-template-hash"));
  EXPECT_EQ(Annotation(d, kRollback), "");
  EXPECT_TRUE(cluster.HasEvent("Deployment", "d", "DeploymentRollback",
                               "Rolled back deployment \"d\" to revision 2"));
  Complete("two");
  EXPECT_EQ(Annotation(D(), kRevision), "4");
  const Json spec = D()["spec"];
  Annotate(kRollback, "99");
  EXPECT_TRUE(cluster.HasEvent("Deployment", "d", "DeploymentRollbackRevisionNotFound",
                               "Unable to find the revision to rollback to."));
  EXPECT_FALSE(D()["metadata"]["annotations"].contains(kRollback));
  EXPECT_EQ(D()["spec"], spec);
}

TEST_F(Deployment, DEP_22_ZeroReplicasAreComplete) {
  Create(0);
  cluster.Advance(1s);
  EXPECT_EQ(Condition(D(), "Available")["status"], "True");
  EXPECT_EQ(Number(D()["status"], "replicas"), 0);
  EXPECT_EQ(Reason("Progressing"), "True NewReplicaSetAvailable");
}

TEST_F(Deployment, DEP_23_MinReadySecondsReachTheReplicaSet) {
  Create(1);
  Complete("nginx:1");
  SetSpec({{"minReadySeconds", 10}});
  cluster.Advance(1s);
  EXPECT_EQ(cluster.List("replicasets").size(), 1u);
  EXPECT_EQ(Set("nginx:1")["spec"]["minReadySeconds"], 10);
}

TEST_F(Deployment, DEP_24_AReplicaSetScaledByHandDoesNotBlock) {
  Create(3);
  Complete("nginx:1");
  ASSERT_EQ(cluster.StopHost(), 0);
  cluster.MergePatch("replicasets", SetName("nginx:1"), {{"spec", {{"replicas", 5}}}});
  cluster.MergePatch("deployments", "d", {{"spec", {{"replicas", 5}}}});
  cluster.StartHost();
  cluster.Advance(2s);
  EXPECT_EQ(Annotation(Set("nginx:1"), kDesired), "5");
  SetImage("new");
  cluster.Advance(2s);
  EXPECT_GT(Size("new"), 0);
}

TEST_F(Deployment, DEP_25_DoesNothingWhileItIsDeleted) {
  Create(2);
  Complete("nginx:1");
  const Json rs = Set("nginx:1");
  (void)cluster.HostWrites();
  cluster.Delete("deployments", "d", {{"propagationPolicy", "Foreground"}});
  cluster.MergePatch("deployments", "d", {{"spec", {{"replicas", 5}}}});
  SetImage("new");
  cluster.Advance(30s);
  ASSERT_TRUE(IsDeleting(D()));
  EXPECT_EQ(cluster.List("replicasets").size(), 1u);
  EXPECT_EQ(Set("nginx:1")["spec"], rs["spec"]);
  for (const std::string& w : cluster.HostWrites())
    EXPECT_EQ(w, "PUT /apis/apps/v1/namespaces/default/deployments/d/status");
}

TEST_F(Deployment, DEP_27_CutsLongNames) {
  const std::string name(253, 'n');
  CreateAndSettle(Workload("Deployment", name, 1));
  const std::vector<Json> sets = cluster.List("replicasets");
  ASSERT_EQ(sets.size(), 1u);
  const std::string hash = sets[0]["metadata"]["labels"]["pod-template-hash"], set = Name(sets[0]);
  EXPECT_LE(set.size(), 253u);
  EXPECT_EQ(set.substr(set.size() - hash.size() - 1), "-" + hash);
  EXPECT_EQ(cluster.List("pods").size(), 1u);
}

}  // namespace
}  // namespace kcm::harness
