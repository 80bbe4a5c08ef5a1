// SPDX-License-Identifier: Apache-2.0
// statefulset-controller in a real host: order of creation, removal and update
// (spec/pod-workloads.md section 5).
#include "plugins/pod/stateful_workloads.h"

namespace kcm::harness {
namespace {

class StatefulSet : public StatefulWorkloads {};

TEST_F(StatefulSet, STS_01_CreatesPodsOneAfterTheOther) {
  CreateAndSettle(Web());
  cluster.Advance(30s);
  EXPECT_EQ(Alive(), Names{"web-0"}) << "web-0 is not Ready";
  EXPECT_EQ(Claims(), Names{"data-web-0"});
  StartAndSettle("web-0");
  EXPECT_EQ(Alive(), (Names{"web-0", "web-1"}));
  StartAndSettle("web-1");
  EXPECT_EQ(Alive(), (Names{"web-0", "web-1", "web-2"}));
  StartAndSettle("web-2");
  EXPECT_EQ(Claims(), (Names{"data-web-0", "data-web-1", "data-web-2"}));
  const Json status = WebStatus();
  for (int i = 0; i < 3; ++i) {
    const std::string name = "web-" + std::to_string(i);
    const Json pod = cluster.Get("pods", name);
    EXPECT_EQ(pod["metadata"]["labels"],
              (Json{{"app", "x"},
                    {"statefulset.kubernetes.io/pod-name", name},
                    {"apps.kubernetes.io/pod-index", std::to_string(i)},
                    {"controller-revision-hash", status["updateRevision"]}}));
    EXPECT_EQ(pod["metadata"]["ownerReferences"],
              Json::array({OwnerOf("apps/v1", "StatefulSet", WebNow())}));
    EXPECT_EQ(pod["spec"]["hostname"], name);
    EXPECT_EQ(pod["spec"]["subdomain"], "s");
    Json volume;
    for (const Json& v : pod["spec"]["volumes"])
      if (v["name"] == "data") volume = v;
    EXPECT_EQ(volume["persistentVolumeClaim"]["claimName"], "data-" + name);
    EXPECT_EQ(cluster.Get("persistentvolumeclaims", "data-" + name)["metadata"]["labels"],
              (Json{{"app", "x"}}));
    EXPECT_TRUE(cluster.HasEvent("StatefulSet", "web", "SuccessfulCreate",
                                 "Create Pod " + name + " in StatefulSet web successful"));
    EXPECT_TRUE(cluster.HasEvent(
        "StatefulSet", "web", "SuccessfulCreate",
        "Create Claim data-" + name + " Pod " + name + " in StatefulSet web success"));
  }
  EXPECT_EQ(status["replicas"], 3);
  EXPECT_EQ(status["readyReplicas"], 3);
  EXPECT_EQ(status["availableReplicas"], 3);
  EXPECT_EQ(status["currentReplicas"], 3);
  EXPECT_EQ(status["updatedReplicas"], 3);
  EXPECT_EQ(status["currentRevision"], status["updateRevision"]);
  EXPECT_EQ(status["collisionCount"], 0);
  EXPECT_EQ(status["observedGeneration"], 1);
}

TEST_F(StatefulSet, STS_02_ParallelCreatesAllAtOnce) {
  CreateAndSettle(Web(3, {{"podManagementPolicy", "Parallel"}}));
  EXPECT_EQ(Alive(), (Names{"web-0", "web-1", "web-2"}));
  EXPECT_EQ(Claims(), (Names{"data-web-0", "data-web-1", "data-web-2"}));
  EXPECT_EQ(Number(WebStatus(), "readyReplicas"), 0);
}

TEST_F(StatefulSet, STS_03_ScalesDownFromTheTop) {
  CreateReady(Web());
  ScaleTo(1);
  EXPECT_TRUE(IsGoing("web-2"));
  cluster.Advance(30s);
  EXPECT_FALSE(IsGoing("web-1")) << "web-2 is not gone";
  FinishAndSettle("web-2");
  EXPECT_TRUE(IsGoing("web-1"));
  FinishAndSettle("web-1");
  EXPECT_EQ(Alive(), Names{"web-0"});
  EXPECT_EQ(Claims(), (Names{"data-web-0", "data-web-1", "data-web-2"}));
  EXPECT_TRUE(cluster.HasEvent("StatefulSet", "web", "SuccessfulDelete",
                               "Delete Pod web-2 in StatefulSet web successful"));
  EXPECT_EQ(WebStatus()["replicas"], 1);
}

TEST_F(StatefulSet, STS_04_ScaleDownWaitsForUnhealthyPods) {
  CreateReady(Web());
  cluster.MakeNotReady("web-1");
  ScaleTo(2);
  cluster.Advance(30s);
  EXPECT_FALSE(IsGoing("web-2")) << "web-1 is not Ready";
  StartAndSettle("web-1");
  EXPECT_TRUE(IsGoing("web-2"));
  FinishAndSettle("web-2");
  ScaleTo(3);
  PlayKubelet();
  cluster.MakeNotReady("web-2");
  ScaleTo(2);
  EXPECT_TRUE(IsGoing("web-2")) << "it is the one that everybody waits for";
}

TEST_F(StatefulSet, STS_05_UpdatesFromTheTopOneByOne) {
  CreateReady(Web());
  const std::string before = WebStatus()["updateRevision"];
  SetImage("nginx:2");
  for (int i = 2; i >= 0; --i) {
    const std::string name = "web-" + std::to_string(i);
    SCOPED_TRACE(name);
    EXPECT_TRUE(IsGoing(name));
    for (int j = 0; j < i; ++j) EXPECT_FALSE(IsGoing("web-" + std::to_string(j)));
    FinishAndSettle(name);
    EXPECT_EQ(Image(name), "nginx:2");
    cluster.Advance(30s);
    for (int j = 0; j < i; ++j)
      EXPECT_FALSE(IsGoing("web-" + std::to_string(j))) << "the new pod is not Ready";
    if (i > 0) {
      EXPECT_EQ(WebStatus()["currentRevision"], before);
      EXPECT_EQ(WebStatus()["currentReplicas"], i);
      EXPECT_EQ(WebStatus()["updatedReplicas"], 3 - i);
    }
    StartAndSettle(name);
  }
  const Json status = WebStatus();
  EXPECT_EQ(status["currentRevision"], status["updateRevision"]);
  EXPECT_NE(status["currentRevision"], before);
  EXPECT_EQ(status["currentReplicas"], 3);
  EXPECT_EQ(status["updatedReplicas"], 3);
  EXPECT_EQ(Revisions(), (std::map<int, std::string>{{1, before}, {2, status["updateRevision"]}}));
}

TEST_F(StatefulSet, STS_06_APartitionKeepsTheLowerPods) {
  CreateReady(Web(3, Partition(2)));
  SetImage("nginx:2");
  PlayKubelet();
  EXPECT_EQ(Image("web-2"), "nginx:2");
  EXPECT_EQ(Image("web-1"), "nginx:1");
  EXPECT_EQ(Image("web-0"), "nginx:1");
  const Json status = WebStatus();
  EXPECT_NE(status["currentRevision"], status["updateRevision"]);
  EXPECT_EQ(status["currentReplicas"], 2);
  EXPECT_EQ(status["updatedReplicas"], 1);
  cluster.Delete("pods", "web-0");
  PlayKubelet();
  EXPECT_EQ(Image("web-0"), "nginx:1") << "below the partition it comes back as it was";
  EXPECT_EQ(cluster.Get("pods", "web-0")["metadata"]["labels"]["controller-revision-hash"],
            status["currentRevision"]);
  PatchWeb(Partition(0));
  EXPECT_TRUE(IsGoing("web-1"));
  EXPECT_FALSE(IsGoing("web-0"));
  FinishAndSettle("web-1");
  EXPECT_FALSE(IsGoing("web-0"));
  StartAndSettle("web-1");
  EXPECT_TRUE(IsGoing("web-0"));
  PlayKubelet();
  EXPECT_EQ(Image("web-0"), "nginx:2");
  EXPECT_EQ(WebStatus()["currentRevision"], WebStatus()["updateRevision"]);
}

TEST_F(StatefulSet, STS_08_OnDeleteWaitsForTheUser) {
  CreateReady(Web(3, {{"updateStrategy", {{"type", "OnDelete"}}}}));
  const std::string before = WebStatus()["currentRevision"];
  SetImage("nginx:2");
  cluster.Advance(60s);
  EXPECT_EQ(Alive(), (Names{"web-0", "web-1", "web-2"}));
  EXPECT_NE(WebStatus()["updateRevision"], before);
  cluster.Delete("pods", "web-1");
  PlayKubelet();
  EXPECT_EQ(Image("web-1"), "nginx:2");
  EXPECT_EQ(Image("web-0"), "nginx:1");
  EXPECT_EQ(Image("web-2"), "nginx:1");
  EXPECT_EQ(WebStatus()["currentRevision"], before);
}

TEST_F(StatefulSet, STS_09_OrdinalsMayStartAnywhere) {
  CreateReady(Web(2, {{"ordinals", {{"start", 5}}}}));
  EXPECT_EQ(Alive(), (Names{"web-5", "web-6"}));
  EXPECT_TRUE(Claims().contains("data-web-5"));
  for (const char* index : {"5", "6"}) {
    const Json pod = cluster.Get("pods", std::string("web-") + index);
    EXPECT_EQ(pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"], index);
  }
  PatchWeb({{"ordinals", {{"start", 4}}}});
  EXPECT_EQ(Alive(), (Names{"web-4", "web-5", "web-6"}));
  cluster.Advance(30s);
  EXPECT_FALSE(IsGoing("web-6")) << "web-4 is not Ready";
  StartAndSettle("web-4");
  EXPECT_TRUE(IsGoing("web-6"));
  FinishAndSettle("web-6");
  EXPECT_EQ(Alive(), (Names{"web-4", "web-5"}));
}

TEST_F(StatefulSet, STS_10_ThePartitionCountsSlots) {
  Json spec = Partition(2);
  spec["ordinals"] = {{"start", 5}};
  CreateReady(Web(4, spec));
  SetImage("nginx:2");
  PlayKubelet();
  EXPECT_EQ(Image("web-8"), "nginx:2");
  EXPECT_EQ(Image("web-7"), "nginx:2");
  EXPECT_EQ(Image("web-6"), "nginx:1");
  EXPECT_EQ(Image("web-5"), "nginx:1");
  cluster.Delete("pods", "web-6");
  PlayKubelet();
  EXPECT_EQ(Image("web-6"), "nginx:1");
}

TEST_F(StatefulSet, STS_15_MinReadySecondsDelayTheNextPod) {
  CreateAndSettle(Web(2, {{"minReadySeconds", 10}}));
  AlignToSecond();
  StartAndSettle("web-0");
  EXPECT_EQ(WebStatus()["readyReplicas"], 1);
  EXPECT_EQ(Number(WebStatus(), "availableReplicas"), 0);
  cluster.Advance(9500ms);
  EXPECT_EQ(Alive(), Names{"web-0"});
  cluster.Advance(2s);
  EXPECT_EQ(Alive(), (Names{"web-0", "web-1"}));
  EXPECT_EQ(WebStatus()["availableReplicas"], 1);
}

// Only the reconcile after the start can know when to look again.
TEST_F(StatefulSet, MinReadySecondsGoOnAfterARestart) {
  CreateAndSettle(Web(2, {{"minReadySeconds", 10}}));
  AlignToSecond();
  StartAndSettle("web-0");
  cluster.Advance(3s);
  ASSERT_EQ(cluster.StopHost(), 0);
  cluster.StartHost();
  Settle();
  EXPECT_EQ(Alive(), Names{"web-0"});
  cluster.Advance(9s);
  EXPECT_EQ(Alive(), (Names{"web-0", "web-1"}));
}

TEST_F(StatefulSet, STS_16_AFailedPodIsMadeAnew) {
  CreateReady(Web());
  const std::string uid = Uid("web-1");
  const std::string claim = UidOf(cluster.Get("persistentvolumeclaims", "data-web-1"));
  cluster.PatchStatus("pods", "web-1", {{"phase", "Failed"}, {"reason", "Evicted"}});
  Settle();
  PlayKubelet();
  const Json pod = cluster.Get("pods", "web-1");
  EXPECT_NE(UidOf(pod), uid);
  EXPECT_EQ(UidOf(cluster.Get("persistentvolumeclaims", "data-web-1")), claim);
  EXPECT_EQ(WebStatus()["readyReplicas"], 3);
  EXPECT_TRUE(cluster.HasEvent("StatefulSet", "web", "SuccessfulDelete", "Delete Pod web-1"));
}

TEST_F(StatefulSet, STS_20_ASetBeingDeletedOnlyReports) {
  Json set = Web();
  set["metadata"]["finalizers"] = {"example.com/hold"};
  CreateReady(set);
  cluster.Delete("statefulsets", "web", {{"propagationPolicy", "Foreground"}});
  Settle();
  (void)cluster.HostWrites();
  Gone("web-1");
  cluster.Advance(30s);
  EXPECT_EQ(Alive(), (Names{"web-0", "web-2"}));
  const std::vector<std::string> writes = cluster.HostWrites();
  EXPECT_EQ(CountWrites(writes, "PUT /apis/apps/v1/namespaces/default/statefulsets/web/status"),
            static_cast<int>(writes.size()));
  EXPECT_EQ(WebStatus()["replicas"], 2);
  EXPECT_EQ(WebStatus()["readyReplicas"], 2);
}

TEST_F(StatefulSet, STS_21_OrderedDoesNotRepairABrokenUpdate) {
  CreateAndSettle(Web(1));
  cluster.Bind("web-0", "n1");
  cluster.MakeNotReady("web-0");
  Settle();
  const std::string uid = Uid("web-0"), before = WebStatus()["updateRevision"];
  SetImage("nginx:2");
  cluster.Advance(60s);
  EXPECT_EQ(Uid("web-0"), uid);
  EXPECT_FALSE(IsGoing("web-0"));
  EXPECT_NE(WebStatus()["updateRevision"], before);
  cluster.Delete("pods", "web-0");
  PlayKubelet();
  EXPECT_EQ(Image("web-0"), "nginx:2");

  cluster.Delete("statefulsets", "web", {{"propagationPolicy", "Orphan"}});
  for (const Json& pod : cluster.List("pods")) Gone(Name(pod));
  Settle();
  CreateAndSettle(Workload("StatefulSet", "p", 1,
                           {{"serviceName", "s"}, {"podManagementPolicy", "Parallel"}}, "p"));
  cluster.Bind("p-0", "n1");
  cluster.MakeNotReady("p-0");
  Settle();
  cluster.MergePatch("statefulsets", "p",
                     {{"spec", {{"template", PodTemplate({{"app", "p"}}, "nginx:2")}}}});
  Settle();
  EXPECT_TRUE(IsGoing("p-0")) << "Parallel repairs it";
  FinishAndSettle("p-0");
  EXPECT_EQ(Image("p-0"), "nginx:2");
}

TEST_F(StatefulSet, STS_25_NoReplicasUpdateAtOnce) {
  CreateAndSettle(Web(0));
  for (const char* field : {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas"})
    EXPECT_EQ(Number(WebStatus(), field), 0) << field;
  const std::string before = WebStatus()["currentRevision"];
  EXPECT_EQ(WebStatus()["updateRevision"], before);
  SetImage("nginx:2");
  EXPECT_NE(WebStatus()["currentRevision"], before);
  EXPECT_EQ(WebStatus()["currentRevision"], WebStatus()["updateRevision"]);
  EXPECT_EQ(Revisions().size(), 2u);
}

// As a cache would be that does not show the pod yet.
TEST_F(StatefulSet, APodThatExistsAlreadyIsNoFailureToTellOf) {
  cluster.Create(Orphan("web-0", {{"app", "another"}}));
  CreateAndSettle(Web(1));
  EXPECT_EQ(Claims(), Names{"data-web-0"});
  EXPECT_EQ(OwnerName(cluster.Get("pods", "web-0")), "");
  EXPECT_FALSE(cluster.HasEvent("StatefulSet", "web", "FailedCreate"));
  Gone("web-0");
  cluster.Advance(5s);  // until it is tried again
  EXPECT_EQ(OwnerName(cluster.Get("pods", "web-0")), "web");
}

TEST_F(StatefulSet, ARestartWritesNothing) {
  CreateReady(Web(3, Retention("Delete", "Delete")));
  cluster.Advance(5s);
  ASSERT_EQ(cluster.StopHost(), 0);
  (void)cluster.HostWrites();
  cluster.StartHost();
  cluster.Advance(60s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

TEST_F(StatefulSet, StatusWritesKeepForeignMetadata) {
  Json set = Web(1);
  set["metadata"]["annotations"] = {{"team", "x"}};
  set["metadata"]["finalizers"] = {"example.com/hold"};
  CreateReady(set);
  for (int i = 0; i < 20; ++i) {
    i % 2 == 0 ? cluster.MakeNotReady("web-0") : cluster.MakeReady("web-0");
    Settle();
  }
  EXPECT_GE(CountWrites(cluster.HostWrites(),
                        "PUT /apis/apps/v1/namespaces/default/statefulsets/web/status"),
            20);
  EXPECT_EQ(Annotation(WebNow(), "team"), "x");
  EXPECT_EQ(WebNow()["metadata"]["finalizers"], Json::array({"example.com/hold"}));
}

// The cache of pods lags behind the cache of sets.
class StatefulSetBehind : public StatefulWorkloads {
 protected:
  // From now on the host's cache of pods shows nothing new.
  void HoldPods() {
    cluster.HoldCaches("pods");
    (void)cluster.HostWrites();
  }
  void ReleasePods() {
    cluster.ReleaseCaches();
    Settle();
  }
  // Since the last call: name of each pod that was deleted, and again when it was again.
  std::multiset<std::string> Deleted() {
    const std::string start = "DELETE /api/v1/namespaces/default/pods/";
    std::multiset<std::string> names;
    for (const std::string& write : cluster.HostWrites())
      if (write.starts_with(start)) names.insert(write.substr(start.size()));
    return names;
  }
  // How often users were told.
  int64_t TimesTold(const std::string& message) {
    int64_t times = 0;
    for (const Json& e : cluster.List("events"))
      if (e["message"] == message) times += e.value("count", 1);
    return times;
  }
};

TEST_F(StatefulSetBehind, AnOutdatedPodIsDeletedOnce) {
  CreateReady(Web());
  HoldPods();
  SetImage("nginx:2");
  EXPECT_EQ(WebStatus()["currentReplicas"], 2);
  Touch();
  cluster.Advance(10s);
  Touch();
  EXPECT_EQ(Deleted(), std::multiset<std::string>{"web-2"});
  EXPECT_EQ(WebStatus()["currentReplicas"], 2) << "it counts as deleted";
  ReleasePods();
  PlayKubelet();
  for (const char* pod : {"web-0", "web-1", "web-2"}) {
    EXPECT_EQ(Image(pod), "nginx:2") << pod;
    EXPECT_EQ(TimesTold("Delete Pod " + std::string(pod) + " in StatefulSet web successful"), 1);
  }
}

TEST_F(StatefulSetBehind, PodsThatAreTooManyAreDeletedOnce) {
  CreateReady(Web(3, {{"podManagementPolicy", "Parallel"}}));
  HoldPods();
  ScaleTo(1);
  Touch();
  EXPECT_EQ(Deleted(), (std::multiset<std::string>{"web-1", "web-2"}));
  cluster.Advance(5min);
  Touch();
  EXPECT_EQ(Deleted(), (std::multiset<std::string>{"web-1", "web-2"}))
      << "nobody knows what became of the first time";
  ReleasePods();
  PlayKubelet();
  EXPECT_EQ(Alive(), Names{"web-0"});
}

// With the gate MaxUnavailableStatefulSet.
class MaxUnavailable : public StatefulWorkloads {
 protected:
  MaxUnavailable()
      : StatefulWorkloads({.plugins = {"pod"},
                           .flags = {"--feature-gates=MaxUnavailableStatefulSet=true"},
                           .nodes = 0,
                           .scheduler = false}) {}
  static Json Six(const char* policy) {
    Json spec = Partition(3);
    spec["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = 2;
    spec["podManagementPolicy"] = policy;
    return Web(6, spec);
  }
};

TEST_F(MaxUnavailable, STS_22_ParallelReplacesTwoAtOnce) {
  CreateReady(Six("Parallel"));
  SetImage("nginx:2");
  EXPECT_EQ(Alive(), (Names{"web-0", "web-1", "web-2", "web-3"}));
  EXPECT_EQ(
      cluster.Metric("statefulset_controller_statefulset_max_unavailable{statefulset_namespace="
                     "\"default\",statefulset_name=\"web\",pod_management_policy=\"Parallel\"}"),
      2);
  Gone("web-5");
  Gone("web-4");
  cluster.Advance(30s);
  EXPECT_FALSE(IsGoing("web-3")) << "none of the two is Ready";
  StartAndSettle("web-4");
  EXPECT_TRUE(IsGoing("web-3"));
  PlayKubelet();
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(Image("web-" + std::to_string(i)), i < 3 ? "nginx:1" : "nginx:2") << i;
}

// also STS-22
TEST_F(MaxUnavailable, OrderedWaitsForBothReplacements) {
  CreateReady(Six("OrderedReady"));
  SetImage("nginx:2");
  EXPECT_EQ(Alive(), (Names{"web-0", "web-1", "web-2", "web-3"}));
  Gone("web-5");
  FinishAndSettle("web-4");
  StartAndSettle("web-4");
  cluster.Advance(30s);
  EXPECT_FALSE(IsGoing("web-3")) << "web-5 is not Ready";
  StartAndSettle("web-5");
  EXPECT_TRUE(IsGoing("web-3"));
  PlayKubelet();
  EXPECT_EQ(Image("web-2"), "nginx:1");
}

}  // namespace
}  // namespace kcm::harness
