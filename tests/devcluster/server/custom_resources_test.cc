// SPDX-License-Identifier: Apache-2.0
// Custom resources over their life: apply by the schema of their CRD, versions, names, deletion.
#include <gtest/gtest.h>

#include "devcluster/server/objects.h"
#include "devcluster/server/served.h"

namespace kcm::devcluster::test {
namespace {

const std::string kDefinitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

Json VersionOf(const char* name, bool storage, const char* spec = R"({"type":"object"})") {
  return {
      {"name", name},
      {"served", true},
      {"storage", storage},
      {"schema",
       {{"openAPIV3Schema", {{"type", "object"}, {"properties", {{"spec", Json::parse(spec)}}}}}}}};
}

Json Definition(const char* plural, const char* kind, Json versions) {
  return {{"metadata", {{"name", std::string(plural) + ".example.com"}}},
          {"spec",
           {{"group", "example.com"},
            {"scope", "Namespaced"},
            {"names", {{"plural", plural}, {"kind", kind}}},
            {"versions", std::move(versions)}}}};
}

class CustomResources : public Served {
 protected:
  void Define(const char* spec) {
    Make(kDefinitionsPath,
         Definition("widgets", "Widget", Json::array({VersionOf("v1", true, spec)})));
  }
  Reply Apply(const std::string& path, const Json& body, const char* manager) {
    return api_->Do({"PATCH", path + "?fieldManager=" + manager, body.dump(),
                     "application/apply-patch+yaml", "application/json"});
  }
  Reply ApplySpec(const char* spec, const char* manager) {
    return Apply(kWidgets + "/a",
                 {{"apiVersion", "example.com/v1"},
                  {"kind", "Widget"},
                  {"metadata", {{"name", "a"}}},
                  {"spec", J(spec)}},
                 manager);
  }
  Json SpecNow() { return api_->Get(kWidgets + "/a").json()["spec"]; }
  Json ConditionOf(const char* crd, const char* type) {
    const Json object = api_->Get(kDefinitionsPath + "/" + crd).json();
    for (const Json& c : object["status"]["conditions"]) {
      if (c["type"] == type) return c;
    }
    return nullptr;
  }
};

TEST_F(CustomResources, ManagersShareAListThatIsAMap) {
  Define(R"({"type":"object","properties":{"ports":{"type":"array",
      "x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port","protocol"],
      "items":{"type":"object","required":["port"],"properties":{
        "port":{"type":"integer"},"protocol":{"type":"string","default":"TCP"},
        "name":{"type":"string"}}}}}})");
  ASSERT_EQ(ApplySpec(R"({"ports":[{"port":80,"name":"a"}]})", "one").code, 201);
  const Reply second = ApplySpec(R"({"ports":[{"port":80,"protocol":"UDP","name":"b"}]})", "two");
  ASSERT_EQ(second.code, 200) << second.body;
  EXPECT_EQ(SpecNow()["ports"], J(R"([{"name":"a","port":80,"protocol":"TCP"},
                                      {"name":"b","port":80,"protocol":"UDP"}])"));
  const Reply conflict = ApplySpec(R"({"ports":[{"port":80,"name":"z"}]})", "two");
  EXPECT_EQ(conflict.code, 409);
  EXPECT_EQ(conflict.json()["message"],
            "Apply failed with 1 conflict: conflict with \"one\": "
            ".spec.ports[port=80,protocol=\"TCP\"].name");
  EXPECT_EQ(ApplySpec("{}", "one").code, 200);
  EXPECT_EQ(SpecNow()["ports"], J(R"([{"name":"b","port":80,"protocol":"UDP"}])"));
  const Reply twice = ApplySpec(R"({"ports":[{"port":1},{"port":1,"protocol":"TCP"}]})", "one");
  EXPECT_EQ(twice.code, 500);
  EXPECT_NE(twice.body.find(".spec.ports: duplicate entries for key "
                            "[port=1,protocol=\\\"TCP\\\"]"),
            std::string::npos)
      << twice.body;
}

TEST_F(CustomResources, ManagersShareASetAndFightOverAnAtomicList) {
  Define(R"({"type":"object","properties":{
      "tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
      "args":{"type":"array","x-kubernetes-list-type":"atomic","items":{"type":"string"}},
      "whole":{"type":"object","x-kubernetes-map-type":"atomic",
               "additionalProperties":{"type":"string"}},
      "parts":{"type":"object","additionalProperties":{"type":"object","properties":{
        "list":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}}}})");
  ASSERT_EQ(ApplySpec(R"({"tags":["a"],"args":["a"],"whole":{"a":"1"},
                          "parts":{"x.y/z":{"list":["a"]}}})",
                      "one")
                .code,
            201);
  const Reply sets = ApplySpec(R"({"tags":["b"],"parts":{"x.y/z":{"list":["b"]}}})", "two");
  ASSERT_EQ(sets.code, 200) << sets.body;
  EXPECT_EQ(SpecNow()["tags"], J(R"(["a","b"])"));
  EXPECT_EQ(SpecNow()["parts"]["x.y/z"]["list"], J(R"(["a","b"])"));
  EXPECT_EQ(ApplySpec(R"({"args":["b"]})", "two").code, 409);
  const Reply whole = ApplySpec(R"({"whole":{"b":"1"}})", "two");
  EXPECT_EQ(whole.code, 409);
  EXPECT_EQ(whole.json()["details"]["causes"][0]["field"], ".spec.whole");
}

TEST_F(CustomResources, AnItemWithoutAnyKeyIsRefused) {
  Define(R"({"type":"object","properties":{"items":{"type":"array",
      "x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
      "items":{"type":"object","properties":{"name":{"type":"string"},"v":{"type":"integer"}}}}}})");
  const Reply refused = ApplySpec(R"({"items":[{"v":1}]})", "one");
  EXPECT_EQ(refused.code, 500);
  EXPECT_EQ(refused.json()["message"],
            "failed to create typed patch object (/a; example.com/v1, Kind=Widget): .spec.items: "
            "element 0: associative list with keys has an element that omits all key fields "
            "[\"name\"] (and doesn't have default values for any key fields)");
}

TEST_F(CustomResources, AnApplierOrdersItsItems) {
  Define(R"({"type":"object","properties":{"tags":{"type":"array","x-kubernetes-list-type":"set",
      "items":{"type":"string"}}}})");
  ASSERT_EQ(ApplySpec(R"({"tags":["a","b"]})", "one").code, 201);
  ASSERT_EQ(ApplySpec(R"({"tags":["x"]})", "two").code, 200);
  ASSERT_EQ(ApplySpec(R"({"tags":["b","n","a"]})", "one").code, 200);
  EXPECT_EQ(SpecNow()["tags"], J(R"(["b","x","n","a"])"));
}

// What strategic merge does not know (spec/apiserver B2): several keys, sets, whole values.
TEST_F(CustomResources, BuiltInListsAreAppliedByAllTheirKeys) {
  const auto deployment = [](const char* pod) {
    return Json{{"apiVersion", "apps/v1"},
                {"kind", "Deployment"},
                {"metadata", {{"name", "d"}}},
                {"spec",
                 {{"selector", {{"matchLabels", {{"app", "a"}}}}},
                  {"template", {{"metadata", {{"labels", {{"app", "a"}}}}}, {"spec", J(pod)}}}}}};
  };
  const std::string path = kDeployments + "/d";
  ASSERT_EQ(Apply(path, deployment(R"({"containers":[{"name":"c","image":"i",
      "ports":[{"containerPort":53}],
      "env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}],
      "resources":{"claims":[{"name":"x"}]}}],
      "nodeSelector":{"a":"1"},
      "resourceClaims":[{"name":"x","resourceClaimName":"x"},{"name":"y","resourceClaimName":"y"}],
      "topologySpreadConstraints":[{"topologyKey":"z","maxSkew":1,
                                    "whenUnsatisfiable":"DoNotSchedule"}]})"),
                  "one")
                .code,
            201);
  const Reply second = Apply(path, deployment(R"({"containers":[{"name":"c",
      "ports":[{"containerPort":53,"protocol":"UDP"}],"resources":{"claims":[{"name":"y"}]}}],
      "topologySpreadConstraints":[{"topologyKey":"z","maxSkew":2,
                                    "whenUnsatisfiable":"ScheduleAnyway"}]})"),
                             "two");
  ASSERT_EQ(second.code, 200) << second.body;
  const Json pod = second.json()["spec"]["template"]["spec"];
  EXPECT_EQ(pod["containers"][0]["ports"].size(), 2u);
  EXPECT_EQ(pod["containers"][0]["resources"]["claims"], J(R"([{"name":"x"},{"name":"y"}])"));
  EXPECT_EQ(pod["topologySpreadConstraints"].size(), 2u);
  const Reply selector = Apply(path, deployment(R"({"containers":[{"name":"c"}],
                                                    "nodeSelector":{"b":"1"}})"),
                               "three");
  EXPECT_EQ(selector.code, 409);
  EXPECT_EQ(selector.json()["details"]["causes"][0]["field"], ".spec.template.spec.nodeSelector");
  const Reply key = Apply(path, deployment(R"({"containers":[{"name":"c",
      "env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"other"}}}]}]})"),
                          "three");
  EXPECT_EQ(key.code, 409);
  EXPECT_EQ(key.json()["details"]["causes"][0]["field"],
            ".spec.template.spec.containers[name=\"c\"].env[name=\"A\"].valueFrom.secretKeyRef");
}

TEST_F(CustomResources, VersionsComeInTheOrderOfTheirPriority) {
  Json versions = Json::array();
  for (const char* name : {"foo1", "v1alpha2", "v2beta1", "v1", "v2", "v10beta3", "v10"})
    versions.push_back(VersionOf(name, versions.empty()));
  Make(kDefinitionsPath, Definition("widgets", "Widget", versions));
  const Json group = api_->Get("/apis/example.com").json();
  Json order = Json::array();
  for (const Json& v : group["versions"]) order.push_back(v["version"]);
  EXPECT_EQ(order, J(R"(["v10","v2","v1","v10beta3","v2beta1","v1alpha2","foo1"])"));
  EXPECT_EQ(group["preferredVersion"]["version"], "v10");
}

TEST_F(CustomResources, AVersionThatMayBeStoredCanNotGo) {
  Make(kDefinitionsPath, Definition("widgets", "Widget", Json::array({VersionOf("v1", true)})));
  const std::string path = kDefinitionsPath + "/widgets.example.com";
  const Reply both = api_->Merge(
      path,
      {{"spec", {{"versions", Json::array({VersionOf("v1", false), VersionOf("v2", true)})}}}});
  ASSERT_EQ(both.code, 200) << both.body;
  EXPECT_EQ(both.json()["status"]["storedVersions"], J(R"(["v1","v2"])"));
  const Json only = {{"spec", {{"versions", Json::array({VersionOf("v2", true)})}}}};
  const Reply refused = api_->Merge(path, only);
  EXPECT_EQ(refused.code, 422);
  EXPECT_EQ(refused.json()["message"],
            "CustomResourceDefinition.apiextensions.k8s.io \"widgets.example.com\" is invalid: "
            "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was "
            "previously a storage version, and must remain in spec.versions until a storage "
            "migration ensures no data remains persisted in v1 and removes v1 from "
            "status.storedVersions");
  EXPECT_EQ(api_->Merge(path + "/status", J(R"({"status":{"storedVersions":["v1"]}})")).code, 422);
  EXPECT_EQ(api_->Merge(path + "/status", J(R"({"status":{"storedVersions":["v2"]}})")).code, 200);
  EXPECT_EQ(api_->Merge(path, only).code, 200);
  EXPECT_EQ(api_->Get(kWidgets).code, 404) << "v1 is no longer served";
}

TEST_F(CustomResources, ASecondDefinitionOfTheSameKindWaits) {
  Make(kDefinitionsPath, Definition("widgets", "Widget", Json::array({VersionOf("v1", true)})));
  Make(kDefinitionsPath, Definition("gadgets", "Widget", Json::array({VersionOf("v1", true)})));
  const Json names = ConditionOf("gadgets.example.com", "NamesAccepted");
  EXPECT_EQ(names["status"], "False");
  EXPECT_EQ(names["reason"], "ListKindConflict");
  EXPECT_EQ(names["message"], "\"WidgetList\" is already in use");
  EXPECT_EQ(ConditionOf("gadgets.example.com", "Established")["reason"], "NotAccepted");
  const std::string gadgets = "/apis/example.com/v1/namespaces/default/gadgets";
  EXPECT_EQ(api_->Get(gadgets).code, 404);
  EXPECT_EQ(api_->Get(kWidgets).code, 200);
  EXPECT_EQ(api_->Delete(kDefinitionsPath + "/widgets.example.com").code, 200);
  EXPECT_EQ(ConditionOf("gadgets.example.com", "NamesAccepted")["status"], "True");
  EXPECT_EQ(api_->Get(gadgets).code, 200);
}

TEST_F(CustomResources, FinalizersOfObjectsHoldTheirDefinition) {
  Define(R"({"type":"object"})");
  const auto widget = [](const char* name) {
    return Json{
        {"apiVersion", "example.com/v1"}, {"kind", "Widget"}, {"metadata", {{"name", name}}}};
  };
  Json held = widget("held");
  held["metadata"]["finalizers"] = J(R"(["example.com/f"])");
  Make(kWidgets, held);
  Make(kWidgets, widget("free"));
  const std::string path = kDefinitionsPath + "/widgets.example.com";
  ASSERT_EQ(api_->Delete(path).code, 200);
  const Json crd = api_->Get(path).json();
  EXPECT_EQ(crd["metadata"]["finalizers"], J(R"(["customresourcecleanup.apiextensions.k8s.io"])"));
  EXPECT_EQ(ConditionOf("widgets.example.com", "Terminating")["status"], "True");
  EXPECT_EQ(api_->Get(kWidgets + "/free").code, 404);
  EXPECT_TRUE(api_->Get(kWidgets + "/held").json()["metadata"].contains("deletionTimestamp"));
  const Reply late = api_->Post(kWidgets, widget("late"));
  EXPECT_EQ(late.code, 405);
  EXPECT_EQ(late.json()["message"],
            "create not allowed while custom resource definition is terminating");
  EXPECT_EQ(api_->Merge(kWidgets + "/held", J(R"({"metadata":{"finalizers":null}})")).code, 200);
  EXPECT_EQ(api_->Get(path).code, 404);
  EXPECT_EQ(api_->Get(kWidgets).code, 404);
}

TEST_F(CustomResources, SelectableFieldsSelect) {
  Json version =
      VersionOf("v1", true, R"({"type":"object","properties":{"color":{"type":"string"}}})");
  version["selectableFields"] = J(R"([{"jsonPath":".spec.color"}])");
  Make(kDefinitionsPath, Definition("widgets", "Widget", Json::array({version})));
  for (const char* color : {"red", "blue"}) {
    Make(kWidgets, {{"apiVersion", "example.com/v1"},
                    {"kind", "Widget"},
                    {"metadata", {{"name", color}}},
                    {"spec", {{"color", color}}}});
  }
  const Json found = api_->Get(kWidgets + "?fieldSelector=spec.color%3Dblue").json();
  ASSERT_EQ(found["items"].size(), 1u);
  EXPECT_EQ(found["items"][0]["metadata"]["name"], "blue");
  EXPECT_EQ(api_->Get(kWidgets + "?fieldSelector=spec.size%3D1").code, 400);
}

TEST_F(CustomResources, ServedVersionsHaveAnApiService) {
  Define(R"({"type":"object"})");
  const std::string path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com";
  const Json service = api_->Get(path).json();
  EXPECT_EQ(service["spec"], J(R"({"group":"example.com","version":"v1",
      "groupPriorityMinimum":1000,"versionPriority":100})"));
  EXPECT_EQ(service["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"], "true");
  EXPECT_EQ(service["status"]["conditions"][0]["status"], "True");
  EXPECT_EQ(api_->Delete(kDefinitionsPath + "/widgets.example.com").code, 200);
  EXPECT_EQ(api_->Get(path).code, 404);
}

}  // namespace
}  // namespace kcm::devcluster::test
