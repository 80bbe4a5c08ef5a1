// SPDX-License-Identifier: Apache-2.0
// namespace-controller where discovery is not whole or a resource lacks verbs.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/cluster.h"

namespace kcm::harness {
namespace {

const char* const kNamespaceUser = "system:serviceaccount:kube-system:namespace-controller";

class NamespaceDiscovery : public ::testing::Test {
 protected:
  void Post(const std::string& path, const Json& body) {
    const Reply made = cluster.Request("POST", path, body.dump());
    ASSERT_TRUE(made.ok()) << path << " " << made.status << " " << made.body;
  }
  bool Gone() { return !cluster.Find("namespaces", "n1").has_value(); }
  Json Condition(const std::string& type) {
    const Json ns = cluster.Get("namespaces", "n1");
    const Json conditions = ns.value("/status/conditions"_json_pointer, Json::array());
    for (const Json& c : conditions) {
      if (c["type"] == type) return c;
    }
    return Json::object();
  }

  Cluster cluster{{.plugins = {"namespace"}, .nodes = 0, .scheduler = false}};
};

TEST_F(NamespaceDiscovery, NS_08_AnUnavailableGroupHoldsTheNamespaceButNotItsContent) {
  Post("/apis/apiregistration.k8s.io/v1/apiservices",
       {{"metadata", {{"name", "v1beta1.broken.example.com"}}},
        {"spec",
         {{"group", "broken.example.com"},
          {"version", "v1beta1"},
          {"groupPriorityMinimum", 100},
          {"versionPriority", 100},
          {"insecureSkipTLSVerify", true},
          {"service", {{"namespace", "kube-system"}, {"name", "nobody"}, {"port", 443}}}}}});
  Post("/api/v1/namespaces", {{"metadata", {{"name", "n1"}}}});
  Post("/api/v1/namespaces/n1/configmaps", {{"metadata", {{"name", "c"}}}});
  // As the server shows it: the version is announced, and answers to nobody.
  EXPECT_EQ(cluster.Request("GET", "/apis/broken.example.com/v1beta1").status, 503);
  cluster.Settle();
  cluster.Delete("namespaces", "n1");
  cluster.Advance(40s);
  ASSERT_FALSE(Gone());
  EXPECT_EQ(cluster.Get("namespaces", "n1")["status"]["phase"], "Terminating");
  const Json c = Condition("NamespaceDeletionDiscoveryFailure");
  EXPECT_EQ(c.value("status", ""), "True") << c;
  EXPECT_EQ(c.value("reason", ""), "DiscoveryFailed") << c;
  const std::string start =
      "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server "
      "APIs: broken.example.com/v1beta1: ";
  EXPECT_EQ(c.value("message", "").substr(0, start.size()), start) << c;
  EXPECT_GT(c.value("message", "").size(), start.size()) << "the failure itself is missing";
  EXPECT_FALSE(cluster.Find("configmaps", "c", "n1").has_value());
  ASSERT_TRUE(cluster
                  .Request("DELETE",
                           "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.broken.example.com")
                  .ok());
  cluster.Until(
      "n1 is gone", [&] { return Gone(); }, 90s, 1s);
}

TEST_F(NamespaceDiscovery, NS_12_AResourceWithoutCollectionDeleteIsDeletedOneByOne) {
  const Json schema{
      {"openAPIV3Schema", {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}};
  Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
       {{"metadata",
         {{"name", "widgets.example.com"},
          {"annotations", {{"sim/without-verbs", "deletecollection"}}}}},
        {"spec",
         {{"group", "example.com"},
          {"scope", "Namespaced"},
          {"names", {{"plural", "widgets"}, {"kind", "Widget"}}},
          {"versions",
           Json::array(
               {{{"name", "v1"}, {"served", true}, {"storage", true}, {"schema", schema}}})}}}});
  Post("/api/v1/namespaces", {{"metadata", {{"name", "n1"}}}});
  const std::string widgets = "/apis/example.com/v1/namespaces/n1/widgets";
  for (const char* name : {"a", "b", "c"}) Post(widgets, {{"metadata", {{"name", name}}}});
  ASSERT_EQ(cluster.Request("DELETE", widgets).status, 405);
  // The table of verbs is read once: the host starts when the resource is there.
  ASSERT_EQ(cluster.StopHost(), 0);
  cluster.StartHost();
  (void)cluster.Audit();
  cluster.Delete("namespaces", "n1");
  cluster.Until(
      "n1 is gone", [&] { return Gone(); }, 60s, 500ms);
  std::vector<std::string> single;
  for (const auto& e : cluster.Audit()) {
    if (e.user != kNamespaceUser || e.method != "DELETE" || !e.uri.starts_with(widgets)) continue;
    EXPECT_NE(e.uri, widgets) << "the verb is known to be missing";
    single.push_back(e.uri.substr(widgets.size()));
  }
  std::sort(single.begin(), single.end());
  EXPECT_EQ(single, (std::vector<std::string>{"/a", "/b", "/c"}));
}

}  // namespace
}  // namespace kcm::harness
