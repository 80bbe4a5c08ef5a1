// SPDX-License-Identifier: Apache-2.0
// What others add to the API: custom resources with schemas, aggregated groups; and what describes
// it.
#include <gtest/gtest.h>

#include <algorithm>

#include "devcluster/server/api_client.h"
#include "devcluster/server/gzip.h"
#include "devcluster/server/server.h"
#include "host/clock/clock.h"

namespace kcm::devcluster::test {
namespace {

const char* const kWidgets = "/apis/example.com/v1/namespaces/default/widgets";

class Extensions : public ::testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.tls = false;
    options.clock = &clock_;
    server_ = std::make_unique<Server>(options);
    const Status started = server_->Start();
    ASSERT_TRUE(started.ok()) << started.error().message;
    api_ = std::make_unique<ApiClient>(server_->port());
  }
  void Define(const char* spec_schema, Json annotations = Json::object()) {
    const Json schema = {
        {"type", "object"},
        {"properties",
         {{"spec", Json::parse(spec_schema)},
          {"status", {{"type", "object"}, {"properties", {{"ready", {{"type", "integer"}}}}}}}}}};
    const Json version = {
        {"name", "v1"},
        {"served", true},
        {"storage", true},
        {"schema", {{"openAPIV3Schema", schema}}},
        {"subresources", {{"status", Json::object()}}},
        {"additionalPrinterColumns",
         Json::array(
             {{{"name", "Size"}, {"type", "string"}, {"jsonPath", ".spec.size"}},
              {{"name", "Age"}, {"type", "date"}, {"jsonPath", ".metadata.creationTimestamp"}}})}};
    const Reply made = api_->Post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {{"metadata", {{"name", "widgets.example.com"}, {"annotations", std::move(annotations)}}},
         {"spec",
          {{"group", "example.com"},
           {"scope", "Namespaced"},
           {"names", {{"plural", "widgets"}, {"kind", "Widget"}}},
           {"versions", Json::array({version})}}}});
    ASSERT_EQ(made.code, 201) << made.body;
  }
  Reply Make(const char* name, Json spec, const char* query = "") {
    return api_->Post(std::string(kWidgets) + query, {{"apiVersion", "example.com/v1"},
                                                      {"kind", "Widget"},
                                                      {"metadata", {{"name", name}}},
                                                      {"spec", std::move(spec)}});
  }

  host::clock::VirtualClock clock_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<ApiClient> api_;
};

TEST_F(Extensions, CustomObjectsFollowTheirSchema) {
  Define(
      R"({"type":"object","required":["size"],"properties":{"size":{"type":"string"},"n":{"type":"integer","default":1,"maximum":9}}})");
  const Reply made = Make("a", {{"size", "small"}, {"zzz", 1}});
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made.json()["spec"], (Json{{"size", "small"}, {"n", 1}}));
  EXPECT_NE(std::find_if(made.headers.begin(), made.headers.end(),
                         [](const auto& h) {
                           return h.first == "Warning" &&
                                  h.second.find("unknown field \\\"spec.zzz\\\"") !=
                                      std::string::npos;
                         }),
            made.headers.end());
  EXPECT_EQ(Make("b", {{"size", "small"}, {"zzz", 1}}, "?fieldValidation=Strict").code, 400);
  const Reply refused = Make("c", {{"n", 10}});
  EXPECT_EQ(refused.code, 422);
  EXPECT_EQ(refused.json()["message"],
            "Widget.example.com \"c\" is invalid: [spec.size: Required value, spec.n: Invalid "
            "value: 10: spec.n in body should be less than or equal to 9]");
  const std::string path = std::string(kWidgets) + "/a";
  EXPECT_EQ(api_->Merge(path, {{"spec", {{"n", 99}}}}).code, 422);
  const Reply status = api_->Merge(path + "/status",
                                   {{"spec", {{"n", 5}}}, {"status", {{"ready", 2}, {"nope", 1}}}});
  ASSERT_EQ(status.code, 200) << status.body;
  EXPECT_EQ(status.json()["status"], (Json{{"ready", 2}}));
  EXPECT_EQ(status.json()["spec"]["n"], 1);
  EXPECT_EQ(status.json()["metadata"]["generation"], 1);
}

TEST_F(Extensions, CustomColumnsAreShown) {
  Define(R"({"type":"object","properties":{"size":{"type":"string"}}})");
  Make("a", {{"size", "small"}});
  const Json table = api_->Do({"GET", kWidgets, "", "application/json",
                               "application/json;as=Table;v=v1;g=meta.k8s.io"})
                         .json();
  EXPECT_EQ(table["columnDefinitions"][1]["name"], "Size");
  EXPECT_EQ(table["rows"][0]["cells"], (Json{"a", "small", "0s"}));
}

TEST_F(Extensions, AVerbCanBeTakenFromACustomResource) {
  Define(R"({"type":"object"})", {{"sim/without-verbs", "deletecollection"}});
  EXPECT_EQ(api_->Delete(kWidgets).code, 405);
  const Json list = api_->Get("/apis/example.com/v1").json();
  for (const Json& r : list["resources"]) {
    if (r["name"] != "widgets") continue;
    EXPECT_EQ(std::count(r["verbs"].begin(), r["verbs"].end(), "deletecollection"), 0);
    EXPECT_EQ(std::count(r["verbs"].begin(), r["verbs"].end(), "delete"), 1);
  }
}

TEST_F(Extensions, AnAggregatedGroupIsAnnouncedAndUnavailable) {
  const std::string services = "/apis/apiregistration.k8s.io/v1/apiservices";
  const Json spec = {{"group", "broken.example.com"},
                     {"version", "v1beta1"},
                     {"groupPriorityMinimum", 1},
                     {"versionPriority", 1},
                     {"service", {{"namespace", "kube-system"}, {"name", "nobody"}}}};
  ASSERT_EQ(
      api_->Post(services, {{"metadata", {{"name", "v1beta1.broken.example.com"}}}, {"spec", spec}})
          .code,
      201);
  EXPECT_EQ(api_->Get("/apis/broken.example.com/v1beta1").code, 503);
  EXPECT_EQ(api_->Get("/apis/broken.example.com/v1beta1/namespaces/default/things").code, 503);
  EXPECT_EQ(api_->Get("/apis/broken.example.com").code, 200);
  const Json groups =
      api_->Do({"GET", "/apis", "", "application/json",
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"})
          .json();
  bool stale = false;
  for (const Json& g : groups["items"])
    stale = stale || (g["metadata"]["name"] == "broken.example.com" &&
                      g["versions"][0]["freshness"] == "Stale");
  EXPECT_TRUE(stale);
  const Json condition =
      api_->Get(services + "/v1beta1.broken.example.com").json()["status"]["conditions"][0];
  EXPECT_EQ(condition["type"], "Available");
  EXPECT_EQ(condition["status"], "False");
  EXPECT_EQ(condition["reason"], "ServiceNotFound");
  ASSERT_EQ(api_->Delete(services + "/v1beta1.broken.example.com").code, 200);
  EXPECT_EQ(api_->Get("/apis/broken.example.com/v1beta1").code, 404);
}

TEST_F(Extensions, SchemasDescribeBuiltInAndCustomKinds) {
  Define(R"({"type":"object","properties":{"size":{"type":"string","description":"how large"}}})");
  const Json index = Json::parse(api_->Get("/openapi/v3").body);
  const auto document = [&](const char* path) {
    return api_->Get(index["paths"][path]["serverRelativeURL"]).json()["components"]["schemas"];
  };
  const Json apps = document("apis/apps/v1");
  const Json deployment = apps["io.k8s.api.apps.v1.Deployment"];
  EXPECT_EQ(deployment["x-kubernetes-group-version-kind"][0]["kind"], "Deployment");
  EXPECT_EQ(deployment["properties"]["spec"]["allOf"][0]["$ref"],
            "#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec");
  EXPECT_EQ(apps["io.k8s.api.apps.v1.DeploymentSpec"]["required"], (Json{"selector", "template"}));
  const Json containers = apps["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
  EXPECT_EQ(containers["type"], "array");
  EXPECT_EQ(containers["x-kubernetes-list-map-keys"], Json{"name"});
  // Whatever is referred to is there.
  const std::string text = apps.dump(), start = "#/components/schemas/";
  for (size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    const std::string name = text.substr(at + start.size(), text.find('"', at) - at - start.size());
    ASSERT_TRUE(apps.contains(name)) << name;
  }
  EXPECT_EQ(document("apis/example.com/v1")["com.example.v1.Widget"]["properties"]["spec"]
                                           ["properties"]["size"]["description"],
            "how large");
}

TEST(GzipAnswers, OnlyWhoAsksGetsThem) {
  EXPECT_TRUE(AcceptsGzip("gzip"));
  EXPECT_TRUE(AcceptsGzip("deflate, GZIP;q=0.5"));
  EXPECT_FALSE(AcceptsGzip("identity"));
  EXPECT_FALSE(AcceptsGzip("gzip;q=0"));
  EXPECT_FALSE(AcceptsGzip(""));
  const std::optional<std::string> small = Gzip(std::string(200'000, 'x'));
  ASSERT_TRUE(small.has_value());
  EXPECT_LT(small->size(), 2000u);
  EXPECT_EQ(small->substr(0, 2), "\x1f\x8b");
}

}  // namespace
}  // namespace kcm::devcluster::test
