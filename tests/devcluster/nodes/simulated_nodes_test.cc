// SPDX-License-Identifier: Apache-2.0
// Simulated kubelets against the embedded server.
#include "devcluster/nodes/simulated_nodes.h"

#include "devcluster/nodes/small_cluster.h"

namespace kcm::devcluster::nodes {
namespace {

using namespace std::chrono_literals;

class SimulatedKubelets : public SmallCluster {};

TEST_F(SimulatedKubelets, NodesAreRegisteredReadyWithALease) {
  StartNodes();
  for (const char* name : {"sim-0", "sim-1", "sim-2"}) {
    EXPECT_EQ(ConditionStatus(NodePath(name), "Ready"), "True");
    EXPECT_EQ(Get(NodePath(name))["status"]["allocatable"]["pods"], "500");
    EXPECT_EQ(RenewTime(name), "2030-01-01T00:00:00.000000Z");
  }
  EXPECT_EQ(Get(NodePath("sim-1"))["metadata"]["labels"]["topology.kubernetes.io/zone"], "zone-1");
}

TEST_F(SimulatedKubelets, RegisteringAgainTakesTheNodesOver) {
  StartNodes();
  nodes->Stop();
  clock.RemoveProbe(std::exchange(probe, 0));
  StartNodes();
  CreatePod("p");
  Settle();
  EXPECT_EQ(Phase("p"), "Running");
}

TEST_F(SimulatedKubelets, HeartbeatsRenewLeasesAndStatus) {
  StartNodes();
  Advance(9s);
  EXPECT_EQ(RenewTime("sim-0"), "2030-01-01T00:00:00.000000Z");
  Advance(2s);
  EXPECT_EQ(RenewTime("sim-0"), "2030-01-01T00:00:10.000000Z");
  Advance(10s);
  EXPECT_EQ(RenewTime("sim-0"), "2030-01-01T00:00:20.000000Z");
  EXPECT_EQ(Condition(NodePath("sim-0"), "Ready")["lastHeartbeatTime"], "2030-01-01T00:00:00Z");
  Advance(40s);
  EXPECT_EQ(Condition(NodePath("sim-0"), "Ready")["lastHeartbeatTime"], "2030-01-01T00:01:00Z");
}

TEST_F(SimulatedKubelets, BoundPodRunsWithAnAddressOfItsOwn) {
  StartNodes();
  CreatePod("a");
  CreatePod("b");
  Settle();
  const json a = Get(PodPath("a"))["status"], b = Get(PodPath("b"))["status"];
  EXPECT_EQ(a["phase"], "Running");
  EXPECT_EQ(ConditionStatus(PodPath("a"), "Ready"), "True");
  EXPECT_EQ(a["startTime"], "2030-01-01T00:00:00Z");
  EXPECT_EQ(a["containerStatuses"][0]["ready"], true);
  EXPECT_NE(a["podIP"], b["podIP"]);
}

TEST_F(SimulatedKubelets, ReadyAfterDelaysReadiness) {
  StartNodes();
  CreatePod("p", {{"sim/ready-after", "5"}});
  Settle();
  EXPECT_EQ(Phase("p"), "Running");
  EXPECT_EQ(Condition(PodPath("p"), "Ready")["reason"], "ContainersNotReady");
  Advance(4900ms);
  EXPECT_EQ(ConditionStatus(PodPath("p"), "Ready"), "False");
  Advance(100ms);
  EXPECT_EQ(ConditionStatus(PodPath("p"), "Ready"), "True");
  EXPECT_FALSE(Condition(PodPath("p"), "Ready").contains("reason"));
}

TEST_F(SimulatedKubelets, NeverReadyStaysUnready) {
  StartNodes();
  CreatePod("p", {{"sim/never-ready", "true"}});
  Advance(10min);
  EXPECT_EQ(Phase("p"), "Running");
  EXPECT_EQ(ConditionStatus(PodPath("p"), "Ready"), "False");
}

TEST_F(SimulatedKubelets, PodExitsWithTheCodeAskedFor) {
  StartNodes();
  CreatePod("p", {{"sim/exit-after", "2.5"}, {"sim/exit-code", "3"}});
  Advance(2s);
  EXPECT_EQ(Phase("p"), "Running");
  Advance(500ms);
  EXPECT_EQ(Phase("p"), "Failed");
  const json terminated =
      Get(PodPath("p"))["status"]["containerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(terminated["exitCode"], 3);
  EXPECT_EQ(Condition(PodPath("p"), "Ready")["reason"], "PodFailed");
}

TEST_F(SimulatedKubelets, JobPodsEndAfterASecondUnlessToldToRun) {
  StartNodes();
  const json owner = {
      {"ownerReferences",
       json::array({{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "j"}, {"uid", "1"}}})}};
  CreatePod("ends", json::object(), json::object(), owner);
  CreatePod("stays", {{"sim/run-forever", "true"}}, json::object(), owner);
  json indexed = owner;
  indexed["labels"] = {{"batch.kubernetes.io/job-completion-index", "1"}};
  CreatePod("second", {{"sim/exit-code-by-index", "0=0,1=7"}}, json::object(), indexed);
  Advance(900ms);
  EXPECT_EQ(Phase("ends"), "Running");
  Advance(100ms);
  EXPECT_EQ(Phase("ends"), "Succeeded");
  EXPECT_EQ(Phase("stays"), "Running");
  EXPECT_EQ(Phase("second"), "Failed");
  EXPECT_EQ(
      Get(PodPath("second"))["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"],
      7);
}

TEST_F(SimulatedKubelets, DeletionTakesAsLongAsAsked) {
  StartNodes();
  CreatePod("quick");
  CreatePod("slow", {{"sim/delete-after", "3"}});
  Settle();
  Delete(PodPath("quick"));
  Delete(PodPath("slow"));
  Settle();
  EXPECT_EQ(StatusOf(PodPath("quick")), 404);
  EXPECT_TRUE(Get(PodPath("slow"))["metadata"].contains("deletionTimestamp"));
  Advance(2900ms);
  EXPECT_EQ(StatusOf(PodPath("slow")), 200);
  Advance(100ms);
  EXPECT_EQ(StatusOf(PodPath("slow")), 404);
}

// The kubelet sees the mark of a forced deletion and may remove the pod before the server does.
TEST_F(SimulatedKubelets, ForcedDeletionIsNeverRefusedBecauseTheKubeletWasFaster) {
  StartNodes();
  constexpr int kPods = 100;
  for (int i = 0; i < kPods; ++i) CreatePod("p" + std::to_string(i));
  Advance(5s);
  for (int i = 0; i < kPods; ++i) {
    const std::string name = "p" + std::to_string(i);
    ASSERT_EQ(Phase(name), "Running") << name;
    const Answer a = api->Call("DELETE", PodPath(name) + "?gracePeriodSeconds=0");
    EXPECT_EQ(a.status, 200) << name << ": " << a.Describe();
  }
}

TEST_F(SimulatedKubelets, IgnoredPodIsLeftAlone) {
  StartNodes();
  CreatePod("p", {{"sim/ignore", "true"}});
  Settle();
  EXPECT_NE(NodeOf("p"), "");
  EXPECT_EQ(Phase("p"), "Pending");
  Delete(PodPath("p"));
  Advance(10min);
  EXPECT_EQ(StatusOf(PodPath("p")), 200);
}

TEST_F(SimulatedKubelets, AnnotatedNodeFailsAndComesBack) {
  StartNodes();
  Patch(NodePath("sim-0"), {{"metadata", {{"annotations", {{"sim/fail", "true"}}}}}});
  Settle();
  CreatePod("p", json::object(), {{"nodeName", "sim-0"}});
  Advance(2min);
  EXPECT_EQ(RenewTime("sim-0"), "2030-01-01T00:00:00.000000Z");
  EXPECT_EQ(RenewTime("sim-1"), "2030-01-01T00:02:00.000000Z");
  EXPECT_EQ(Condition(NodePath("sim-0"), "Ready")["lastHeartbeatTime"], "2030-01-01T00:00:00Z");
  EXPECT_EQ(Phase("p"), "Pending");
  Advance(1s);
  Patch(NodePath("sim-0"), {{"metadata", {{"annotations", {{"sim/fail", nullptr}}}}}});
  Settle();
  EXPECT_EQ(RenewTime("sim-0"), "2030-01-01T00:02:01.000000Z");
  EXPECT_EQ(Phase("p"), "Running");
}

TEST_F(SimulatedKubelets, OrderedFailureWorksLikeTheAnnotation) {
  StartNodes();
  EXPECT_TRUE(nodes->Fail("sim-1").ok());
  EXPECT_FALSE(nodes->Fail("nobody").ok());
  CreatePod("p", json::object(), {{"nodeName", "sim-1"}});
  Advance(20s);
  EXPECT_EQ(RenewTime("sim-1"), "2030-01-01T00:00:00.000000Z");
  EXPECT_EQ(Phase("p"), "Pending");
  EXPECT_TRUE(nodes->Resume("sim-1").ok());
  Settle();
  EXPECT_EQ(Phase("p"), "Running");
}

TEST_F(SimulatedKubelets, NothingHappensOnAFailedNodeUntilItIsBack) {
  NodesOptions o = Options();
  o.count = 1;
  StartNodes(o);
  CreatePod("late", {{"sim/ready-after", "10"}});
  CreatePod("ends", {{"sim/exit-after", "10"}});
  CreatePod("goes", {{"sim/delete-after", "10"}});
  Settle();
  Delete(PodPath("goes"));
  Advance(5s);
  EXPECT_TRUE(OrderFailure(Options(), "sim-0", true).ok());
  Advance(20s);
  EXPECT_EQ(ConditionStatus(PodPath("late"), "Ready"), "False");
  EXPECT_EQ(Phase("ends"), "Running");
  EXPECT_EQ(StatusOf(PodPath("goes")), 200);
  EXPECT_TRUE(OrderFailure(Options(), "sim-0", false).ok());
  Advance(1s);
  EXPECT_EQ(ConditionStatus(PodPath("late"), "Ready"), "True");
  EXPECT_EQ(Phase("ends"), "Succeeded");
  EXPECT_EQ(StatusOf(PodPath("goes")), 404);
  EXPECT_EQ(OrderFailure(Options(), "nobody", true).error().code, Code::kNotFound);
}

TEST_F(SimulatedKubelets, ContainersRestartWithBackOff) {
  StartNodes();
  CreatePod("p",
            {{"sim/restart-after", "5"}, {"sim/exit-reason", "OOMKilled"}, {"sim/restarts", "2"}});
  Advance(4s);
  const auto status = [this] { return Get(PodPath("p"))["status"]["containerStatuses"][0]; };
  EXPECT_EQ(status()["restartCount"], 0);
  Advance(1s);
  EXPECT_EQ(status()["restartCount"], 1) << "the first restart comes at once";
  EXPECT_EQ(status()["lastState"]["terminated"]["reason"], "OOMKilled");
  EXPECT_EQ(status()["lastState"]["terminated"]["exitCode"], 137);
  EXPECT_TRUE(status()["state"].contains("running"));
  Advance(5s);
  EXPECT_EQ(status()["restartCount"], 2);
  EXPECT_EQ(status()["state"]["waiting"]["reason"], "CrashLoopBackOff");
  EXPECT_EQ(ConditionStatus(PodPath("p"), "Ready"), "False");
  EXPECT_EQ(Phase("p"), "Running");
  Advance(10s);
  EXPECT_TRUE(status()["state"].contains("running"));
  EXPECT_EQ(ConditionStatus(PodPath("p"), "Ready"), "True");
  Advance(1min);
  EXPECT_EQ(status()["restartCount"], 2) << "as often as asked";
}

TEST_F(SimulatedKubelets, ContainersEndEachWithTheirCode) {
  StartNodes();
  CreatePod("p", {{"sim/exit-after", "1"}, {"sim/exit-code.b", "3"}},
            {{"restartPolicy", "Never"},
             {"containers",
              json::array({{{"name", "a"}, {"image", "i"}}, {{"name", "b"}, {"image", "i"}}})},
             {"initContainers", json::array({{{"name", "init"}, {"image", "i"}}})}});
  Settle();
  EXPECT_EQ(
      Get(PodPath("p"))["status"]["initContainerStatuses"][0]["state"]["terminated"]["reason"],
      "Completed");
  Advance(1s);
  const json status = Get(PodPath("p"))["status"];
  EXPECT_EQ(status["phase"], "Failed");
  EXPECT_EQ(status["containerStatuses"][0]["state"]["terminated"]["exitCode"], 0);
  EXPECT_EQ(status["containerStatuses"][1]["state"]["terminated"]["exitCode"], 3);
}

TEST_F(SimulatedKubelets, DeletionMayTakeTheWholeGracePeriod) {
  StartNodes();
  CreatePod("p", {{"sim/delete-after", "grace"}}, {{"terminationGracePeriodSeconds", 7}});
  Settle();
  Delete(PodPath("p"));
  Advance(6900ms);
  EXPECT_EQ(StatusOf(PodPath("p")), 200);
  Advance(100ms);
  EXPECT_EQ(StatusOf(PodPath("p")), 404);
}

TEST_F(SimulatedKubelets, LabelledNodesOfOthersAreSimulated) {
  StartNodes();
  const json made = Create(
      "/api/v1/nodes", {{"metadata", {{"name", "guest"}, {"labels", {{"sim/kubelet", "true"}}}}}});
  Create("/api/v1/nodes", {{"metadata", {{"name", "stranger"}}}});
  CreatePod("p", json::object(), {{"nodeName", "guest"}});
  CreatePod("q", json::object(), {{"nodeName", "stranger"}});
  Settle();
  EXPECT_EQ(ConditionStatus(NodePath("guest"), "Ready"), "True");
  EXPECT_EQ(
      Get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/guest")["metadata"]
                                                                                 ["ownerReferences"]
                                                                                 [0]["uid"],
      made["metadata"]["uid"]);
  EXPECT_EQ(Phase("p"), "Running");
  EXPECT_EQ(ConditionStatus(NodePath("stranger"), "Ready"), "none");
  EXPECT_EQ(Phase("q"), "Pending");
  Advance(10s);
  EXPECT_EQ(RenewTime("guest"), "2030-01-01T00:00:10.000000Z");
  Patch(NodePath("guest"),
        {{"metadata", {{"annotations", {{"sim/conditions", "MemoryPressure=True,Ready=False"}}}}}});
  Settle();
  EXPECT_EQ(ConditionStatus(NodePath("guest"), "MemoryPressure"), "True");
  EXPECT_EQ(ConditionStatus(NodePath("guest"), "Ready"), "False");
  EXPECT_EQ(ConditionStatus(NodePath("guest"), "DiskPressure"), "False");
  Delete(NodePath("guest"));
  Settle();
  const std::string last = RenewTime("guest");
  Advance(1min);
  EXPECT_EQ(RenewTime("guest"), last);
}

TEST_F(SimulatedKubelets, WatchesSurviveLostConnectionsAndHistory) {
  StartNodes();
  server->CloseWatches();
  CreatePod("a");
  Advance(2s);
  EXPECT_EQ(Phase("a"), "Running");
  server->CloseWatches();
  Delete(PodPath("a"));
  CreatePod("b");
  server->Compact();
  Advance(2s);
  EXPECT_EQ(Phase("b"), "Running");
  EXPECT_EQ(StatusOf(PodPath("a")), 404);
}

TEST_F(SimulatedKubelets, PassingErrorsOfTheServerAreRetried) {
  StartNodes();
  Server::Fault fault;
  fault.method = "PATCH";
  fault.path_regex = "/pods/p/status";
  fault.times = 4;  // more than the tries of one call
  server->AddFault(fault);
  CreatePod("p");
  Advance(5s);
  EXPECT_EQ(Phase("p"), "Running");
}

TEST_F(SimulatedKubelets, StartSaysWhatIsWrong) {
  NodesOptions o = Options();
  o.kubeconfig = "current-context: x";
  EXPECT_EQ(SimulatedNodes(o).Start().error().message, "kubeconfig: no context named x");
  o = Options();
  o.zones = 0;
  EXPECT_EQ(SimulatedNodes(o).Start().error().message, "there must be at least one zone");
  o = Options();
  o.kubeconfig.clear();
  EXPECT_EQ(SimulatedNodes(o).Start().error().message,
            "neither a kubeconfig nor a server is given");
  o.server = "https://127.0.0.1:" + std::to_string(server->port());
  EXPECT_NE(SimulatedNodes(o).Start().error().message.find("can not list nodes at 127.0.0.1"),
            std::string::npos)
      << "without the CA the server must not be believed";
}

}  // namespace
}  // namespace kcm::devcluster::nodes
