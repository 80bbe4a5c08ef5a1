// SPDX-License-Identifier: Apache-2.0
// Which nodes a pod may run on: taints, node selector, required affinity.
#include <gtest/gtest.h>

#include "kcm/rules/node_affinity.h"
#include "kcm/rules/taint.h"
#include "rules/parsed.h"

namespace kcm::rules {
namespace {

TEST(Taint, Tolerates) {
  const struct {
    const char* toleration;
    const char* taint;
    bool off, on;  // gate of the comparison operators
  } rows[] = {
      {R"({"key":"k","operator":"Equal","value":"v","effect":"NoSchedule"})",
       R"({"key":"k","value":"v","effect":"NoSchedule"})", true, true},
      {R"({"key":"k","value":"v"})", R"({"key":"k","value":"v","effect":"NoExecute"})", true, true},
      {R"({"key":"k","value":"x"})", R"({"key":"k","value":"v","effect":"NoExecute"})", false,
       false},
      {R"({"key":"k"})", R"({"key":"k","effect":"NoExecute"})", true, true},
      {R"({"key":"k","operator":"Exists"})", R"({"key":"k","value":"v","effect":"NoExecute"})",
       true, true},
      {R"({"operator":"Exists"})", R"({"key":"any","value":"v","effect":"NoSchedule"})", true,
       true},
      {R"({"key":"k","operator":"Exists","effect":"NoSchedule"})",
       R"({"key":"k","effect":"NoExecute"})", false, false},
      {R"({"key":"j","operator":"Exists"})", R"({"key":"k","effect":"NoExecute"})", false, false},
      {R"({"key":"k","operator":"exists"})", R"({"key":"k","effect":"NoExecute"})", false, false},
      {R"({"key":"k","operator":"Gt","value":"5"})",
       R"({"key":"k","value":"6","effect":"NoSchedule"})", false, true},
      {R"({"key":"k","operator":"Gt","value":"6"})",
       R"({"key":"k","value":"6","effect":"NoSchedule"})", false, false},
      {R"({"key":"k","operator":"Lt","value":"5"})",
       R"({"key":"k","value":"-6","effect":"NoSchedule"})", false, true},
      {R"({"key":"k","operator":"Lt","value":"05"})",
       R"({"key":"k","value":"1","effect":"NoSchedule"})", false, false},
      {R"({"key":"k","operator":"Lt","value":"x"})",
       R"({"key":"k","value":"1","effect":"NoSchedule"})", false, false},
      {R"({"key":"k","operator":"Exists","tolerationSeconds":0})",
       R"({"key":"k","effect":"NoExecute"})", true, true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.toleration) + " " + row.taint);
    const Parsed toleration(row.toleration);
    const Parsed taint(row.taint);
    EXPECT_EQ(Tolerates(toleration, taint), row.off);
    EXPECT_EQ(Tolerates(toleration, taint, ComparisonOperators::kOn), row.on);
  }
}

TEST(Taint, FindsTheFirstUntolerated) {
  const Parsed taints(
      R"([{"key":"soft","effect":"PreferNoSchedule"},{"key":"a","effect":"NoSchedule"},{"key":"b","effect":"NoExecute"}])");
  const Parsed none("[]");
  const Parsed some(R"([{"key":"a","operator":"Exists"}])");
  EXPECT_EQ(FindUntoleratedTaint(taints, none, kSchedulingEffects).Get("key").String(), "a");
  EXPECT_EQ(FindUntoleratedTaint(taints, some, kSchedulingEffects).Get("key").String(), "b");
  EXPECT_EQ(FindUntoleratedTaint(taints, none, kEvictionEffects).Get("key").String(), "b");
  EXPECT_EQ(FindUntoleratedTaint(taints, none, {}).Get("key").String(), "soft");
  EXPECT_FALSE(FindUntoleratedTaint(Node(), none, kSchedulingEffects).Has());
  EXPECT_TRUE(FindTaint(taints, "b", "NoExecute").Has());
  EXPECT_FALSE(FindTaint(taints, "b", "NoSchedule").Has());
  EXPECT_TRUE(FindToleration(some, taints.node().At(1)).Has());
}

constexpr char kNode[] =
    R"({"metadata":{"name":"n1.example.com","labels":{"disk":"ssd","cpus":"8","empty":""}}})";

std::string Required(const char* terms) {
  return std::string(
             R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":)") +
         terms + "}}}}";
}

TEST(NodeAffinity, Matches) {
  const struct {
    const char* name;
    std::string spec;
    bool want;
  } rows[] = {
      {"nothing asked", "{}", true},
      {"node selector", R"({"nodeSelector":{"disk":"ssd"}})", true},
      {"node selector, one pair wrong", R"({"nodeSelector":{"disk":"ssd","cpus":"4"}})", false},
      {"In",
       Required(
           R"([{"matchExpressions":[{"key":"disk","operator":"In","values":["hdd","ssd"]}]}])"),
       true},
      {"NotIn of an absent key",
       Required(R"([{"matchExpressions":[{"key":"gpu","operator":"NotIn","values":["x"]}]}])"),
       true},
      {"Exists", Required(R"([{"matchExpressions":[{"key":"empty","operator":"Exists"}]}])"), true},
      {"DoesNotExist",
       Required(R"([{"matchExpressions":[{"key":"disk","operator":"DoesNotExist"}]}])"), false},
      {"Gt", Required(R"([{"matchExpressions":[{"key":"cpus","operator":"Gt","values":["7"]}]}])"),
       true},
      {"Lt", Required(R"([{"matchExpressions":[{"key":"cpus","operator":"Lt","values":["8"]}]}])"),
       false},
      {"Gt of a text",
       Required(R"([{"matchExpressions":[{"key":"disk","operator":"Gt","values":["1"]}]}])"),
       false},
      {"expressions are ANDed",
       Required(
           R"([{"matchExpressions":[{"key":"disk","operator":"Exists"},{"key":"gpu","operator":"Exists"}]}])"),
       false},
      {"terms are ORed",
       Required(
           R"([{"matchExpressions":[{"key":"gpu","operator":"Exists"}]},{"matchExpressions":[{"key":"disk","operator":"Exists"}]}])"),
       true},
      {"empty term", Required("[{}]"), false},
      {"no term", Required("[]"), false},
      {"by name",
       Required(
           R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1.example.com"]}]}])"),
       true},
      {"by another name",
       Required(R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n2"]}]}])"),
       false},
      {"not by name",
       Required(
           R"([{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n2"]}]}])"),
       true},
      {"two names",
       Required(
           R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1.example.com","n2"]}]}])"),
       false},
      {"field and labels are ANDed",
       Required(
           R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1.example.com"]}],"matchExpressions":[{"key":"gpu","operator":"Exists"}]}])"),
       false},
      {"a bad term is skipped",
       Required(
           R"([{"matchExpressions":[{"key":"disk","operator":"Near"}]},{"matchExpressions":[{"key":"disk","operator":"Exists"}]}])"),
       true},
      {"only bad terms",
       Required(R"([{"matchExpressions":[{"key":"disk","operator":"Gt","values":["x"]}]}])"),
       false},
      {"selector and affinity are ANDed",
       R"({"nodeSelector":{"disk":"hdd"},"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"disk","operator":"Exists"}]}]}}}})",
       false},
      {"preferences do not count",
       R"({"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}]}}})",
       true},
  };
  const Parsed node(kNode);
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Parsed spec(row.spec);
    EXPECT_EQ(NodeAffinity::OfPodSpec(spec).Matches(node), row.want);
  }
}

}  // namespace
}  // namespace kcm::rules
