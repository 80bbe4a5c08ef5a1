// SPDX-License-Identifier: Apache-2.0
// ValidatingAdmissionPolicy on writes.
#include <gtest/gtest.h>

#include "devcluster/kinds/cluster_of_kinds.h"

namespace kcm::devcluster::kinds {
namespace {

using Outcome = ClusterOfKinds::Outcome;
const Gvr kPolicies{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"};
const Gvr kBindings{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings"};
const Gvr kMaps{"", "v1", "configmaps"};

class AdmissionPolicy : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"n1", "n2"})
      cluster.Create({"", "v1", "namespaces"}, "",
                     {{"metadata", {{"name", name}, {"labels", {{"env", name}}}}}});
  }
  static Json Rules(const std::string& resource = "configmaps") {
    return {{"resourceRules", Json::array({{{"apiGroups", {""}},
                                            {"apiVersions", {"v1"}},
                                            {"operations", {"CREATE", "UPDATE", "DELETE"}},
                                            {"resources", {resource}}}})}};
  }
  Outcome Policy(Json spec, Json binding = Json::object()) {
    if (!spec.contains("matchConstraints")) spec["matchConstraints"] = Rules();
    const Outcome made =
        cluster.Create(kPolicies, "", {{"metadata", {{"name", "p"}}}, {"spec", spec}});
    binding["policyName"] = "p";
    if (!binding.contains("validationActions")) binding["validationActions"] = {"Deny"};
    cluster.Create(kBindings, "", {{"metadata", {{"name", "b"}}}, {"spec", binding}});
    return made;
  }
  Outcome Make(Json data, const std::string& ns = "n1", const std::string& name = "a") {
    return cluster.Create(kMaps, ns, {{"metadata", {{"name", name}}}, {"data", std::move(data)}});
  }
  static Json One(const std::string& expression, Json more = Json::object()) {
    more["expression"] = expression;
    return {{"validations", Json::array({std::move(more)})}};
  }
  static std::string Message(const Outcome& o) { return o.body.value("message", ""); }

  ClusterOfKinds cluster;
};

const std::string kDenied =
    "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
    "request: ";

TEST_F(AdmissionPolicy, RefusesWithTheExpressionOrTheMessage) {
  Policy(One("!('bad' in object.data)"));
  EXPECT_EQ(Make({{"good", "1"}}, "n1", "fine").status, 201);
  const Outcome o = Make({{"bad", "1"}});
  EXPECT_EQ(o.status, 422);
  EXPECT_EQ(o.body["reason"], "Invalid");
  EXPECT_EQ(Message(o), kDenied + "failed expression: !('bad' in object.data)");
  EXPECT_EQ(o.body["details"]["causes"][0]["message"],
            Message(o).substr(Message(o).find("Validating")));
}

TEST_F(AdmissionPolicy, MakesMessagesAndChoosesTheReason) {
  Policy(One("size(object.data) < 2",
             {{"reason", "Forbidden"},
              {"messageExpression", "'has ' + string(size(object.data)) + ' members'"}}));
  const Outcome o = Make({{"a", "1"}, {"b", "2"}});
  EXPECT_EQ(o.status, 403);
  EXPECT_EQ(o.body["reason"], "Forbidden");
  EXPECT_EQ(Message(o), kDenied + "has 2 members");
}

TEST_F(AdmissionPolicy, AnErrorRefusesUnlessThePolicyIgnoresIt) {
  Json spec = One("object.data.must == 'x'");
  Policy(spec);
  EXPECT_EQ(Message(Make({{"a", "1"}})),
            kDenied + "expression 'object.data.must == 'x'' resulted in error: no such key: must");
  spec["failurePolicy"] = "Ignore";
  spec["matchConstraints"] = Rules();
  cluster.Update(kPolicies, "", "p", "", {{"spec", spec}}, ClusterOfKinds::PatchType::kMerge);
  EXPECT_EQ(Make({{"a", "1"}}).status, 201);
}

TEST_F(AdmissionPolicy, WarnsInsteadOfRefusing) {
  Policy(One("false", {{"message", "not nice"}}), {{"validationActions", {"Warn", "Audit"}}});
  const Outcome o = Make({{"a", "1"}});
  EXPECT_EQ(o.status, 201);
  EXPECT_EQ(o.warnings,
            (std::vector<std::string>{
                "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': not nice"}));
}

TEST_F(AdmissionPolicy, HoldsOnlyWhereBindingAndConditionsSaySo) {
  Json spec = One("false");
  spec["matchConditions"] = Json::array(
      {{{"name", "not-mine"},
        {"expression", "request.userInfo.username != 'me' && object.metadata.name != 'free'"}}});
  Policy(spec, {{"matchResources", {{"namespaceSelector", {{"matchLabels", {{"env", "n1"}}}}}}}});
  EXPECT_EQ(Make({}, "n1").status, 422);
  EXPECT_EQ(Make({}, "n1", "free").status, 201);
  EXPECT_EQ(Make({}, "n2").status, 201);
  EXPECT_EQ(cluster.Create({"", "v1", "secrets"}, "n1", {{"metadata", {{"name", "s"}}}}).status,
            201)
      << "another resource";
}

TEST_F(AdmissionPolicy, SeesOldObjectsRequestsNamespacesAndVariables) {
  Json spec = One("oldObject == null || variables.new >= variables.old");
  spec["variables"] = Json::array(
      {{{"name", "new"}, {"expression", "int(object.data.n)"}},
       {{"name", "old"}, {"expression", "oldObject == null ? 0 : int(oldObject.data.n)"}},
       {{"name", "broken"}, {"expression", "object.nothing"}}});
  spec["validations"].push_back({{"expression",
                                  "namespaceObject.metadata.labels.env == request.namespace && "
                                  "request.operation in ['CREATE', 'UPDATE']"}});
  const Outcome made = Policy(spec);
  ASSERT_EQ(made.status, 201) << made.body;
  ASSERT_EQ(Make({{"n", "5"}}).status, 201);
  const auto set = [&](const char* n) {
    return cluster
        .Update(kMaps, "n1", "a", "", {{"data", {{"n", n}}}}, ClusterOfKinds::PatchType::kMerge)
        .status;
  };
  EXPECT_EQ(set("7"), 200);
  EXPECT_EQ(set("6"), 422);
}

TEST_F(AdmissionPolicy, RefusesDeletes) {
  Policy(One("request.operation != 'DELETE' || oldObject.data.keep != 'yes'"));
  Make({{"keep", "yes"}});
  EXPECT_EQ(cluster.Delete(kMaps, "n1", "a").status, 422);
}

TEST_F(AdmissionPolicy, ReadsParameters) {
  Json spec = One("size(object.data) <= int(params.data.most)");
  spec["paramKind"] = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  Policy(spec, {{"paramRef",
                 {{"name", "limits"}, {"namespace", "n2"}, {"parameterNotFoundAction", "Deny"}}},
                {"matchResources", {{"namespaceSelector", {{"matchLabels", {{"env", "n1"}}}}}}}});
  EXPECT_EQ(Message(Make({{"a", "1"}})), kDenied +
                                             "failed to configure binding: no params found for "
                                             "policy binding with `Deny` parameterNotFoundAction");
  ASSERT_EQ(Make({{"most", "1"}}, "n2", "limits").status, 201);
  EXPECT_EQ(Make({{"a", "1"}, {"b", "2"}}).status, 422);
  EXPECT_EQ(Make({{"a", "1"}}).status, 201);
}

TEST_F(AdmissionPolicy, IsRefusedWhenItDoesNotCompile) {
  const Outcome o = Policy(One("object.spec.replicas +"));
  EXPECT_EQ(o.status, 422);
  EXPECT_NE(Message(o).find("spec.validations[0].expression: Invalid value: \"object.spec.replicas "
                            "+\": compilation failed: ERROR: <input>:1:23"),
            std::string::npos)
      << Message(o);
  EXPECT_NE(Message(Policy(One("1 + 1"))).find("must evaluate to bool"), std::string::npos);
}

}  // namespace
}  // namespace kcm::devcluster::kinds
