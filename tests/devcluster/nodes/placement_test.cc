// SPDX-License-Identifier: Apache-2.0
// Which pods may run on which nodes.
#include "devcluster/nodes/placement.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kcm::devcluster::nodes {
namespace {

Room RoomOf(const nlohmann::json& taints = nullptr) {
  Room room;
  room.node.name = "n1";
  room.node.identity = std::make_shared<const nlohmann::json>(
      nlohmann::json::parse(R"({"metadata":{"name":"n1","labels":{"zone":"a","size":"8"}}})"));
  room.node.milli_cpu = 1000;
  room.node.memory = 1000;
  room.node.pods = 2;
  if (!taints.is_null()) room.node.taints = std::make_shared<const nlohmann::json>(taints);
  return room;
}

Pod PodOf(const nlohmann::json& scheduling) {
  Pod pod;
  pod.scheduling = std::make_shared<const nlohmann::json>(scheduling);
  return pod;
}

using Terms = std::vector<nlohmann::json>;
nlohmann::json Affinity(const Terms& terms) {
  return {
      {"affinity",
       {{"nodeAffinity",
         {{"requiredDuringSchedulingIgnoredDuringExecution", {{"nodeSelectorTerms", terms}}}}}}}};
}
nlohmann::json Label(const std::string& key, const std::string& op,
                     const std::vector<std::string>& values) {
  return {{"matchExpressions", {{{"key", key}, {"operator", op}, {"values", values}}}}};
}
nlohmann::json Name(const std::string& name) {
  return {{"matchFields",
           {{{"key", "metadata.name"},
             {"operator", "In"},
             {"values", nlohmann::json::array({name})}}}}};
}

TEST(Placement, NodeSelectorAndRequiredAffinity) {
  const struct {
    const char* name;
    nlohmann::json scheduling;
    bool fits;
  } rows[] = {
      {"nothing asked", nlohmann::json::object(), true},
      {"selector", {{"nodeSelector", {{"zone", "a"}}}}, true},
      {"other value", {{"nodeSelector", {{"zone", "b"}}}}, false},
      {"absent label", {{"nodeSelector", {{"disk", "ssd"}}}}, false},
      {"In", Affinity({Label("zone", "In", {"b", "a"})}), true},
      {"NotIn", Affinity({Label("zone", "NotIn", {"a"})}), false},
      {"NotIn on an absent label", Affinity({Label("disk", "NotIn", {"a"})}), true},
      {"Exists", Affinity({Label("zone", "Exists", {})}), true},
      {"DoesNotExist", Affinity({Label("zone", "DoesNotExist", {})}), false},
      {"Gt", Affinity({Label("size", "Gt", {"7"})}), true},
      {"Lt", Affinity({Label("size", "Lt", {"8"})}), false},
      {"one of two terms", Affinity({Label("zone", "In", {"b"}), Label("size", "In", {"8"})}),
       true},
      {"no term", Affinity({}), false},
      {"an empty term selects nothing", Affinity({nlohmann::json::object()}), false},
      {"name", Affinity({Name("n1")}), true},
      {"other name", Affinity({Name("n2")}), false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Placement(PodOf(row.scheduling)).Against(RoomOf()).empty(), row.fits);
  }
}

TEST(Placement, TaintsAndTolerations) {
  const auto taint = [](const char* effect) {
    return nlohmann::json::array({{{"key", "k"}, {"value", "v"}, {"effect", effect}}});
  };
  const auto tolerate = [](const nlohmann::json& t) {
    return nlohmann::json({{"tolerations", nlohmann::json::array({t})}});
  };
  const nlohmann::json none = nlohmann::json::object();
  const struct {
    const char* name;
    nlohmann::json taints, scheduling;
    bool fits;
  } rows[] = {
      {"not tolerated", taint("NoSchedule"), none, false},
      {"NoExecute counts too", taint("NoExecute"), none, false},
      {"a preference does not", taint("PreferNoSchedule"), none, true},
      {"equal", taint("NoSchedule"), tolerate({{"key", "k"}, {"value", "v"}}), true},
      {"other value", taint("NoSchedule"), tolerate({{"key", "k"}, {"value", "w"}}), false},
      {"exists", taint("NoSchedule"), tolerate({{"key", "k"}, {"operator", "Exists"}}), true},
      {"everything", taint("NoExecute"), tolerate({{"operator", "Exists"}}), true},
      {"other effect", taint("NoSchedule"),
       tolerate({{"key", "k"}, {"operator", "Exists"}, {"effect", "NoExecute"}}), false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Placement(PodOf(row.scheduling)).Against(RoomOf(row.taints)).empty(), row.fits);
  }
}

TEST(Placement, CordonedNodesTakeOnlyPodsThatTolerateIt) {
  Room room = RoomOf();
  room.node.unschedulable = true;
  EXPECT_EQ(Placement(PodOf(nlohmann::json::object())).Against(room),
            std::vector<std::string>{"node(s) were unschedulable"});
  const nlohmann::json daemon = {{"tolerations",
                                  {{{"key", "node.kubernetes.io/unschedulable"},
                                    {"operator", "Exists"},
                                    {"effect", "NoSchedule"}}}}};
  EXPECT_TRUE(Placement(PodOf(daemon)).Against(room).empty());
}

TEST(Placement, ResourcesMustFit) {
  Pod pod = PodOf(nlohmann::json::object());
  pod.milli_cpu = 600;
  pod.memory = 600;
  Room room = RoomOf();
  EXPECT_TRUE(Placement(pod).Against(room).empty());
  room.Take(pod);
  EXPECT_EQ(Placement(pod).Against(room),
            (std::vector<std::string>{"Insufficient cpu", "Insufficient memory"}));
  Pod small = PodOf(nlohmann::json::object());
  EXPECT_TRUE(Placement(small).Against(room).empty());
  room.Take(small);
  EXPECT_EQ(Placement(small).Against(room), std::vector<std::string>{"Too many pods"});
  room.Give(pod);
  EXPECT_TRUE(Placement(small).Against(room).empty());
}

TEST(Placement, DaemonPodsAreTiedToTheNodesTheyName) {
  EXPECT_EQ(Placement(PodOf(Affinity({Name("n1"), Name("n2")}))).pinned(),
            (std::vector<std::string>{"n1", "n2"}));
  EXPECT_TRUE(
      Placement(PodOf(Affinity({Name("n1"), Label("zone", "In", {"a"})}))).pinned().empty());
}

TEST(Placement, MessageNamesEachReason) {
  EXPECT_EQ(UnschedulableMessage(3, {{"Insufficient cpu", 1}, {"node(s) were unschedulable", 2}}),
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.");
}

}  // namespace
}  // namespace kcm::devcluster::nodes
