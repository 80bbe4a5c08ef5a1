// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/aggregation_rule.h"

#include <gtest/gtest.h>

#include "rules/parsed.h"

namespace kcm::rules {
namespace {

constexpr char kRoles[] = R"([
  {"metadata":{"name":"saw","labels":{"foo":"not-bar"}},"rules":[{"verbs":["saw"],"resources":["wood"]}]},
  {"metadata":{"name":"hammer","labels":{"foo":"bar"}},"rules":[{"verbs":["hammer"],"resources":["nails"]},{"verbs":["hammer"],"resources":["wedges"]}]},
  {"metadata":{"name":"chisel","labels":{"foo":"bar"}},"rules":[{"verbs":["chisel"],"resources":["mortises"]},{"verbs":["hammer"],"resources":["nails"],"resourceNames":[]}]},
  {"metadata":{"name":"combined","labels":{"foo":"bar"}},"rules":[{"verbs":["own"]}]},
  {"metadata":{"name":"empty","labels":{"foo":"bar"}},"rules":null}])";

std::string Aggregated(const char* selectors) {
  const Parsed roles(kRoles);
  const Parsed role(
      std::string(R"({"metadata":{"name":"combined"},"aggregationRule":{"clusterRoleSelectors":)") +
      selectors + "}}");
  std::vector<Node> all;
  for (const Node r : roles.node().Items()) all.push_back(r);
  const Result<std::vector<Node>> rules = AggregatedRules(role, all);
  if (!rules.ok()) return rules.error().message;
  std::string out;
  for (const Node r : *rules) {
    out += std::string(r.Get("verbs").At(0).String()) + ":" +
           std::string(r.Get("resources").At(0).String()) + " ";
  }
  return out;
}

TEST(AggregationRule, UnionInOrder) {
  const struct {
    const char* selectors;
    const char* want;
  } rows[] = {
      {R"([{"matchLabels":{"foo":"bar"}}])", "chisel:mortises hammer:nails hammer:wedges "},
      {R"([{"matchLabels":{"foo":"bar"}},{"matchLabels":{"foo":"not-bar"}}])",
       "chisel:mortises hammer:nails hammer:wedges saw:wood "},
      {R"([{"matchLabels":{"foo":"not-bar"}},{"matchLabels":{"foo":"bar"}}])",
       "saw:wood chisel:mortises hammer:nails hammer:wedges "},
      {R"([{"matchExpressions":[{"key":"foo","operator":"NotIn","values":["bar"]}]}])",
       "saw:wood "},
      {R"([{}])", "chisel:mortises hammer:nails hammer:wedges saw:wood "},
      {R"([])", ""},
      {R"([{"matchExpressions":[{"key":"foo","operator":"Is"}]}])",
       "\"Is\" is not a valid label selector operator"},
  };
  for (const auto& row : rows) EXPECT_EQ(Aggregated(row.selectors), row.want) << row.selectors;
}

TEST(AggregationRule, RulesAreEqualElementByElement) {
  const Parsed get_list(R"({"verbs":["get","list"],"resources":["pods"]})");
  const Parsed list_get(R"({"verbs":["list","get"],"resources":["pods"]})");
  const Parsed with_null(
      R"({"verbs":["get","list"],"resources":["pods"],"apiGroups":null,"nonResourceURLs":[]})");
  EXPECT_FALSE(SamePolicyRule(get_list, list_get));
  EXPECT_TRUE(SamePolicyRule(get_list, with_null));
  const std::vector<Node> rules = {get_list};
  EXPECT_TRUE(SamePolicyRules(rules, Parsed(R"([{"verbs":["get","list"],"resources":["pods"]}])")));
  EXPECT_FALSE(SamePolicyRules(rules, Parsed("[]")));
  EXPECT_TRUE(SamePolicyRules({}, Parsed("null")));
}

TEST(AggregationRule, PatchLeavesOutWhatIsEmpty) {
  const Parsed rule(
      R"({"resources":["pods"],"apiGroups":[""],"verbs":["get"],"resourceNames":[]})");
  const std::vector<Node> rules = {rule, rule};
  EXPECT_EQ(
      AggregationPatch("view", rules),
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"view"},"rules":[)"
      R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"]},{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})");
  EXPECT_EQ(
      AggregationPatch("view", {}),
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"view"}})");
}

}  // namespace
}  // namespace kcm::rules
