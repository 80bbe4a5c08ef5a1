// SPDX-License-Identifier: Apache-2.0
// replicaset-controller in a real host: the scenarios of spec/pod-workloads.md section 2.
#include <regex>
#include <set>

#include "plugins/pod/workloads.h"

namespace kcm::harness {
namespace {

constexpr char kPods[] = "POST /api/v1/namespaces/default/pods";
constexpr char kStatusOfA[] = "PUT /apis/apps/v1/namespaces/default/replicasets/a/status";

class ReplicaSet : public Workloads {
 protected:
  using Workloads::Workloads;
  void Create(int replicas, const Json& spec = Json::object()) {
    CreateAndSettle(Workload("ReplicaSet", "a", replicas, spec));
  }
  void ScaleTo(int replicas) { Scale("replicasets", "a", replicas); }
  Json A() { return cluster.Get("replicasets", "a"); }
  Json StatusOfA() { return Status("replicasets", "a"); }
  static Json Restarts(int n) {
    return {{"containerStatuses",
             {{{"name", "c"},
               {"image", "nginx:1"},
               {"imageID", ""},
               {"ready", true},
               {"restartCount", n}}}}};
  }
  // Names of the pods of a, of which there are to be `count`.
  std::vector<std::string> Names(size_t count) {
    std::vector<std::string> names;
    for (const Json& p : PodsOf("a")) names.push_back(Name(p));
    EXPECT_EQ(names.size(), count);
    names.resize(count);  // missing ones fail what is done with them
    return names;
  }
};

TEST_F(ReplicaSet, RS_01_CreatesPodsFromItsTemplate) {
  Create(3);
  const Json a = A();
  const std::vector<Json> pods = cluster.List("pods");
  ASSERT_EQ(pods.size(), 3u);
  for (const Json& pod : pods) {
    EXPECT_TRUE(std::regex_match(Name(pod), std::regex("a-[a-z0-9]{5}"))) << Name(pod);
    EXPECT_EQ(pod["metadata"]["labels"], (Json{{"app", "x"}}));
    EXPECT_EQ(pod["metadata"]["generateName"], "a-");
    EXPECT_EQ(pod["metadata"]["ownerReferences"], (Json{{{"apiVersion", "apps/v1"},
                                                         {"kind", "ReplicaSet"},
                                                         {"name", "a"},
                                                         {"uid", a["metadata"]["uid"]},
                                                         {"controller", true},
                                                         {"blockOwnerDeletion", true}}}));
    EXPECT_EQ(pod["spec"]["containers"][0]["image"], "nginx:1");
  }
  EXPECT_EQ(a["status"]["replicas"], 3);
  EXPECT_EQ(a["status"]["fullyLabeledReplicas"], 3);
  EXPECT_EQ(Number(a["status"], "readyReplicas"), 0);
  EXPECT_EQ(a["status"]["observedGeneration"], 1);
  for (const Json& pod : pods)
    EXPECT_TRUE(
        cluster.HasEvent("ReplicaSet", "a", "SuccessfulCreate", "Created pod: " + Name(pod)));
}

TEST_F(ReplicaSet, RS_02_AQuotaStopsCreationAndShowsAsACondition) {
  CreateQuota("q", "3");
  Settle();
  (void)cluster.HostWrites();
  Create(10);
  // The first reconcile ends with its status: 1 + 2 + 4 creates, of which 3 succeed.
  const std::vector<std::string> writes = cluster.HostWrites();
  const auto end = std::find(writes.begin(), writes.end(), kStatusOfA);
  ASSERT_NE(end, writes.end());
  EXPECT_EQ(std::count(writes.begin(), end, kPods), 7);
  EXPECT_EQ(cluster.List("pods").size(), 3u);
  const Json failure = Condition(A(), "ReplicaFailure");
  ASSERT_FALSE(failure.is_null());
  EXPECT_EQ(failure["status"], "True");
  EXPECT_EQ(failure["reason"], "FailedCreate");
  EXPECT_NE(failure["message"].get<std::string>().find("exceeded quota"), std::string::npos);
  EXPECT_TRUE(cluster.HasEvent("ReplicaSet", "a", "FailedCreate", "Error creating: pods \"a-"));
  ScaleTo(3);
  cluster.Until(
      "the condition is gone", [&] { return Condition(A(), "ReplicaFailure").is_null(); }, 30s, 1s);
  EXPECT_EQ(cluster.List("pods").size(), 3u);
}

TEST_F(ReplicaSet, RS_03_DeletesPodsThatAreNotReadyFirst) {
  Create(3);
  const std::vector<std::string> p = Names(3);
  cluster.Bind(p[1], "n1");
  cluster.MakeNotReady(p[1]);
  Run(p[2]);
  Settle();  // the choice is made from the cache
  ScaleTo(1);
  EXPECT_TRUE(IsGoing(p[0]));
  EXPECT_TRUE(IsGoing(p[1]));
  EXPECT_FALSE(IsGoing(p[2]));
}

TEST_F(ReplicaSet, RS_04_DeletesCheapPodsFirst) {
  const auto cost = [&](const std::string& pod, const std::string& value) {
    cluster.MergePatch(
        "pods", pod,
        {{"metadata", {{"annotations", {{"controller.kubernetes.io/pod-deletion-cost", value}}}}}});
  };
  Create(3);
  std::vector<std::string> p = Names(3);
  for (size_t i = 0; i < 3; ++i) Run(p[i], "n" + std::to_string(i));
  cost(p[0], "10");
  cost(p[1], "100");
  Settle();
  ScaleTo(2);
  EXPECT_TRUE(IsGoing(p[2])) << "no cost is 0";
  EXPECT_FALSE(IsGoing(p[0]));
  ScaleTo(1);
  EXPECT_TRUE(IsGoing(p[0]));
  EXPECT_FALSE(IsGoing(p[1]));
  FinishDeletions();
  ScaleTo(3);
  RunAll("a");
  p = {Name(cluster.Get("pods", p[1]))};
  for (const std::string& name : Names(3))
    if (name != p[0]) p.push_back(name);
  cost(p[0], "-1");
  cost(p[1], "1");
  Settle();
  ScaleTo(2);
  EXPECT_TRUE(IsGoing(p[0]));
  EXPECT_FALSE(IsGoing(p[1]));
  EXPECT_FALSE(IsGoing(p[2]));
}

TEST_F(ReplicaSet, RS_05_DeletesPodsWhereTheirDeploymentHasMost) {
  CreateAndSettle(Workload("Deployment", "d", 4));
  const std::string rs = Name(cluster.List("replicasets")[0]);
  const std::vector<Json> pods = PodsOf(rs);
  ASSERT_EQ(pods.size(), 4u);
  // The lone one has restarted most: without the rank it would be the first to go.
  for (size_t i = 0; i < 4; ++i) {
    cluster.Bind(Name(pods[i]), i == 0 ? "n2" : "n1");
    ReadySince(Name(pods[i]), -60s, Restarts(i == 0 ? 9 : 0));
  }
  Settle();
  Scale("deployments", "d", 3);
  EXPECT_FALSE(IsGoing(Name(pods[0])));
  EXPECT_EQ(AlivePodsOf(rs).size(), 3u);
}

TEST_F(ReplicaSet, RS_06_ComparesReadyTimesOnALogarithmicScale) {
  Create(2);
  std::vector<std::string> p = Names(2);
  cluster.Bind(p[0], "n1");
  cluster.Bind(p[1], "n1");
  ReadySince(p[0], -2h);
  ReadySince(p[1], -5h);
  Settle();
  ScaleTo(1);
  EXPECT_TRUE(IsGoing(p[0]));
  EXPECT_FALSE(IsGoing(p[1]));
  FinishDeletions();
  // 5 h and 8 h are of one size: the smaller uid goes, whichever of the two it is.
  ScaleTo(2);
  std::vector<Json> pods = PodsOf("a");
  ASSERT_EQ(pods.size(), 2u);
  std::sort(pods.begin(), pods.end(), [](const Json& x, const Json& y) {
    return x["metadata"]["uid"] < y["metadata"]["uid"];
  });
  for (const Json& pod : pods)
    if (Name(pod) != p[1]) cluster.Bind(Name(pod), "n1");
  ReadySince(Name(pods[0]), -8h);
  ReadySince(Name(pods[1]), -5h);
  Settle();
  ScaleTo(1);
  EXPECT_TRUE(IsGoing(Name(pods[0])));
  EXPECT_FALSE(IsGoing(Name(pods[1])));
}

TEST_F(ReplicaSet, RS_07_DeletesThePodThatRestartedMore) {
  Create(2);
  const std::vector<std::string> p = Names(2);
  for (size_t i = 0; i < 2; ++i) {
    cluster.Bind(p[i], "n1");
    ReadySince(p[i], -60s, Restarts(i == 1 ? 7 : 0));
  }
  Settle();
  ScaleTo(1);
  EXPECT_TRUE(IsGoing(p[1]));
  EXPECT_FALSE(IsGoing(p[0]));
}

class ReplicaSetOnServers : public ReplicaSet {
 protected:
  // One of two pods is going. `reported`: the server keeps their number.
  static void CheckOneTerminating(Cluster& c, bool reported) {
    c.Create(Workload("ReplicaSet", "a", 2));
    c.Advance(200ms);
    std::vector<Json> pods = c.List("pods");
    ASSERT_EQ(pods.size(), 2u);
    for (const Json& p : pods) {
      c.Bind(Name(p), "n1");
      c.MakeReady(Name(p));
    }
    c.Advance(200ms);
    c.Delete("pods", Name(pods[0]), {{"gracePeriodSeconds", 300}});
    c.Until(
        "a third pod exists", [&] { return c.List("pods").size() == 3; }, 5s);
    c.Advance(200ms);
    const Json status = c.Get("replicasets", "a")["status"];
    EXPECT_EQ(status["replicas"], 2);
    EXPECT_EQ(status["readyReplicas"], 1);
    if (reported) {
      EXPECT_EQ(status.value("terminatingReplicas", -1), 1);
    } else {
      EXPECT_FALSE(status.contains("terminatingReplicas"));
    }
  }

  static void CheckWith(const std::string& server_version, std::vector<std::string> flags,
                        bool reported) {
    Cluster old({.plugins = {"pod"},
                 .flags = std::move(flags),
                 .nodes = 0,
                 .scheduler = false,
                 .watch_list = false,
                 .server_version = server_version});
    CreateAccount(old, "default");
    CheckOneTerminating(old, reported);
  }
};

TEST_F(ReplicaSetOnServers, RS_08_ReplacesAPodThatIsStillTerminating) {
  CheckOneTerminating(cluster, true);
  CheckWith("v1.28.0", {}, false);
}

TEST_F(ReplicaSetOnServers, AGateSetByNameCountsForAnOlderServer) {
  CheckWith("v1.33.4", {"--feature-gates=DeploymentReplicaSetTerminatingReplicas=true"}, true);
  CheckWith("v1.33.4", {"--feature-gates=kube:DeploymentReplicaSetTerminatingReplicas=1"}, true);
  CheckWith("v1.33.4", {}, false);
}

TEST_F(ReplicaSet, RS_09_LeavesAFailedPodAndReplacesIt) {
  Create(2);
  const std::string failed = Names(2)[0];
  cluster.PatchStatus("pods", failed, {{"phase", "Failed"}});
  Settle();
  const std::vector<Json> pods = PodsOf("a");
  EXPECT_EQ(pods.size(), 3u);
  EXPECT_FALSE(IsGoing(failed));
  EXPECT_EQ(OwnerName(cluster.Get("pods", failed)), "a");
  EXPECT_EQ(StatusOfA()["replicas"], 2);
}

TEST_F(ReplicaSet, RS_10_AvailabilityComesByTimeAlone) {
  Create(1, {{"minReadySeconds", 10}});
  AlignToSecond();
  Run(Names(1)[0]);
  Settle();
  EXPECT_EQ(StatusOfA()["readyReplicas"], 1);
  cluster.Advance(9s);
  EXPECT_EQ(Number(StatusOfA(), "availableReplicas"), 0);
  cluster.Advance(3s);
  EXPECT_EQ(Number(StatusOfA(), "availableReplicas"), 1);
}

TEST_F(ReplicaSet, RS_11_EachPodHasItsOwnTime) {
  Create(3, {{"minReadySeconds", 5}});
  const std::vector<std::string> p = Names(3);
  AlignToSecond();
  for (size_t i = 0; i < 3; ++i) {
    Run(p[i]);
    cluster.Advance(i < 2 ? 2s : 500ms);
  }
  // Now is t+4.5.
  EXPECT_EQ(Number(StatusOfA(), "availableReplicas"), 0);
  for (int n = 1; n <= 3; ++n) {
    cluster.Advance(2s);  // t+6.5, t+8.5, t+10.5
    EXPECT_EQ(Number(StatusOfA(), "availableReplicas"), n);
  }
}

TEST_F(ReplicaSet, RS_12_CreatesLargeSetsInBursts) {
  (void)cluster.HostWrites();
  cluster.Create(Workload("ReplicaSet", "a", 1200));
  cluster.Until(
      "1200 pods", [&] { return Number(StatusOfA(), "replicas") == 1200; }, 60s, 500ms);
  EXPECT_EQ(cluster.List("pods").size(), 1200u);
  // A reconcile that changes what is counted ends with a status, and a burst is over before the
  // next begins.
  int burst = 0, largest = 0, all = 0;
  for (const std::string& w : cluster.HostWrites()) {
    if (w == kStatusOfA) burst = 0;
    if (w == kPods) {
      ++all;
      largest = std::max(largest, ++burst);
    }
  }
  EXPECT_EQ(largest, 500);
  EXPECT_EQ(all, 1200);
}

TEST_F(ReplicaSet, RS_13_ANewSetOfTheSameNameAdoptsAtOnce) {
  Create(2);
  const std::vector<std::string> before = Names(2);
  const std::string old_uid = A()["metadata"]["uid"];
  cluster.Delete("replicasets", "a", {{"propagationPolicy", "Orphan"}});
  // The garbage collector's part: first the pods, then the finalizer.
  for (const std::string& name : before)
    cluster.MergePatch("pods", name, {{"metadata", {{"ownerReferences", nullptr}}}});
  cluster.MergePatch("replicasets", "a", {{"metadata", {{"finalizers", nullptr}}}});
  Create(2);
  cluster.Advance(1s);
  const Json a = A();
  EXPECT_NE(a["metadata"]["uid"], old_uid);
  EXPECT_EQ(Names(2), before);
  for (const Json& p : PodsOf("a")) EXPECT_EQ(Controller(p)["uid"], a["metadata"]["uid"]);
  EXPECT_EQ(cluster.List("pods").size(), 2u);
}

TEST_F(ReplicaSet, RS_14_CountsFullyLabeledPods) {
  CreateAndSettle(Orphan("o", {{"app", "x"}}));
  Create(2, {{"template", {{"metadata", {{"labels", {{"tier", "f"}}}}}}}});
  EXPECT_EQ(OwnerName(cluster.Get("pods", "o")), "a");
  EXPECT_EQ(StatusOfA()["replicas"], 2);
  EXPECT_EQ(StatusOfA()["fullyLabeledReplicas"], 1);
}

TEST_F(ReplicaSet, RS_15_DoesNotHammerATerminatingNamespace) {
  ASSERT_EQ(cluster.StopHost(), 0);
  cluster.Create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "n"}}}});
  CreateAccount(cluster, "n");
  Json rs{{"apiVersion", "apps/v1"},
          {"kind", "ReplicaSet"},
          {"metadata", {{"name", "a"}, {"namespace", "n"}}},
          {"spec",
           {{"replicas", 3},
            {"selector", {{"matchLabels", {{"app", "x"}}}}},
            {"template", PodTemplate({{"app", "x"}})}}}};
  cluster.Create(rs);
  cluster.Delete("namespaces", "n", Json::object(), "");
  ASSERT_TRUE(cluster.Get("namespaces", "n", "")["metadata"].contains("deletionTimestamp"));
  (void)cluster.HostWrites();
  cluster.StartHost();
  for (int i = 0; i < 29; ++i) cluster.Advance(10s);
  int posts = 0;
  for (const std::string& w : cluster.HostWrites())
    posts += w == "POST /api/v1/namespaces/n/pods" ? 1 : 0;
  EXPECT_GE(posts, 1);
  EXPECT_LE(posts, 4);
  EXPECT_FALSE(cluster.HasEvent("ReplicaSet", "a", "FailedCreate", "", "n"));
}

TEST_F(ReplicaSet, RS_16_StatusFollowsTheGenerationOnly) {
  Create(3);
  cluster.Advance(1s);
  (void)cluster.HostWrites();
  cluster.MergePatch(
      "replicasets", "a",
      {{"metadata", {{"annotations", {{"team", "y"}}}}}, {"spec", {{"replicas", 3}}}});
  cluster.Advance(10s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
  cluster.MergePatch("replicasets", "a", {{"spec", {{"minReadySeconds", 7}}}});
  Settle();
  EXPECT_EQ(A()["metadata"]["generation"], 2);
  EXPECT_EQ(StatusOfA()["observedGeneration"], 2);
}

TEST_F(ReplicaSet, RS_17_AVictimThatIsGoneAlreadyIsNoError) {
  Create(5);
  cluster.Advance(1s);
  const std::string victim = Names(5)[0];
  for (const std::string& name : Names(5))
    if (name != victim) Run(name);
  Settle();
  // Somebody else deletes it between the controller's look at its cache and the controller's
  // request.
  cluster.server().AddFault({.method = "DELETE",
                             .path_regex = ".*/pods/" + victim + "$",
                             .times = 1,
                             .status = 404,
                             .reason = "NotFound",
                             .message = "pods \"" + victim + "\" not found"});
  cluster.MergePatch("replicasets", "a", {{"spec", {{"replicas", 2}}}});
  cluster.Until("it is deleted", [&] {
    (void)cluster.TryDelete("pods", victim, {{"gracePeriodSeconds", 0}});
    return !cluster.Find("pods", victim);
  });
  cluster.Advance(10s);
  EXPECT_EQ(AlivePodsOf("a").size(), 2u);
  EXPECT_FALSE(cluster.HasEvent("ReplicaSet", "a", "FailedDelete"));
  EXPECT_EQ(StatusOfA()["replicas"], 2);
  EXPECT_TRUE(Condition(A(), "ReplicaFailure").is_null());
}

TEST_F(ReplicaSet, RS_18_CreatesWhatIsMissingAfterAStart) {
  Create(3);
  ASSERT_EQ(cluster.StopHost(), 0);
  Gone(Names(3)[0]);
  (void)cluster.HostWrites();
  cluster.StartHost();
  cluster.Advance(5s);
  EXPECT_EQ(CountWrites(cluster.HostWrites(), kPods), 1);
  EXPECT_EQ(PodsOf("a").size(), 3u);
}

TEST_F(ReplicaSet, RS_19_AdoptsAReleasedPodAgainAndDeletesOne) {
  Create(2);
  const std::string p = Names(2)[0];
  cluster.MergePatch("pods", p, {{"metadata", {{"labels", {{"app", "y"}}}}}});
  Settle();
  ASSERT_EQ(OwnerName(cluster.Get("pods", p)), "");
  ASSERT_EQ(PodsOf("a").size(), 2u);
  // Only p is ready: of the three it is the one to keep (1.9).
  Run(p);
  Settle();
  cluster.MergePatch("pods", p, {{"metadata", {{"labels", {{"app", "x"}}}}}});
  Settle();
  cluster.Advance(1s);
  EXPECT_EQ(OwnerName(cluster.Get("pods", p)), "a");
  EXPECT_FALSE(IsGoing(p));
  EXPECT_EQ(AlivePodsOf("a").size(), 2u);
}

TEST_F(ReplicaSet, RS_20_AConflictOnTheStatusIsSolved) {
  cluster.server().AddFault({.method = "PUT",
                             .path_regex = ".*/replicasets/a/status$",
                             .times = 1,
                             .status = 409,
                             .reason = "Conflict",
                             .message = "the object has been modified"});
  cluster.Create(Workload("ReplicaSet", "a", 2));
  cluster.MergePatch("replicasets", "a", {{"metadata", {{"annotations", {{"team", "x"}}}}}});
  cluster.Until(
      "the status is right", [&] { return Number(StatusOfA(), "replicas") == 2; }, 5s);
  EXPECT_EQ(Annotation(A(), "team"), "x");
  EXPECT_EQ(PodsOf("a").size(), 2u);
}

// Of the reference's recording rs-scale: a scale to zero and back leaves no more pods than wanted.
TEST_F(ReplicaSet, MetricOfSortedDeletionsIsObserved) {
  Create(2);
  for (const std::string& name : Names(2)) Run(name);
  cluster.Advance(60s);
  ScaleTo(1);
  EXPECT_EQ(cluster.Metric("replicaset_controller_sorting_deletion_age_ratio_count").value_or(-1),
            1);
  ScaleTo(0);
  EXPECT_EQ(cluster.Metric("replicaset_controller_sorting_deletion_age_ratio_count").value_or(-1),
            1)
      << "nothing is sorted when all go";
}

}  // namespace
}  // namespace kcm::harness
