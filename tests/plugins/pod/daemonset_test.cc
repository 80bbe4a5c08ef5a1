// SPDX-License-Identifier: Apache-2.0
// daemonset-controller in a real host: which nodes get a pod, and what becomes of it
// (spec/pod-workloads.md section 6).
#include "plugins/pod/daemon_workloads.h"

namespace kcm::harness {
namespace {

class DaemonSet : public DaemonWorkloads {};

TEST_F(DaemonSet, DS_01_OnePodForEachNode) {
  CreateNodes(5);
  CreateAndSettle(Daemon());
  const std::map<int, std::string> revisions = Revisions();
  ASSERT_EQ(revisions.size(), 1u);
  const std::string name = revisions.at(1), hash = name.substr(2);
  EXPECT_EQ(name.substr(0, 2), "d-");
  const Json revision = cluster.Get("controllerrevisions", name);
  EXPECT_EQ(revision["metadata"]["labels"],
            (Json{{"app", "x"}, {"controller-revision-hash", hash}}));
  EXPECT_EQ(revision["metadata"]["ownerReferences"], Json::array({OwnerOf(SetNow())}));

  const std::vector<Json> pods = PodsOf("d");
  ASSERT_EQ(pods.size(), 5u);
  for (const Json& pod : pods) {
    EXPECT_FALSE(IsBound(pod));
    EXPECT_EQ(pod["metadata"]["generateName"], "d-");
    EXPECT_EQ(
        pod["metadata"]["labels"],
        (Json{{"app", "x"}, {"controller-revision-hash", hash}, {"pod-template-generation", "1"}}));
    EXPECT_EQ(pod["metadata"]["ownerReferences"], Json::array({OwnerOf(SetNow())}));
    const Json terms = RequiredTerms(pod);
    ASSERT_EQ(terms.size(), 1u);
    EXPECT_EQ(terms[0], (Json{{"matchFields",
                               {{{"key", "metadata.name"},
                                 {"operator", "In"},
                                 {"values", Json::array({NodeOf(pod)})}}}}}));
    EXPECT_EQ(pod["spec"]["tolerations"].size(), 6u);
  }
  EXPECT_EQ(Alive(), (Nodes{"n1", "n2", "n3", "n4", "n5"}));
  EXPECT_EQ(Count("desiredNumberScheduled"), 5);
  EXPECT_EQ(Count("currentNumberScheduled"), 5);
  EXPECT_EQ(Count("numberMisscheduled"), 0);
  EXPECT_EQ(Count("numberUnavailable"), 5);
  EXPECT_EQ(Count("observedGeneration"), 1);
  EXPECT_TRUE(cluster.HasEvent("DaemonSet", "d", "SuccessfulCreate", "Created pod: d-"));
  StartAll();
  EXPECT_EQ(Count("numberReady"), 5);
  EXPECT_EQ(Count("numberAvailable"), 5);
  EXPECT_EQ(Count("updatedNumberScheduled"), 5);
  EXPECT_EQ(Count("numberUnavailable"), 0);
}

TEST_F(DaemonSet, DS_02_FollowsTheLabelsOfNodes) {
  CreateNodes(5);
  SetNodeLabel("n1", "zone", "a");
  CreateAndSettle(Daemon(Selecting({{"zone", "a"}})));
  EXPECT_EQ(Alive(), Nodes{"n1"});
  StartAll();
  SetNodeLabel("n2", "zone", "a");
  EXPECT_EQ(Alive(), (Nodes{"n1", "n2"}));
  SetNodeLabel("n1", "zone", nullptr);
  EXPECT_EQ(Alive(), Nodes{"n2"});
  EXPECT_TRUE(cluster.HasEvent("DaemonSet", "d", "SuccessfulDelete", "Deleted pod: d-"));
}

TEST_F(DaemonSet, DS_03_TaintsKeepPodsOffOrDriveThemAway) {
  CreateNodes(5);
  SetTaints("n3", Json::array({{{"key", "k"}, {"value", "v"}, {"effect", "NoSchedule"}}}));
  CreateReady(Daemon());
  EXPECT_EQ(Alive(), (Nodes{"n1", "n2", "n4", "n5"}));
  EXPECT_EQ(Count("desiredNumberScheduled"), 4);
  SetTaints("n2", Json::array({Taint("k", "NoSchedule")}));
  Settle();
  Touch();
  EXPECT_EQ(Alive(), (Nodes{"n1", "n2", "n4", "n5"}));
  EXPECT_EQ(Count("desiredNumberScheduled"), 3);
  EXPECT_EQ(Count("currentNumberScheduled"), 3);
  EXPECT_EQ(Count("numberMisscheduled"), 1);
  SetTaints("n2", Json::array({Taint("k", "NoExecute")}));
  Settle();
  EXPECT_EQ(Alive(), (Nodes{"n1", "n4", "n5"}));
}

TEST_F(DaemonSet, DS_04_CordonedAndNotReadyNodesKeepTheirs) {
  CreateNode("n1", Json::object(),
             Json::array({Taint("node.kubernetes.io/unschedulable", "NoSchedule")}));
  cluster.MergePatch("nodes", "n1", {{"spec", {{"unschedulable", true}}}}, "");
  CreateNode("n2", Json::object(),
             Json::array({Taint("node.kubernetes.io/not-ready", "NoExecute")}));
  CreateReady(Daemon());
  EXPECT_EQ(Alive(), (Nodes{"n1", "n2"}));
  const auto uids = Uids();
  Touch();
  cluster.Advance(60s);
  EXPECT_EQ(Uids(), uids);
  EXPECT_EQ(Count("desiredNumberScheduled"), 2);
}

TEST_F(DaemonSet, DS_05_OnlyTheNodesNetworkIsAlwaysThere) {
  CreateNode("n1", Json::object(),
             Json::array({Taint("node.kubernetes.io/network-unavailable", "NoSchedule")}));
  CreateAndSettle(Daemon());
  EXPECT_EQ(Alive(), Nodes{});
  EXPECT_EQ(Count("desiredNumberScheduled"), 0);
  Patch({{"template", {{"spec", {{"hostNetwork", true}}}}}});
  EXPECT_EQ(Alive(), Nodes{"n1"});
  EXPECT_EQ(PodOn("n1")["spec"]["tolerations"].size(), 7u);
}

TEST_F(DaemonSet, DS_14_FailedPodsAreReplacedEverMoreSlowly) {
  CreateNode("n1");
  CreateAndSettle(Daemon());
  std::vector<std::chrono::nanoseconds> times;
  for (int i = 0; i < 5; ++i) {
    const Json pod = PodOn("n1");
    ASSERT_FALSE(pod.is_null());
    const auto from = cluster.clock().Now().time_since_epoch();
    cluster.Bind(Name(pod), "n1");
    cluster.PatchStatus("pods", Name(pod), {{"phase", "Failed"}});
    cluster.Until(
        "it is deleted",
        [&] {
          const auto found = cluster.Find("pods", Name(pod));
          return !found || IsDeleting(*found);
        },
        60s, 10ms);
    times.push_back(cluster.clock().Now().time_since_epoch());
    if (i == 0) {
      EXPECT_LT(times[0] - from, 500ms) << "the first goes at once";
      EXPECT_TRUE(cluster.HasEvent(
          "DaemonSet", "d", "FailedDaemonPod",
          "Found failed daemon pod default/" + Name(pod) + " on node n1, will try to kill it"));
    }
    if (cluster.Find("pods", Name(pod))) Gone(Name(pod));
    cluster.Advance(50ms);
  }
  for (size_t i = 1; i < times.size(); ++i) {
    const std::chrono::seconds wait(1 << (i - 1));
    EXPECT_GE(times[i] - times[i - 1], wait - 20ms) << i;
    EXPECT_LE(times[i] - times[i - 1], 2 * wait + 500ms) << i;
  }
}

TEST_F(DaemonSet, DS_15_SucceededPodsAreReplacedAtOnce) {
  CreateNode("n1");
  CreateReady(Daemon());
  for (int i = 0; i < 3; ++i) {
    const Json pod = PodOn("n1");
    cluster.PatchStatus("pods", Name(pod), {{"phase", "Succeeded"}});
    Settle();
    EXPECT_TRUE(IsGoing(Name(pod)));
    EXPECT_TRUE(cluster.HasEvent(
        "DaemonSet", "d", "SucceededDaemonPod",
        "Found succeeded daemon pod default/" + Name(pod) + " on node n1, will try to delete it"));
    if (cluster.Find("pods", Name(pod))) Gone(Name(pod));
    Settle();
    EXPECT_NE(Name(PodOn("n1")), Name(pod));
    StartAll();
  }
}

TEST_F(DaemonSet, DS_16_OfTwoTheAssignedOneStays) {
  CreateNode("n1");
  CreateAndSettle(Daemon());
  const Json unassigned = PodOn("n1");
  cluster.Advance(2s);
  Json assigned = Orphan("assigned", unassigned["metadata"]["labels"]);
  assigned["metadata"]["ownerReferences"] = {OwnerOf(SetNow())};
  assigned["spec"]["nodeName"] = "n1";
  CreateAndSettle(assigned);
  EXPECT_TRUE(IsGoing(Name(unassigned)));
  EXPECT_FALSE(IsGoing("assigned"));
  EXPECT_EQ(PodsOn("n1").size(), 1u);
}

TEST_F(DaemonSet, DS_17_PodsOfUnknownNodesGoUnlessAssigned) {
  CreateNode("n1");
  CreateReady(Daemon());
  const Json model = PodOn("n1");
  Json waiting = Orphan("waiting", model["metadata"]["labels"]);
  waiting["metadata"]["ownerReferences"] = {OwnerOf(SetNow())};
  Json assigned = waiting;
  assigned["metadata"]["name"] = "assigned";
  assigned["spec"]["nodeName"] = "n9";
  waiting["spec"]["affinity"] = model["spec"]["affinity"];
  waiting["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
         ["nodeSelectorTerms"][0]["matchFields"][0]["values"][0] = "n9";
  cluster.Create(waiting);
  CreateAndSettle(assigned);
  cluster.Advance(30s);
  EXPECT_TRUE(IsGoing("waiting"));
  EXPECT_FALSE(IsGoing("assigned"));
  EXPECT_EQ(PodsOn("n1").size(), 1u);
}

TEST_F(DaemonSet, DS_18_AnAdoptedPodCountsAndIsReplacedWithinTheBudget) {
  CreateNodes(5);
  Json orphan = Orphan("orphan", {{"app", "x"}});
  orphan["spec"]["nodeName"] = "n1";
  cluster.Create(orphan);
  cluster.MakeReady("orphan");
  CreateAndSettle(Daemon());
  EXPECT_EQ(OwnerName(cluster.Get("pods", "orphan")), "d");
  EXPECT_EQ(PodsOf("d").size(), 5u);
  EXPECT_EQ(Name(PodOn("n1")), "orphan");
  EXPECT_EQ(Count("currentNumberScheduled"), 5);
  EXPECT_EQ(Count("numberReady"), 1);
  EXPECT_EQ(Count("updatedNumberScheduled"), 4);
  for (const char* node : {"n2", "n3", "n4"}) {
    StartOn(node);
    EXPECT_FALSE(IsGoing("orphan")) << "one is unavailable already";
  }
  StartOn("n5");
  EXPECT_TRUE(IsGoing("orphan"));
  PlayToTheEnd();
  EXPECT_EQ(Count("updatedNumberScheduled"), 5);
}

TEST_F(DaemonSet, DS_19_AvailabilityFollowsByTimeAlone) {
  CreateNode("n1");
  CreateAndSettle(Daemon({{"minReadySeconds", 10}}));
  AlignToSecond();
  StartAll();
  EXPECT_EQ(Count("numberReady"), 1);
  cluster.Advance(9s);
  EXPECT_EQ(Count("numberAvailable"), 0);
  EXPECT_EQ(Count("numberUnavailable"), 1);
  cluster.Advance(4s);
  EXPECT_EQ(Count("numberAvailable"), 1);
  EXPECT_EQ(Count("numberUnavailable"), 0);
}

TEST_F(DaemonSet, DS_20_CreatesInBursts) {
  CreateNodes(400);
  (void)cluster.HostWrites();
  cluster.Create(Daemon());
  cluster.Until(
      "all are there", [&] { return PodsOf("d").size() == 400; }, 60s);
  int first = 0, all = 0;
  bool observed = false;  // a reconcile ends with a status
  for (const std::string& write : cluster.HostWrites()) {
    observed = observed || write.rfind("PUT ", 0) == 0;
    if (write.rfind("POST ", 0) != 0 || !write.ends_with("/pods")) continue;
    ++all;
    if (!observed) ++first;
  }
  EXPECT_EQ(first, 250);
  EXPECT_EQ(all, 400);
  cluster.Until(
      "all are counted", [&] { return Count("currentNumberScheduled") == 400; }, 60s);
}

TEST_F(DaemonSet, DS_22_RefusedPodsAreTriedOneAtATime) {
  CreateNodes(5);
  CreateQuota("q", "0");
  (void)cluster.HostWrites();
  cluster.Create(Daemon());
  cluster.Advance(10s);
  const int posts = CountWrites(cluster.HostWrites(), "POST /api/v1/namespaces/default/pods");
  const auto syncs = cluster.Metric("workqueue_work_duration_seconds_count{name=\"daemonset\"}");
  ASSERT_TRUE(syncs.has_value());
  EXPECT_GE(posts, 3);
  EXPECT_LE(posts, *syncs);
  EXPECT_TRUE(cluster.HasEvent("DaemonSet", "d", "FailedCreate", "Error creating: pods \"d-"));
  EXPECT_EQ(Count("observedGeneration"), SetNow()["metadata"]["generation"]);
  EXPECT_EQ(Count("desiredNumberScheduled"), 5);
  EXPECT_EQ(Count("currentNumberScheduled"), 0);
  cluster.Delete("resourcequotas", "q");
  cluster.Until(
      "they are made", [&] { return Alive().size() == 5; }, 60s);
}

TEST_F(DaemonSet, DS_25_WhileItIsDeletedNothingIsDone) {
  CreateNodes(2);
  Json set = Daemon();
  set["metadata"]["finalizers"] = {"example.com/hold"};
  CreateReady(set);
  cluster.Delete("daemonsets", "d", {{"propagationPolicy", "Background"}});
  Settle();
  (void)cluster.HostWrites();
  CreateNode("n3");
  cluster.PatchStatus("pods", Name(PodOn("n1")), {{"phase", "Failed"}});
  Json orphan = Orphan("orphan", {{"app", "x"}});
  orphan["spec"]["nodeName"] = "n2";
  cluster.Create(orphan);
  cluster.Advance(60s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

TEST_F(DaemonSet, ARestartWritesNothing) {
  CreateNodes(3);
  CreateReady(Daemon({{"minReadySeconds", 2}}));
  cluster.Advance(10s);
  ASSERT_EQ(Count("numberAvailable"), 3);
  ASSERT_EQ(cluster.StopHost(), 0);
  (void)cluster.HostWrites();
  cluster.StartHost();
  cluster.Advance(60s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

TEST_F(DaemonSet, ANodeThatChangesOtherwiseWakesNobody) {
  CreateNode("n1", {{"zone", "a"}});
  CreateReady(Daemon());
  cluster.Advance(5s);
  const char kAdds[] = "workqueue_adds_total{name=\"daemonset-node-updates\"}";
  const auto before = cluster.Metric(kAdds);
  cluster.MergePatch("nodes", "n1", {{"metadata", {{"annotations", {{"a", "b"}}}}}}, "");
  cluster.Advance(1s);
  EXPECT_EQ(cluster.Metric(kAdds), before);
  SetNodeLabel("n1", "zone", "b");
  EXPECT_EQ(cluster.Metric(kAdds), *before + 1);
}

// What it has written itself is waited for, and the waiting is counted (1.7).
TEST_F(DaemonSet, ReportsNothingWhileItsOwnPodsAreNotShown) {
  const char kSkips[] = "daemonset_controller_stale_sync_skips_total{group=\"\",resource=\"pods\"}";
  CreateNodes(1);
  CreateReady(Daemon());
  const double before = cluster.Metric(kSkips).value_or(0);
  cluster.HoldCaches("pods");
  CreateNode("n2");
  cluster.Advance(1s);
  EXPECT_TRUE(Alive().contains("n2"));
  EXPECT_EQ(Count("desiredNumberScheduled"), 2) << "what is written in the same reconcile";

  CreateNode("n3");
  cluster.Advance(5s);
  EXPECT_EQ(Count("desiredNumberScheduled"), 2);
  EXPECT_EQ(Alive(), (Nodes{"n1", "n2"}));
  EXPECT_GT(cluster.Metric(kSkips).value_or(0), before);

  cluster.ReleaseCaches();
  Settle();
  EXPECT_EQ(Count("desiredNumberScheduled"), 3);
  EXPECT_EQ(Alive(), (Nodes{"n1", "n2", "n3"}));
  EXPECT_EQ(cluster.List("pods").size(), 3u);
}

}  // namespace
}  // namespace kcm::harness
