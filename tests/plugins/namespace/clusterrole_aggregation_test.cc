// SPDX-License-Identifier: Apache-2.0
// clusterrole-aggregation-controller in a real host: the scenarios of spec/namespace.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "harness/cluster.h"

namespace kcm::harness {
namespace {

Json Rule(const std::string& resource, const std::vector<std::string>& verbs = {"hammer"}) {
  return {{"verbs", verbs}, {"apiGroups", {""}}, {"resources", {resource}}};
}

Json Role(const std::string& name, const Json& labels, const std::vector<Json>& rules) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "ClusterRole"},
          {"metadata", {{"name", name}, {"labels", labels}}},
          {"rules", rules}};
}

Json Aggregated(const std::string& name, const std::vector<Json>& selectors,
                const Json& labels = nullptr) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "ClusterRole"},
          {"metadata", {{"name", name}, {"labels", labels}}},
          {"aggregationRule", {{"clusterRoleSelectors", selectors}}}};
}

Json Labels(const Json& labels) { return {{"matchLabels", labels}}; }
const char* const kFoo = "foo";

class ClusterRoleAggregation : public ::testing::Test {
 protected:
  std::vector<Json> RulesOf(const std::string& role) {
    const Json object = cluster.Get("clusterroles", role);
    if (!object.contains("rules") || object["rules"].is_null()) return {};
    return object["rules"].get<std::vector<Json>>();
  }
  std::string VersionOf(const std::string& role) {
    return cluster.Get("clusterroles", role)["metadata"]["resourceVersion"];
  }
  void CreateCombined() {
    cluster.Create(Aggregated("combined", {Labels({{kFoo, "bar"}})}));
    cluster.Settle();
  }
  void CreateHammer() {
    cluster.Create(Role("hammer", {{kFoo, "bar"}}, {Rule("nails"), Rule("wedges")}));
    cluster.Settle();
  }

  Cluster cluster{{.plugins = {"namespace"}, .nodes = 0, .scheduler = false}};
};

TEST_F(ClusterRoleAggregation, CRA_01_SelectedRulesInOrder) {
  CreateHammer();
  CreateCombined();
  EXPECT_EQ(RulesOf("combined"), (std::vector<Json>{Rule("nails"), Rule("wedges")}));
}

TEST_F(ClusterRoleAggregation, CRA_02_RolesInOrderOfTheirNames) {
  CreateHammer();
  CreateCombined();
  cluster.Create(Role("chisel", {{kFoo, "bar"}}, {Rule("mortises")}));
  cluster.Settle();
  EXPECT_EQ(RulesOf("combined"),
            (std::vector<Json>{Rule("mortises"), Rule("nails"), Rule("wedges")}));
}

TEST_F(ClusterRoleAggregation, CRA_03_SelectorsInOrderOfTheList) {
  CreateHammer();
  cluster.Create(Role("chisel", {{kFoo, "bar"}}, {Rule("mortises")}));
  cluster.Create(Role("saw", {{kFoo, "not-bar"}}, {Rule("boards")}));
  cluster.Create(Aggregated("combined", {Labels({{kFoo, "bar"}}), Labels({{kFoo, "not-bar"}})}));
  cluster.Settle();
  EXPECT_EQ(RulesOf("combined"),
            (std::vector<Json>{Rule("mortises"), Rule("nails"), Rule("wedges"), Rule("boards")}));
  cluster.Create(Role("anvil", {{kFoo, "not-bar"}}, {Rule("iron")}));
  cluster.Settle();
  EXPECT_EQ(RulesOf("combined"), (std::vector<Json>{Rule("mortises"), Rule("nails"), Rule("wedges"),
                                                    Rule("iron"), Rule("boards")}));
}

TEST_F(ClusterRoleAggregation, CRA_04_EqualRulesAppearOnceAtTheirFirstPlace) {
  CreateHammer();
  cluster.Create(Role("mallet", {{kFoo, "bar"}}, {Rule("pegs"), Rule("nails")}));
  CreateCombined();
  EXPECT_EQ(RulesOf("combined"), (std::vector<Json>{Rule("nails"), Rule("wedges"), Rule("pegs")}));
}

TEST_F(ClusterRoleAggregation, CRA_05_OrderOfVerbsMakesAnotherRule) {
  cluster.Create(Role("a", {{kFoo, "bar"}}, {Rule("pods", {"get", "list"})}));
  cluster.Create(Role("b", {{kFoo, "bar"}}, {Rule("pods", {"list", "get"})}));
  CreateCombined();
  EXPECT_EQ(RulesOf("combined"),
            (std::vector<Json>{Rule("pods", {"get", "list"}), Rule("pods", {"list", "get"})}));
}

TEST_F(ClusterRoleAggregation, CRA_06_RulesLeaveWithTheLabel) {
  CreateHammer();
  cluster.Create(Role("chisel", {{kFoo, "bar"}}, {Rule("mortises")}));
  CreateCombined();
  ASSERT_EQ(RulesOf("combined").size(), 3u);
  cluster.MergePatch("clusterroles", "hammer", {{"metadata", {{"labels", {{kFoo, nullptr}}}}}});
  cluster.Settle();
  EXPECT_EQ(RulesOf("combined"), (std::vector<Json>{Rule("mortises")}));
}

TEST_F(ClusterRoleAggregation, CRA_07_RulesLeaveWithTheRole) {
  CreateHammer();
  cluster.Create(Role("chisel", {{kFoo, "bar"}}, {Rule("mortises")}));
  CreateCombined();
  ASSERT_EQ(RulesOf("combined").size(), 3u);
  cluster.Delete("clusterroles", "hammer");
  cluster.Settle();
  EXPECT_EQ(RulesOf("combined"), (std::vector<Json>{Rule("mortises")}));
}

TEST_F(ClusterRoleAggregation, CRA_08_RulesOfAUserAreReplaced) {
  CreateHammer();
  CreateCombined();
  Json combined = cluster.Get("clusterroles", "combined");
  combined["rules"] = Json::array({Rule("everything", {"*"})});
  combined["metadata"]["labels"]["mine"] = "yes";
  cluster.Update("clusterroles", combined);
  cluster.Settle();
  EXPECT_EQ(RulesOf("combined"), (std::vector<Json>{Rule("nails"), Rule("wedges")}));
  EXPECT_EQ(cluster.Get("clusterroles", "combined")["metadata"]["labels"]["mine"], "yes")
      << "only rules are the controller's";
}

TEST_F(ClusterRoleAggregation, CRA_09_NoSourceLeavesNoRules) {
  CreateHammer();
  CreateCombined();
  ASSERT_EQ(RulesOf("combined").size(), 2u);
  cluster.Delete("clusterroles", "hammer");
  cluster.Settle();
  EXPECT_EQ(RulesOf("combined"), std::vector<Json>());
}

TEST_F(ClusterRoleAggregation, CRA_10_ARoleDoesNotIncludeItself) {
  CreateHammer();
  cluster.Create(Aggregated("combined", {Labels({{kFoo, "bar"}})}, {{kFoo, "bar"}}));
  cluster.Settle();
  EXPECT_EQ(RulesOf("combined"), (std::vector<Json>{Rule("nails"), Rule("wedges")}));
  const std::string settled = VersionOf("combined");
  cluster.Advance(30s);
  EXPECT_EQ(VersionOf("combined"), settled);
}

TEST_F(ClusterRoleAggregation, CRA_11_ChainsSettle) {
  cluster.Create(Aggregated("top", {Labels({{"t", "1"}})}));
  cluster.Create(Aggregated("combined", {Labels({{kFoo, "bar"}})}, {{"t", "1"}}));
  CreateHammer();
  ASSERT_EQ(RulesOf("top"), (std::vector<Json>{Rule("nails"), Rule("wedges")}));
  cluster.MergePatch("clusterroles", "hammer",
                     {{"rules", Json::array({Rule("nails"), Rule("wedges"), Rule("tacks")})}});
  cluster.Settle();
  EXPECT_EQ(RulesOf("top"), (std::vector<Json>{Rule("nails"), Rule("wedges"), Rule("tacks")}));
}

TEST_F(ClusterRoleAggregation, CRA_12_RulesAreOwnedByApply) {
  CreateHammer();
  CreateCombined();
  const Json combined = cluster.Get("clusterroles", "combined");
  const Json& managers = combined["metadata"]["managedFields"];
  const auto own = std::find_if(managers.begin(), managers.end(), [](const Json& m) {
    return m.value("manager", "") == "clusterrole-aggregation-controller";
  });
  ASSERT_NE(own, managers.end()) << managers;
  EXPECT_EQ((*own)["operation"], "Apply");
  EXPECT_TRUE((*own)["fieldsV1"].contains("f:rules")) << *own;
}

TEST_F(ClusterRoleAggregation, CRA_13_NotInSelectsRolesWithoutTheLabel) {
  CreateHammer();
  cluster.Create(Role("plain", nullptr, {Rule("planks")}));
  cluster.Create(Role("other", {{kFoo, "other"}}, {Rule("screws")}));
  const Json not_bar{{"key", kFoo}, {"operator", "NotIn"}, {"values", {"bar"}}};
  cluster.Create(Aggregated("combined", {{{"matchExpressions", Json::array({not_bar})}}}));
  cluster.Settle();
  const std::vector<Json> rules = RulesOf("combined");
  const auto has = [&](const Json& rule) {
    return std::find(rules.begin(), rules.end(), rule) != rules.end();
  };
  EXPECT_TRUE(has(Rule("planks")));
  EXPECT_TRUE(has(Rule("screws")));
  EXPECT_FALSE(has(Rule("nails")));
}

TEST_F(ClusterRoleAggregation, CRA_14_StockRolesTakeInACustomResource) {
  const Json widgets{
      {"verbs", {"get", "list"}}, {"apiGroups", {"example.com"}}, {"resources", {"widgets"}}};
  cluster.Create(
      Role("widgets-view", {{"rbac.authorization.k8s.io/aggregate-to-view", "true"}}, {widgets}));
  cluster.Settle();
  for (const char* role : {"view", "edit", "admin"}) {
    const std::vector<Json> rules = RulesOf(role);
    EXPECT_NE(std::find(rules.begin(), rules.end(), widgets), rules.end()) << role;
  }
}

TEST_F(ClusterRoleAggregation, CRA_15_ABurstOfRoles) {
  CreateCombined();
  for (int i = 0; i < 200; ++i) {
    const std::string n = std::to_string(1000 + i);
    cluster.Create(Role("r" + n, {{kFoo, "bar"}}, {Rule("x" + n)}));
  }
  cluster.Until("all rules", [&] { return RulesOf("combined").size() == 200; });
  const std::vector<Json> rules = RulesOf("combined");
  for (size_t i = 0; i < 200; ++i) EXPECT_EQ(rules[i], Rule("x" + std::to_string(1000 + i)));
}

// Trap 5, step 4: the request itself.
TEST_F(ClusterRoleAggregation, OneForcedApplyWithRulesOnly) {
  CreateHammer();
  (void)cluster.Audit();
  CreateCombined();
  std::vector<devcluster::Server::AuditEntry> writes;
  for (const auto& e : cluster.Audit()) {
    if (e.method != "GET" && e.uri.find("/clusterroles/") != std::string::npos) writes.push_back(e);
  }
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].method, "PATCH");
  EXPECT_EQ(writes[0].uri,
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/combined?fieldManager=clusterrole-"
            "aggregation-controller&force=true");
  EXPECT_EQ(writes[0].user, "system:serviceaccount:kube-system:clusterrole-aggregation-controller");
  EXPECT_EQ(Json::parse(writes[0].body),
            (Json{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                  {"kind", "ClusterRole"},
                  {"metadata", {{"name", "combined"}}},
                  {"rules", Json::array({Rule("nails"), Rule("wedges")})}}));
}

// Step 5: a refused apply is repeated until it goes through.
TEST_F(ClusterRoleAggregation, FailuresAreRetriedWithoutLimit) {
  cluster.server().AddFault({.method = "PATCH",
                             .path_regex = "/clusterroles/combined",
                             .times = 20,
                             .reason = "InternalError",
                             .message = "not now"});
  CreateHammer();
  CreateCombined();
  EXPECT_EQ(RulesOf("combined"), std::vector<Json>());
  cluster.Until(
      "the rules", [&] { return RulesOf("combined").size() == 2; }, 2h, 60s);
}

TEST_F(ClusterRoleAggregation, SettledRolesCauseNoWriteAtStart) {
  CreateHammer();
  CreateCombined();
  ASSERT_EQ(RulesOf("combined").size(), 2u);
  ASSERT_EQ(cluster.StopHost(), 0);
  (void)cluster.Audit();
  cluster.StartHost();
  cluster.Advance(60s);
  for (const std::string& write : cluster.HostWrites()) {
    EXPECT_EQ(write.find("/clusterroles/"), std::string::npos) << write;
  }
}

}  // namespace
}  // namespace kcm::harness
