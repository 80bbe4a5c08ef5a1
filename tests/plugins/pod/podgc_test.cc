// SPDX-License-Identifier: Apache-2.0
// pod-garbage-collector-controller in a real host: the scenarios of spec/pod-batch.md section 6.
#include "plugins/pod/jobs.h"

namespace kcm::harness {
namespace {

constexpr char kOnly[] = "--controllers=pod-garbage-collector-controller";
constexpr char kHold[] = "example.com/hold";

class PodGc : public Workloads {
 protected:
  explicit PodGc(std::vector<std::string> flags = {kOnly})
      : Workloads({.plugins = {"pod"}, .flags = std::move(flags), .nodes = 0, .scheduler = false}) {
  }

  static Json Pod(const std::string& name, const std::string& node) {
    Json pod = Orphan(name, {{"app", "x"}});
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    return pod;
  }
  void Create(const std::string& name, const std::string& node, const std::string& phase,
              bool held = true) {
    Json pod = Pod(name, node);
    if (held) pod["metadata"]["finalizers"] = {kHold};
    cluster.Create(pod);
    cluster.PatchStatus("pods", name, {{"phase", phase}});
  }
  void CreateNode(const std::string& name, bool ready = true, const Json& taints = nullptr) {
    Json node{{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", name}}}};
    if (!taints.is_null()) node["spec"]["taints"] = taints;
    cluster.Create(node);
    cluster.PatchStatus(
        "nodes", name,
        {{"conditions", {{{"type", "Ready"}, {"status", ready ? "True" : "Unknown"}}}}}, "");
  }
  void DeleteNode(const std::string& name) { cluster.Delete("nodes", name, Json::object(), ""); }
  static Json OutOfService(const std::string& effect, const std::string& value = "nodeshutdown") {
    return {{{"key", "node.kubernetes.io/out-of-service"}, {"value", value}, {"effect", effect}}};
  }
  std::string Phase(const std::string& pod) { return Status("pods", pod)["phase"]; }
  bool Exists(const std::string& pod) { return cluster.Find("pods", pod).has_value(); }
  // Bodies of the host's requests to this path, since the last call of anything that asks.
  std::vector<Json> Bodies(const std::string& method, const std::string& path) {
    std::vector<Json> out;
    for (const auto& e : cluster.Audit())
      if (e.method == method && e.user_agent.find("kube-controller-manager/") == 0 &&
          e.uri.find(path) != std::string::npos && e.uri.find('?') == std::string::npos) {
        out.push_back(Json::parse(e.body));
      }
    return out;
  }
  void ExpectTarget(const std::string& pod) {
    const Json target = Condition(cluster.Get("pods", pod), "DisruptionTarget");
    ASSERT_FALSE(target.is_null()) << pod;
    EXPECT_EQ(target["status"], "True");
    EXPECT_EQ(target["reason"], "DeletionByPodGC");
    EXPECT_EQ(target["message"], "PodGC: node no longer exists");
    EXPECT_TRUE(target["lastTransitionTime"].is_string());
  }
  void ExpectNoTarget(const std::string& pod) {
    EXPECT_TRUE(Condition(cluster.Get("pods", pod), "DisruptionTarget").is_null()) << pod;
  }
};

class PodGcOfTwo : public PodGc {
 protected:
  PodGcOfTwo() : PodGc({kOnly, "--terminated-pod-gc-threshold=2"}) {}
};

TEST_F(PodGcOfTwo, PGC_01_DeletesTheOldestAndEvictedOnesFirst) {
  const char* phases[] = {"Failed", "Succeeded", "Failed", "Failed"};
  for (int i = 0; i < 4; ++i) {
    Create(std::string(1, static_cast<char>('a' + i)), "", phases[i], false);
    if (i == 3) cluster.PatchStatus("pods", "d", {{"reason", "Evicted"}});
    cluster.Advance(1s);
  }
  (void)cluster.HostWrites();
  cluster.Advance(20s);
  EXPECT_EQ(AliveNames(), (std::vector<std::string>{"b", "c"}));
  // Terminated ones are deleted as they are.
  const std::vector<std::string> writes = cluster.HostWrites();
  EXPECT_EQ(CountWrites(writes, "DELETE"), 2);
  EXPECT_EQ(CountWrites(writes, "PATCH"), 0);
  EXPECT_EQ(cluster.Metric("pod_gc_collector_force_delete_pods_total{namespace=\"default\","
                           "reason=\"terminated\"}"),
            2);
  cluster.Advance(60s);
  EXPECT_EQ(AliveNames(), (std::vector<std::string>{"b", "c"}));
}

class PodGcWithoutThreshold : public PodGc {
 protected:
  PodGcWithoutThreshold() : PodGc({kOnly, "--terminated-pod-gc-threshold=0"}) {}
};

TEST_F(PodGcWithoutThreshold, PGC_02_AThresholdOfZeroKeepsTerminatedPods) {
  for (int i = 0; i < 5; ++i) Create("p" + std::to_string(i), "", "Failed", false);
  cluster.Advance(60s);
  EXPECT_EQ(AliveNames().size(), 5u);
}

TEST_F(PodGc, PGC_03_FailsAndDeletesAPodWhoseNodeIsGone) {
  CreateNode("n");
  Create("p", "n", "Running");
  cluster.Advance(30s);
  const Json before = cluster.Get("pods", "p");
  DeleteNode("n");
  (void)cluster.HostWrites();
  cluster.Advance(39s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>()) << "within the quarantine";
  EXPECT_EQ(cluster.Get("pods", "p"), before);
  cluster.Until(
      "the pod is deleted", [&] { return IsGoing("p"); }, 42s, 1s);
  EXPECT_EQ(Phase("p"), "Failed");
  ExpectTarget("p");
  const Json patch{{"metadata", {{"uid", before["metadata"]["uid"]}}}};
  for (const auto& e : cluster.Audit()) {
    if (e.method == "PATCH") {
      EXPECT_EQ(Json::parse(e.body)["metadata"], patch["metadata"]) << "the precondition";
    }
    if (e.method == "DELETE") {
      EXPECT_EQ(Json::parse(e.body)["gracePeriodSeconds"], 0);
      EXPECT_FALSE(Json::parse(e.body).contains("preconditions"));
    }
  }
  EXPECT_EQ(cluster.Metric("pod_gc_collector_force_delete_pods_total{namespace=\"default\","
                           "reason=\"orphaned\"}"),
            1);
  // The finalizer keeps it: it is tried again, without another patch.
  const Json failed = cluster.Get("pods", "p");
  cluster.Advance(90s);
  const std::vector<std::string> writes = cluster.HostWrites();
  EXPECT_GE(CountWrites(writes, "DELETE"), 1);
  EXPECT_EQ(CountWrites(writes, "PATCH"), 0);
  EXPECT_EQ(cluster.Get("pods", "p"), failed);
}

TEST_F(PodGc, PGC_04_AFinishedPodOfAGoneNodeKeepsItsPhase) {
  CreateNode("n");
  Create("p", "n", "Succeeded");
  Create("pending", "n", "Pending");
  cluster.Advance(30s);
  DeleteNode("n");
  cluster.Advance(85s);
  EXPECT_TRUE(IsDeleting(cluster.Get("pods", "p")));
  EXPECT_EQ(Phase("p"), "Succeeded");
  ExpectNoTarget("p");
  EXPECT_EQ(Phase("pending"), "Failed") << "bound to a node that is gone: an orphan too";
  ExpectTarget("pending");
}

TEST_F(PodGc, PGC_05_ANodeThatComesBackSavesItsPods) {
  CreateNode("n");
  Create("p", "n", "Running");
  cluster.Advance(30s);
  const Json before = cluster.Get("pods", "p");
  DeleteNode("n");
  cluster.Advance(20s);
  (void)cluster.HostWrites();
  CreateNode("n");
  cluster.Advance(200s);
  EXPECT_EQ(cluster.Get("pods", "p"), before);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

TEST_F(PodGc, PGC_06_ForceDeletesATerminatingPodThatWasNeverScheduled) {
  Create("p", "", "Pending");
  cluster.Advance(5s);
  cluster.Delete("pods", "p", {{"gracePeriodSeconds", 300}});
  (void)cluster.Audit();
  cluster.Advance(25s);
  EXPECT_EQ(Phase("p"), "Failed");
  ExpectNoTarget("p");
  const std::vector<Json> deletes = Bodies("DELETE", "/pods/p");
  ASSERT_GE(deletes.size(), 1u);
  EXPECT_EQ(deletes[0]["gracePeriodSeconds"], 0);
  EXPECT_EQ(cluster.Metric("pod_gc_collector_force_delete_pods_total{namespace=\"default\","
                           "reason=\"unscheduled\"}"),
            static_cast<double>(deletes.size()));
}

// Held and free pods being deleted on a node out of service.
class PodGcOutOfService : public PodGc {
 protected:
  void ExpectForced(const std::string& effect, const std::string& value) {
    CreateNode("n", false, OutOfService(effect, value));
    Create("held", "n", "Running");
    Create("free", "n", "Running", false);
    for (const char* pod : {"held", "free"})
      cluster.Delete("pods", pod, {{"gracePeriodSeconds", 300}});
    cluster.Advance(25s);
    EXPECT_EQ(Phase("held"), "Failed");
    ExpectNoTarget("held");
    EXPECT_FALSE(Exists("free"));
    EXPECT_GE(cluster
                  .Metric("pod_gc_collector_force_delete_pods_total{namespace=\"default\","
                          "reason=\"out-of-service\"}")
                  .value_or(0),
              2);
  }
};

TEST_F(PodGcOutOfService, PGC_07_ForceDeletesPodsOfANodeOutOfService) {
  ExpectForced("NoExecute", "nodeshutdown");
}

TEST_F(PodGc, PGC_08_LeavesPodsOfOtherNodesAndThoseNotBeingDeleted) {
  CreateNode("ready", true, OutOfService("NoExecute"));
  CreateNode("no-taint", false);
  CreateNode("out", false, OutOfService("NoExecute"));
  for (const char* node : {"ready", "no-taint", "out"}) Create(node, node, "Running");
  for (const char* pod : {"ready", "no-taint"})
    cluster.Delete("pods", pod, {{"gracePeriodSeconds", 300}});
  Settle();
  (void)cluster.HostWrites();
  cluster.Advance(60s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
  for (const char* pod : {"ready", "no-taint", "out"}) EXPECT_EQ(Phase(pod), "Running") << pod;
}

TEST_F(PodGcOutOfService, PGC_09_AnyEffectAndValueOfTheTaintCount) {
  ExpectForced("PreferNoSchedule", "x");
}

TEST_F(PodGc, PGC_10_APodWithTwoVariablesOfOneNameIsMarkedToo) {
  CreateNode("n");
  Json pod = Pod("p", "n");
  pod["metadata"]["finalizers"] = {kHold};
  pod["spec"]["containers"][0]["env"] = {{{"name", "A"}, {"value", "1"}},
                                         {{"name", "A"}, {"value", "2"}}};
  cluster.Create(pod);
  cluster.PatchStatus("pods", "p", {{"phase", "Running"}});
  cluster.Advance(30s);
  const Json env = cluster.Get("pods", "p")["spec"]["containers"][0]["env"];
  DeleteNode("n");
  cluster.Advance(39s);
  EXPECT_EQ(Phase("p"), "Running");
  cluster.Until(
      "the pod is deleted", [&] { return IsGoing("p"); }, 42s, 1s);
  EXPECT_EQ(Phase("p"), "Failed");
  ExpectTarget("p");
  EXPECT_EQ(cluster.Get("pods", "p")["spec"]["containers"][0]["env"], env);
}

class PodGcOfOne : public PodGc {
 protected:
  PodGcOfOne() : PodGc({kOnly, "--terminated-pod-gc-threshold=1"}) {}
};

TEST_F(PodGcOfOne, PGC_11_TheNameDecidesBetweenPodsOfOneAge) {
  AlignToSecond();
  Create("y", "", "Failed", false);
  Create("x", "", "Failed", false);
  ASSERT_EQ(cluster.Get("pods", "x")["metadata"]["creationTimestamp"],
            cluster.Get("pods", "y")["metadata"]["creationTimestamp"]);
  cluster.Advance(21s);
  EXPECT_EQ(AliveNames(), (std::vector<std::string>{"y"}));
}

// The test plays job-controller.
TEST_F(PodGc, PGC_12_APodOfAJobIsCountedOnceAndDisappears) {
  CreateNode("n");
  const Json job =
      cluster.Create({{"apiVersion", "batch/v1"},
                      {"kind", "Job"},
                      {"metadata", {{"name", "j"}}},
                      {"spec",
                       {{"template",
                         {{"spec",
                           {{"restartPolicy", "Never"},
                            {"containers", {{{"name", "c"}, {"image", "nginx:1"}}}}}}}}}}});
  Json pod = Pod("p", "n");
  pod["metadata"]["finalizers"] = {"batch.kubernetes.io/job-tracking"};
  pod["metadata"]["ownerReferences"] = {{{"apiVersion", "batch/v1"},
                                         {"kind", "Job"},
                                         {"name", "j"},
                                         {"uid", job["metadata"]["uid"]},
                                         {"controller", true}}};
  cluster.Create(pod);
  cluster.PatchStatus("pods", "p", {{"phase", "Running"}});
  cluster.Advance(30s);
  DeleteNode("n");
  int counted = 0;
  for (int second = 0; second < 200 && Exists("p"); ++second) {
    cluster.Advance(1s);
    if (!Exists("p") || Phase("p") != "Failed") continue;
    cluster.PatchStatus("jobs", "j", {{"failed", ++counted}});
    cluster.MergePatch("pods", "p", {{"metadata", {{"finalizers", nullptr}}}});
  }
  EXPECT_FALSE(Exists("p"));
  EXPECT_EQ(counted, 1);
  EXPECT_EQ(Status("jobs", "j")["failed"], 1);
}

// ---- beyond the scenarios ----

TEST_F(PodGc, OnlyNotFoundMeansThatTheNodeIsGone) {
  Create("p", "n", "Running");
  cluster.server().AddFault(Answered("GET", "/api/v1/nodes/n$", -1, 500));
  cluster.Advance(90s);
  (void)cluster.HostWrites();  // its own token, for the first question about the node
  cluster.Advance(200s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
  cluster.server().ClearFaults();
  cluster.Until(
      "the pod is deleted", [&] { return IsGoing("p"); }, 85s, 1s);
}

TEST_F(PodGc, ErrorsAreCountedAndTheNextRunTriesAgain) {
  Create("p", "", "Pending");
  cluster.server().AddFault(Answered("PATCH", "/pods/p/status", 1, 403));
  cluster.Delete("pods", "p");
  cluster.Advance(20s);
  EXPECT_EQ(Phase("p"), "Pending");
  EXPECT_EQ(cluster.Metric("pod_gc_collector_force_delete_pod_errors_total{namespace=\"default\","
                           "reason=\"unscheduled\"}"),
            1);
  cluster.Advance(20s);
  EXPECT_EQ(Phase("p"), "Failed");
}

TEST_F(PodGc, HealthyPodsCauseNoWrite) {
  CreateNode("n");
  Create("a", "n", "Running", false);
  Create("b", "", "Pending", false);
  Create("c", "n", "Failed", false);
  (void)cluster.HostWrites();
  cluster.Advance(300s);
  EXPECT_EQ(cluster.HostWrites(), std::vector<std::string>());
}

}  // namespace
}  // namespace kcm::harness
