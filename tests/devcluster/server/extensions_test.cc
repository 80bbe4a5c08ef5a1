// SPDX-License-Identifier: Apache-2.0
// What others add to the API: custom resources with schemas, aggregated groups; and what describes
// it.
#include <gtest/gtest.h>

#include <algorithm>

#include "devcluster/server/gzip.h"
#include "devcluster/server/http_server.h"
#include "devcluster/server/objects.h"
#include "devcluster/server/served.h"
#include "devcluster/server/tls.h"

namespace kcm::devcluster::test {
namespace {

class Extensions : public Served {
 protected:
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
  Reply MakeWidget(const char* name, Json spec, const char* query = "") {
    return api_->Post(std::string(kWidgets) + query, {{"apiVersion", "example.com/v1"},
                                                      {"kind", "Widget"},
                                                      {"metadata", {{"name", name}}},
                                                      {"spec", std::move(spec)}});
  }
};

TEST_F(Extensions, CustomObjectsFollowTheirSchema) {
  Define(
      R"({"type":"object","required":["size"],"properties":{"size":{"type":"string"},"n":{"type":"integer","default":1,"maximum":9}}})");
  const Reply made = MakeWidget("a", {{"size", "small"}, {"zzz", 1}});
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made.json()["spec"], (Json{{"size", "small"}, {"n", 1}}));
  EXPECT_NE(std::find_if(made.headers.begin(), made.headers.end(),
                         [](const auto& h) {
                           return h.first == "Warning" &&
                                  h.second.find("unknown field \\\"spec.zzz\\\"") !=
                                      std::string::npos;
                         }),
            made.headers.end());
  EXPECT_EQ(MakeWidget("b", {{"size", "small"}, {"zzz", 1}}, "?fieldValidation=Strict").code, 400);
  const Reply refused = MakeWidget("c", {{"n", 10}});
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

// spec/apiserver C2, C7: the rules of metadata hold for every kind.
TEST_F(Extensions, CustomObjectsObeyTheRulesOfMetadata) {
  Define(R"({"type":"object","x-kubernetes-preserve-unknown-fields":true})");
  const auto make = [&](const char* metadata) {
    return api_->Post(
        kWidgets,
        {{"apiVersion", "example.com/v1"}, {"kind", "Widget"}, {"metadata", J(metadata)}});
  };
  const auto why = [](const Reply& reply) { return reply.json().value("message", ""); };
  EXPECT_EQ(why(make(R"({"name":"A_b"})"))
                .find("Widget.example.com \"A_b\" is invalid: "
                      "metadata.name: Invalid value: \"A_b\""),
            0u);
  EXPECT_EQ(make(R"({"name":"a","labels":{"-x":"1"}})").code, 422);
  EXPECT_EQ(make(R"({"name":"a","labels":{"x":1}})").code, 400);
  EXPECT_EQ(make(R"({"name":"a","finalizers":["plain"]})").code, 422);
  EXPECT_EQ(make(R"({"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Pod"}]})").code, 422);
  const Reply made = make(R"({"name":"a","finalizers":["example.com/f"],"ownerReferences":[
      {"apiVersion":"v1","kind":"Pod","name":"p","uid":"1"},
      {"apiVersion":"v1","kind":"Pod","name":"q","uid":"1"}]})");
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made.json()["metadata"]["ownerReferences"].size(), 1u);

  const std::string path = kWidgets + "/a";
  Json next = made.json();
  next["metadata"].erase("resourceVersion");
  const Reply blind = api_->Put(path, next);
  EXPECT_EQ(blind.code, 422);
  EXPECT_EQ(why(blind),
            "widgets.example.com \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: "
            "must be specified for an update");
  EXPECT_EQ(api_->Merge(path, J(R"({"metadata":{"labels":{"x":"-"}}})")).code, 422);
  EXPECT_EQ(api_->Merge(path, J(R"({"metadata":{"uid":"other"}})")).code, 422);
  EXPECT_EQ(api_->Delete(path).code, 200);
  EXPECT_EQ(
      api_->Merge(path, J(R"({"metadata":{"finalizers":["example.com/f","example.com/g"]}})")).code,
      422);
  EXPECT_EQ(api_->Merge(path, J(R"({"metadata":{"finalizers":null}})")).code, 200);
  EXPECT_EQ(api_->Get(path).code, 404);
}

TEST_F(Extensions, CustomColumnsAreShown) {
  Define(R"({"type":"object","properties":{"size":{"type":"string"}}})");
  MakeWidget("a", {{"size", "small"}});
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

// The server's own groups answer with a Status; those of CRDs are not known to its routes.
TEST_F(Extensions, AnUnknownResourceOfACustomGroupIsAPlainNotFound) {
  Define(R"({"type":"object"})");
  for (const char* path :
       {"/apis/example.com/v1/namespaces/default/gadgets", "/apis/example.com/v1/gadgets"}) {
    const Reply reply = api_->Get(path);
    EXPECT_EQ(reply.code, 404);
    EXPECT_EQ(reply.body, "404 page not found\n") << path;
  }
  EXPECT_EQ(api_->Get("/apis/apps/v1/gadgets").json()["reason"], "NotFound");
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

// An aggregated API server at the address of the service kube-system/backend.
class AggregatedGroup : public Extensions {
 protected:
  void SetUp() override {
    Extensions::SetUp();
    ASSERT_TRUE(authority_.Init(CertificateAuthority::NewAuthorityPem(), "127.0.0.1").ok());
    backend_ = std::make_unique<HttpServer>(
        authority_.server_context(), [this](const HttpRequest& request, Connection& connection) {
          Answer(request, connection);
        });
    ASSERT_TRUE(backend_->Start("127.0.0.1", 0).ok());
  }
  void TearDown() override { backend_->Stop(); }

  static void Answer(const HttpRequest& request, Connection& connection) {
    const Json list = {
        {"kind", "APIResourceList"},
        {"resources", Json::array({{{"name", "things"},
                                    {"singularName", "thing"},
                                    {"namespaced", true},
                                    {"kind", "Thing"},
                                    {"verbs", Json::array({"get"})}},
                                   {{"name", "things/status"}, {"kind", "Thing"}}})}};
    const bool discovery = request.path() == "/apis/agg.example.com/v1";
    const Json seen = {{"method", request.method},
                       {"target", request.target},
                       {"body", request.body},
                       {"user", std::string(request.Header("X-Remote-User"))}};
    connection.Send(discovery ? 200 : 201, "application/json", "",
                    discovery ? list.dump() : seen.dump());
  }
  void MakeService() {
    const Reply made =
        api_->Post("/api/v1/namespaces/kube-system/services",
                   {{"metadata", {{"name", "backend"}}},
                    {"spec", {{"type", "ExternalName"}, {"externalName", "127.0.0.1"}}}});
    ASSERT_EQ(made.code, 201) << made.body;
  }
  void MakeApiService(int port) {
    const Reply made = api_->Post(
        kApiServices,
        {{"metadata", {{"name", "v1.agg.example.com"}}},
         {"spec",
          {{"group", "agg.example.com"},
           {"version", "v1"},
           {"groupPriorityMinimum", 1},
           {"versionPriority", 1},
           {"insecureSkipTLSVerify", true},
           {"service", {{"namespace", "kube-system"}, {"name", "backend"}, {"port", port}}}}}});
    ASSERT_EQ(made.code, 201) << made.body;
  }
  // "status reason" of the condition Available.
  std::string Available() {
    const Json c =
        api_->Get(std::string(kApiServices) + "/v1.agg.example.com").json()["status"]["conditions"];
    return c.empty() ? "" : c[0].value("status", "") + " " + c[0].value("reason", "");
  }
  Json Discovered() {
    const Json all = api_->Do({"GET", "/apis", "", "application/json",
                               "application/json;g=apidiscovery.k8s.io;v=v2;as="
                               "APIGroupDiscoveryList"})
                         .json();
    for (const Json& g : all["items"]) {
      if (g["metadata"]["name"] == "agg.example.com") return g["versions"][0];
    }
    return nullptr;
  }

  static constexpr const char* kApiServices = "/apis/apiregistration.k8s.io/v1/apiservices";
  CertificateAuthority authority_;
  std::unique_ptr<HttpServer> backend_;
};

TEST_F(AggregatedGroup, IsForwardedWhileItsBackendAnswers) {
  MakeService();
  MakeApiService(backend_->port());
  EXPECT_EQ(Available(), "True Passed");
  const Json discovered = Discovered();
  EXPECT_EQ(discovered["freshness"], "Current");
  ASSERT_EQ(discovered["resources"].size(), 1u) << discovered;
  EXPECT_EQ(discovered["resources"][0]["resource"], "things");
  EXPECT_EQ(discovered["resources"][0]["scope"], "Namespaced");
  const std::string things = "/apis/agg.example.com/v1/namespaces/default/things";
  const Reply made = api_->Post(things + "?dryRun=All", {{"a", 1}});
  EXPECT_EQ(made.code, 201);
  EXPECT_EQ(made.json()["method"], "POST");
  EXPECT_EQ(made.json()["target"], things + "?dryRun=All");
  EXPECT_EQ(Json::parse(made.json()["body"].get<std::string>()), (Json{{"a", 1}}));
  EXPECT_FALSE(made.json()["user"].get<std::string>().empty());
  EXPECT_EQ(api_->Get("/apis/agg.example.com/v1").json()["resources"].size(), 2u);
  EXPECT_EQ(api_->Get(things + "?watch=true").code, 405);
  backend_->Suspend();
  EXPECT_EQ(api_->Get(things + "/a").code, 503);
  EXPECT_EQ(Available(), "False FailedDiscoveryCheck");
  EXPECT_EQ(Discovered()["freshness"], "Stale");
  ASSERT_TRUE(backend_->Resume().ok());
  EXPECT_EQ(Discovered()["freshness"], "Current");
  EXPECT_EQ(Available(), "True Passed");
}

TEST_F(AggregatedGroup, FollowsItsService) {
  MakeApiService(backend_->port());
  EXPECT_EQ(Available(), "False ServiceNotFound");
  EXPECT_EQ(api_->Get("/apis/agg.example.com/v1").code, 503);
  MakeService();
  EXPECT_EQ(Available(), "True Passed");
  EXPECT_EQ(api_->Get("/apis/agg.example.com/v1").code, 200);
  ASSERT_EQ(api_->Delete("/api/v1/namespaces/kube-system/services/backend").code, 200);
  EXPECT_EQ(Available(), "False ServiceNotFound");
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
