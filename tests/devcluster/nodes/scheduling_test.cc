// SPDX-License-Identifier: Apache-2.0
// The simple scheduler against the embedded server.
#include <map>

#include "devcluster/nodes/small_cluster.h"

namespace kcm::devcluster::nodes {
namespace {

using namespace std::chrono_literals;

class SimpleScheduler : public SmallCluster {
 protected:
  int FailedSchedulingEvents() {
    int n = 0;
    const json events = Get("/api/v1/namespaces/default/events");
    for (const json& e : events["items"]) n += e["reason"] == "FailedScheduling" ? 1 : 0;
    return n;
  }
  static json Requests(const std::string& cpu) {
    return {{"containers", json::array({{{"name", "c"},
                                         {"image", "i"},
                                         {"resources", {{"requests", {{"cpu", cpu}}}}}}})}};
  }
};

TEST_F(SimpleScheduler, SpreadsPodsEvenly) {
  StartNodes();
  std::map<std::string, int> on;
  for (int i = 0; i < 12; ++i) CreatePod("p" + std::to_string(i));
  Settle();
  for (int i = 0; i < 12; ++i) ++on[NodeOf("p" + std::to_string(i))];
  EXPECT_EQ(on, (std::map<std::string, int>{{"sim-0", 4}, {"sim-1", 4}, {"sim-2", 4}}));
}

TEST_F(SimpleScheduler, PodThatFitsNowhereIsReportedOnceAndBoundWhenItFits) {
  StartNodes();
  CreatePod("p", json::object(), {{"nodeSelector", {{"disk", "ssd"}}}});
  Advance(10s);
  const json c = Condition(PodPath("p"), "PodScheduled");
  EXPECT_EQ(c["status"], "False");
  EXPECT_EQ(c["reason"], "Unschedulable");
  EXPECT_EQ(c["message"],
            "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.");
  EXPECT_EQ(FailedSchedulingEvents(), 1);
  Patch(NodePath("sim-2"), {{"metadata", {{"labels", {{"disk", "ssd"}}}}}});
  Advance(1s);
  EXPECT_EQ(NodeOf("p"), "sim-2");
  EXPECT_EQ(ConditionStatus(PodPath("p"), "PodScheduled"), "True");
  EXPECT_EQ(Phase("p"), "Running");
}

TEST_F(SimpleScheduler, TaintedAndCordonedNodesAreAvoided) {
  StartNodes();
  Patch(NodePath("sim-0"),
        {{"spec", {{"taints", json::array({{{"key", "k"}, {"effect", "NoSchedule"}}})}}}});
  Patch(NodePath("sim-1"), {{"spec", {{"unschedulable", true}}}});
  Settle();
  for (int i = 0; i < 4; ++i) CreatePod("p" + std::to_string(i));
  CreatePod("tolerates", json::object(),
            {{"nodeSelector", {{"kubernetes.io/hostname", "sim-0"}}},
             {"tolerations", json::array({{{"key", "k"}, {"operator", "Exists"}}})}});
  Settle();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(NodeOf("p" + std::to_string(i)), "sim-2");
  EXPECT_EQ(NodeOf("tolerates"), "sim-0");
}

TEST_F(SimpleScheduler, ResourcesMustFitAndAreFreedByDeletion) {
  StartNodes();
  for (int i = 0; i < 3; ++i) CreatePod("p" + std::to_string(i), json::object(), Requests("20"));
  Settle();
  CreatePod("late", json::object(), Requests("20"));
  Settle();
  EXPECT_EQ(NodeOf("late"), "");
  EXPECT_EQ(Condition(PodPath("late"), "PodScheduled")["message"],
            "0/3 nodes are available: 3 Insufficient cpu.");
  const std::string freed = NodeOf("p1");
  Delete(PodPath("p1"));
  Advance(1s);
  EXPECT_EQ(NodeOf("late"), freed);
}

TEST_F(SimpleScheduler, FinishedPodsTakeNoRoom) {
  StartNodes();
  for (int i = 0; i < 3; ++i) {
    CreatePod("p" + std::to_string(i), {{"sim/exit-after", "5"}}, Requests("20"));
  }
  CreatePod("late", json::object(), Requests("20"));
  Settle();
  ASSERT_EQ(NodeOf("late"), "");
  Advance(6s);
  EXPECT_EQ(Phase("late"), "Running");
}

TEST_F(SimpleScheduler, GatedPodsAndThoseOfOtherSchedulersWait) {
  StartNodes();
  CreatePod("gated", json::object(), {{"schedulingGates", json::array({{{"name", "g"}}})}});
  CreatePod("other", json::object(), {{"schedulerName", "mine"}});
  Advance(10s);
  EXPECT_EQ(NodeOf("gated"), "");
  EXPECT_EQ(NodeOf("other"), "");
  EXPECT_EQ(Condition(PodPath("gated"), "PodScheduled")["reason"], "SchedulingGated");
  EXPECT_EQ(FailedSchedulingEvents(), 0);
  Patch(PodPath("gated"), {{"spec", {{"schedulingGates", nullptr}}}});
  Settle();
  EXPECT_EQ(Phase("gated"), "Running");
}

TEST_F(SimpleScheduler, UnboundClaimHoldsThePod) {
  StartNodes();
  const std::string claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  Create(claims, {{"metadata", {{"name", "data"}}},
                  {"spec",
                   {{"accessModes", {"ReadWriteOnce"}},
                    {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}});
  CreatePod("p", json::object(),
            {{"volumes",
              json::array({{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", "data"}}}}})}});
  Advance(5s);
  EXPECT_EQ(NodeOf("p"), "");
  EXPECT_EQ(Condition(PodPath("p"), "PodScheduled")["message"],
            "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.");
  Patch(claims + "/data/status", {{"status", {{"phase", "Bound"}}}});
  Advance(5s);
  EXPECT_EQ(Phase("p"), "Running");
}

TEST_F(SimpleScheduler, AntiAffinitySpreadsAndHolds) {
  StartNodes();
  const json apart = {
      {"affinity",
       {{"podAntiAffinity",
         {{"requiredDuringSchedulingIgnoredDuringExecution",
           json::array({{{"topologyKey", "kubernetes.io/hostname"},
                         {"labelSelector", {{"matchLabels", {{"app", "db"}}}}}}})}}}}}};
  const json labels = {{"labels", {{"app", "db"}}}};
  for (int i = 0; i < 4; ++i) CreatePod("p" + std::to_string(i), json::object(), apart, labels);
  Settle();
  std::map<std::string, int> on;
  for (int i = 0; i < 4; ++i) ++on[NodeOf("p" + std::to_string(i))];
  EXPECT_EQ(on, (std::map<std::string, int>{{"", 1}, {"sim-0", 1}, {"sim-1", 1}, {"sim-2", 1}}));
  EXPECT_EQ(Condition(PodPath("p3"), "PodScheduled")["message"],
            "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.");
  Delete(PodPath("p1"));
  Advance(1s);
  EXPECT_EQ(Phase("p3"), "Running");
}

TEST_F(SimpleScheduler, PodThatWantsCompanyFollowsIt) {
  StartNodes();
  const json near = {
      {"affinity",
       {{"podAffinity",
         {{"requiredDuringSchedulingIgnoredDuringExecution",
           json::array({{{"topologyKey", "kubernetes.io/hostname"},
                         {"labelSelector", {{"matchLabels", {{"app", "db"}}}}}}})}}}}}};
  CreatePod("web", json::object(), near);
  Settle();
  EXPECT_EQ(NodeOf("web"), "");
  CreatePod("db", json::object(), {{"nodeSelector", {{"kubernetes.io/hostname", "sim-1"}}}},
            {{"labels", {{"app", "db"}}}});
  Advance(1s);
  EXPECT_EQ(NodeOf("web"), "sim-1");
}

TEST_F(SimpleScheduler, TopologySpreadKeepsZonesEven) {
  NodesOptions o = Options();
  o.count = 4;  // zones 0, 1, 0, 1
  o.zones = 2;
  StartNodes(o);
  Patch(NodePath("sim-2"), {{"spec", {{"unschedulable", true}}}});
  Settle();
  const json spread = {{"topologySpreadConstraints",
                        json::array({{{"topologyKey", "topology.kubernetes.io/zone"},
                                      {"maxSkew", 1},
                                      {"whenUnsatisfiable", "DoNotSchedule"},
                                      {"labelSelector", {{"matchLabels", {{"app", "web"}}}}}}})}};
  std::map<char, int> in;
  for (int i = 0; i < 6; ++i) {
    CreatePod("p" + std::to_string(i), json::object(), spread, {{"labels", {{"app", "web"}}}});
  }
  Settle();
  for (int i = 0; i < 6; ++i) {
    const std::string node = NodeOf("p" + std::to_string(i));
    ASSERT_FALSE(node.empty());
    ++in[(node.back() - '0') % 2 == 0 ? 'a' : 'b'];
  }
  EXPECT_EQ(in, (std::map<char, int>{{'a', 3}, {'b', 3}}));
}

TEST_F(SimpleScheduler, PreferredNodesAreTakenFirst) {
  StartNodes();
  const json like = {
      {"affinity",
       {{"nodeAffinity",
         {{"preferredDuringSchedulingIgnoredDuringExecution",
           json::array({{{"weight", 100},
                         {"preference",
                          {{"matchExpressions",
                            json::array({{{"key", "kubernetes.io/hostname"},
                                          {"operator", "In"},
                                          {"values", json::array({"sim-2"})}}})}}}}})}}}}}};
  for (int i = 0; i < 3; ++i) {
    CreatePod("p" + std::to_string(i), json::object(), like);
    Settle();
    EXPECT_EQ(NodeOf("p" + std::to_string(i)), "sim-2");
  }
}

TEST_F(SimpleScheduler, HostPortsAndOtherResourcesMustBeFree) {
  NodesOptions o = Options();
  o.count = 1;
  StartNodes(o);
  const auto with_port = [](int port) {
    return json{
        {"containers",
         json::array({{{"name", "c"},
                       {"image", "i"},
                       {"ports", json::array({{{"containerPort", 80}, {"hostPort", port}}})}}})}};
  };
  CreatePod("first", json::object(), with_port(8080));
  CreatePod("second", json::object(), with_port(8080));
  CreatePod("third", json::object(), with_port(8081));
  CreatePod("fpga", json::object(),
            {{"containers", json::array({{{"name", "c"},
                                          {"image", "i"},
                                          {"resources",
                                           {{"limits", {{"example.com/fpga", "1"}}},
                                            {"requests", {{"example.com/fpga", "1"}}}}}}})}});
  Settle();
  EXPECT_EQ(Phase("first"), "Running");
  EXPECT_EQ(Phase("third"), "Running");
  EXPECT_EQ(Condition(PodPath("second"), "PodScheduled")["message"],
            "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod "
            "ports.");
  EXPECT_EQ(Condition(PodPath("fpga"), "PodScheduled")["message"],
            "0/1 nodes are available: 1 Insufficient example.com/fpga.");
  Patch(NodePath("sim-0") + "/status", {{"status",
                                         {{"capacity", {{"example.com/fpga", "1"}}},
                                          {"allocatable", {{"example.com/fpga", "1"}}}}}});
  Advance(1s);
  EXPECT_EQ(Phase("fpga"), "Running");
}

TEST_F(SimpleScheduler, ImportantPodsTakeThePlaceOfOthers) {
  NodesOptions o = Options();
  o.count = 2;
  StartNodes(o);
  for (const auto& [name, value] : {std::pair("high", 1000), std::pair("low", 10)}) {
    Create("/apis/scheduling.k8s.io/v1/priorityclasses",
           {{"metadata", {{"name", name}}}, {"value", value}});
  }
  const auto spec = [](const std::string& cpu, const char* priority) {
    json s = Requests(cpu);
    s["priorityClassName"] = priority;
    return s;
  };
  CreatePod("keeps", json::object(), spec("20", "high"));
  CreatePod("goes", {{"sim/delete-after", "5"}}, spec("20", "low"));
  Settle();
  CreatePod("wants", json::object(), spec("30", "high"));
  Advance(1s);
  EXPECT_EQ(NodeOf("wants"), "");
  EXPECT_TRUE(Get(PodPath("goes"))["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(Condition(PodPath("goes"), "DisruptionTarget")["reason"], "PreemptionByScheduler");
  EXPECT_FALSE(Get(PodPath("keeps"))["metadata"].contains("deletionTimestamp"));
  const std::string freed = NodeOf("goes");
  EXPECT_EQ(Get(PodPath("wants"))["status"]["nominatedNodeName"], freed);
  CreatePod("sneaks", json::object(), spec("12", "low"));
  CreatePod("late", json::object(), spec("12", "low"));
  Advance(1s);
  EXPECT_NE(NodeOf("sneaks"), freed) << "the place is kept";
  EXPECT_EQ(NodeOf("late"), "");
  Advance(5s);
  EXPECT_EQ(StatusOf(PodPath("goes")), 404);
  EXPECT_EQ(NodeOf("wants"), freed);
  int preempted = 0;
  const json events = Get("/api/v1/namespaces/default/events");
  for (const json& e : events["items"]) preempted += e["reason"] == "Preempted" ? 1 : 0;
  EXPECT_EQ(preempted, 1);
}

TEST_F(SimpleScheduler, PodsThatMustNotPreemptWait) {
  NodesOptions o = Options();
  o.count = 1;
  StartNodes(o);
  Create("/apis/scheduling.k8s.io/v1/priorityclasses",
         {{"metadata", {{"name", "polite"}}}, {"value", 1000}, {"preemptionPolicy", "Never"}});
  CreatePod("there", json::object(), Requests("20"));
  Settle();
  json spec = Requests("20");
  spec["priorityClassName"] = "polite";
  CreatePod("waits", json::object(), spec);
  Advance(10s);
  EXPECT_EQ(NodeOf("waits"), "");
  EXPECT_EQ(Phase("there"), "Running");
}

TEST_F(SimpleScheduler, OffMeansThatOthersBind) {
  NodesOptions o = Options();
  o.scheduler = false;
  StartNodes(o);
  CreatePod("p");
  Advance(10s);
  EXPECT_EQ(NodeOf("p"), "");
  CreatePod("q", json::object(), {{"nodeName", "sim-1"}});
  Settle();
  EXPECT_EQ(Phase("q"), "Running");
}

TEST_F(SimpleScheduler, FailedBindingIsTriedAgain) {
  StartNodes();
  Server::Fault fault;
  fault.method = "POST";
  fault.path_regex = "/pods/p/binding";
  fault.status = 403;
  fault.reason = "Forbidden";
  server->AddFault(fault);
  CreatePod("p");
  Settle();
  EXPECT_EQ(NodeOf("p"), "");
  Advance(1s);
  EXPECT_EQ(Phase("p"), "Running");
}

TEST_F(SimpleScheduler, BindsHundredsOfPodsOverManyNodes) {
  NodesOptions o = Options();
  o.count = 50;
  StartNodes(o);
  for (int i = 0; i < 250; ++i) CreatePod("p" + std::to_string(i));
  Settle();
  const json pods = Get("/api/v1/namespaces/default/pods");
  std::map<std::string, int> on;
  for (const json& pod : pods["items"]) {
    ++on[pod["spec"].value("nodeName", "")];
    EXPECT_EQ(pod["status"]["phase"], "Running");
  }
  ASSERT_EQ(on.size(), 50u);
  for (const auto& [node, count] : on) EXPECT_NEAR(count, 5, 3) << node;
}

}  // namespace
}  // namespace kcm::devcluster::nodes
