// SPDX-License-Identifier: Apache-2.0
// namespace-controller in a real host: the scenarios of spec/namespace.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "harness/cluster.h"

namespace kcm::harness {
namespace {

const char* const kUser = "system:serviceaccount:kube-system:namespace-controller";

// An object of namespace n1.
Json Object(const std::string& kind, const std::string& name,
            const std::vector<std::string>& finalizers = {}) {
  Json out{
      {"apiVersion", "v1"}, {"kind", kind}, {"metadata", {{"name", name}, {"namespace", "n1"}}}};
  if (!finalizers.empty()) out["metadata"]["finalizers"] = finalizers;
  return out;
}

Json Deployment(const std::string& name, const std::vector<std::string>& finalizers = {}) {
  Json out = Object("Deployment", name, finalizers);
  out["apiVersion"] = "apps/v1";
  out["spec"] = {{"replicas", 0},
                 {"selector", {{"matchLabels", {{"a", "b"}}}}},
                 {"template", PodTemplate({{"a", "b"}})}};
  return out;
}

Json Pod(const std::string& name, const std::vector<std::string>& finalizers = {}) {
  Json out = Object("Pod", name, finalizers);
  out["spec"] = {{"containers", Json::array({{{"name", "c"}, {"image", "app:v1"}}})}};
  return out;
}

// Custom resources in group example.com, served in `version` only.
Json Definition(const std::string& plural, const std::string& kind, const std::string& version) {
  const Json schema{
      {"openAPIV3Schema", {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}};
  const Json served{{"name", version}, {"served", true}, {"storage", true}, {"schema", schema}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", plural + ".example.com"}}},
          {"spec",
           {{"group", "example.com"},
            {"scope", "Namespaced"},
            {"names", {{"plural", plural}, {"kind", kind}}},
            {"versions", Json::array({served})}}}};
}

class NamespaceController : public ::testing::Test {
 protected:
  NamespaceController() : cluster({.plugins = {"namespace"}, .nodes = 0, .scheduler = false}) {}
  explicit NamespaceController(Options options) : cluster(std::move(options)) {}

  void CreateNamespace(const std::string& name = "n1") {
    cluster.Create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}});
    cluster.Settle();
  }
  void DeleteNamespace() { cluster.Delete("namespaces", "n1"); }
  bool Gone() { return !cluster.Find("namespaces", "n1").has_value(); }
  Json Namespace() { return cluster.Get("namespaces", "n1"); }
  void UntilGone(std::chrono::nanoseconds limit = 30s) {
    cluster.Until(
        "n1 is gone", [&] { return Gone(); }, limit, 500ms);
  }
  bool Has(const std::string& resource, const std::string& name) {
    return cluster.Find(resource, name, "n1").has_value();
  }
  void Release(const std::string& resource, const std::string& name) {
    cluster.MergePatch(resource, name, {{"metadata", {{"finalizers", nullptr}}}}, "n1");
  }
  // status.conditions by type.
  std::map<std::string, Json> Conditions() {
    std::map<std::string, Json> out;
    const Json ns = Namespace();
    const Json conditions = ns.value("/status/conditions"_json_pointer, Json::array());
    for (const Json& c : conditions) out[c["type"]] = c;
    return out;
  }
  static void Expect(const Json& condition, const std::string& status, const std::string& reason,
                     const std::string& message) {
    EXPECT_EQ(condition.value("status", ""), status) << condition;
    EXPECT_EQ(condition.value("reason", ""), reason) << condition;
    EXPECT_EQ(condition.value("message", ""), message) << condition;
  }
  // Requests by the controller since the last look at the audit log.
  std::vector<devcluster::Server::AuditEntry> Requests() {
    std::vector<devcluster::Server::AuditEntry> out;
    for (auto& e : cluster.Audit()) {
      if (e.user == kUser) out.push_back(std::move(e));
    }
    return out;
  }
  Reply PutFinalizers(const std::vector<std::string>& finalizers) {
    Json ns = Namespace();
    ns["spec"]["finalizers"] = finalizers;
    return cluster.Request("PUT", "/api/v1/namespaces/n1/finalize", ns.dump());
  }
  // A resource of example.com and one object of it in n1.
  void CreateCustom(const std::string& plural, const std::string& kind,
                    const std::string& version) {
    cluster.Create(Definition(plural, kind, version));
    cluster.Settle();
    Json object = Object(kind, "one");
    object["apiVersion"] = "example.com/" + version;
    const std::string path = "/apis/example.com/" + version + "/namespaces/n1/" + plural;
    const Reply made = cluster.Request("POST", path, object.dump());
    ASSERT_TRUE(made.ok()) << made.status << " " << made.body;
  }
  bool HasCustom(const std::string& plural, const std::string& version) {
    return cluster
        .Request("GET", "/apis/example.com/" + version + "/namespaces/n1/" + plural + "/one")
        .ok();
  }

  Cluster cluster;
};

TEST_F(NamespaceController, NS_01_AnEmptyNamespaceGoesAfterTheDelay) {
  CreateNamespace();
  cluster.Create(Object("ConfigMap", "kube-root-ca.crt"));
  cluster.Settle();
  DeleteNamespace();
  cluster.Advance(4900ms);
  EXPECT_FALSE(Gone());
  UntilGone(25s);
}

TEST_F(NamespaceController, NS_02_ContentGoesBeforeTheNamespace) {
  CreateNamespace();
  for (const char* name : {"a", "b", "c"}) cluster.Create(Object("ConfigMap", name));
  for (const char* name : {"a", "b"}) cluster.Create(Object("Secret", name));
  cluster.Create(Deployment("web"));
  CreateCustom("widgets", "Widget", "v1");
  DeleteNamespace();
  UntilGone(60s);
  // devcluster does not delete along with a namespace: what were left would still be there.
  EXPECT_TRUE(cluster.List("configmaps", "n1").empty());
  EXPECT_TRUE(cluster.List("secrets", "n1").empty());
  EXPECT_TRUE(cluster.List("serviceaccounts", "n1").empty());
  EXPECT_TRUE(cluster.List("deployments", "n1").empty());
  EXPECT_FALSE(HasCustom("widgets", "v1"));
}

// also NS-04
TEST_F(NamespaceController, NS_03_AFinalizerIsReported) {
  CreateNamespace();
  cluster.Create(Deployment("web", {"custom.io/finalizer"}));
  DeleteNamespace();
  cluster.Advance(10s);
  EXPECT_EQ(Namespace()["status"]["phase"], "Terminating");
  std::map<std::string, Json> c = Conditions();
  ASSERT_EQ(c.size(), 5u);
  Expect(c["NamespaceDeletionDiscoveryFailure"], "False", "ResourcesDiscovered",
         "All resources successfully discovered");
  Expect(c["NamespaceDeletionGroupVersionParsingFailure"], "False", "ParsedGroupVersions",
         "All legacy kube types successfully parsed");
  Expect(c["NamespaceDeletionContentFailure"], "False", "ContentDeleted",
         "All content successfully deleted, may be waiting on finalization");
  Expect(c["NamespaceContentRemaining"], "True", "SomeResourcesRemain",
         "Some resources are remaining: deployments.apps has 1 resource instances");
  Expect(c["NamespaceFinalizersRemaining"], "True", "SomeFinalizersRemain",
         "Some content in the namespace has finalizers remaining: custom.io/finalizer in 1 "
         "resource instances");
  Release("deployments", "web");
  UntilGone(20s);
}

TEST_F(NamespaceController, NS_05_CountsAreSorted) {
  CreateNamespace();
  cluster.Create(Object("ConfigMap", "a", {"b.io/x"}));
  cluster.Create(Object("ConfigMap", "b", {"b.io/x"}));
  cluster.Create(Object("Secret", "a", {"a.io/y", "b.io/x"}));
  DeleteNamespace();
  cluster.Advance(10s);
  std::map<std::string, Json> c = Conditions();
  EXPECT_EQ(c["NamespaceContentRemaining"]["message"],
            "Some resources are remaining: configmaps. has 2 resource instances, secrets. has 1 "
            "resource instances");
  EXPECT_EQ(c["NamespaceFinalizersRemaining"]["message"],
            "Some content in the namespace has finalizers remaining: a.io/y in 1 resource "
            "instances, b.io/x in 3 resource instances");
}

TEST_F(NamespaceController, NS_06_APodHoldsBackTheRest) {
  CreateNamespace();
  cluster.Create(Pod("p", {"e2e.example.com/finalizer"}));
  cluster.Create(Object("ConfigMap", "c"));
  DeleteNamespace();
  cluster.Advance(6s);
  for (int second = 0; second < 20; ++second) {
    EXPECT_TRUE(cluster.Get("pods", "p", "n1")["metadata"].contains("deletionTimestamp"));
    EXPECT_FALSE(cluster.Get("configmaps", "c", "n1")["metadata"].contains("deletionTimestamp"));
    EXPECT_EQ(Conditions()["NamespaceDeletionContentFailure"].value("status", ""), "False");
    cluster.Advance(1s);
  }
  Release("pods", "p");
  UntilGone(30s);
  EXPECT_FALSE(Has("configmaps", "c"));
}

TEST_F(NamespaceController, NS_09_ForeignFinalizersStaySorted) {
  CreateNamespace();
  const Reply put = PutFinalizers({"kubernetes", "z.io/f", "a.io/f"});
  ASSERT_TRUE(put.ok()) << put.body;
  cluster.Create(Object("ConfigMap", "c"));
  DeleteNamespace();
  cluster.Advance(30s);
  EXPECT_FALSE(Has("configmaps", "c"));
  const Json ns = Namespace();
  EXPECT_EQ(ns["spec"]["finalizers"], (Json{"a.io/f", "z.io/f"}));
  EXPECT_EQ(ns["status"]["phase"], "Terminating");
}

TEST_F(NamespaceController, NS_10_AnEmptyFinalizeEndsIt) {
  CreateNamespace();
  ASSERT_TRUE(PutFinalizers({"kubernetes", "z.io/f", "a.io/f"}).ok());
  DeleteNamespace();
  cluster.Advance(30s);
  ASSERT_EQ(Namespace()["spec"]["finalizers"], (Json{"a.io/f", "z.io/f"}));
  const Reply put = PutFinalizers({});
  EXPECT_TRUE(put.ok()) << put.body;
  cluster.Settle();
  EXPECT_TRUE(Gone());
}

TEST_F(NamespaceController, NS_11_AResourceOfANonPreferredVersionGoesToo) {
  CreateNamespace();
  CreateCustom("widgets", "Widget", "v1");
  CreateCustom("gadgets", "Gadget", "v1alpha1");
  DeleteNamespace();
  UntilGone();
  EXPECT_FALSE(HasCustom("widgets", "v1"));
  EXPECT_FALSE(HasCustom("gadgets", "v1alpha1"));
}

// A 405 takes the path that a verb missing in discovery takes; that table is in resources_test.cc.
TEST_F(NamespaceController, CollectionDeleteNotAllowedFallsBackToSingleOnes) {
  CreateNamespace();
  for (const char* name : {"a", "b", "c"}) cluster.Create(Object("Secret", name));
  cluster.server().AddFault({.method = "DELETE",
                             .path_regex = "/namespaces/n1/secrets$",
                             .times = -1,
                             .status = 405,
                             .reason = "MethodNotAllowed",
                             .message = "not allowed"});
  (void)Requests();
  DeleteNamespace();
  UntilGone();
  std::vector<std::string> deleted;
  for (const auto& e : Requests()) {
    if (e.method != "DELETE" || e.uri.find("/secrets/") == std::string::npos) continue;
    deleted.push_back(e.uri);
    EXPECT_EQ(Json::parse(e.body).value("propagationPolicy", ""), "Background");
  }
  std::sort(deleted.begin(), deleted.end());
  EXPECT_EQ(deleted, (std::vector<std::string>{"/api/v1/namespaces/n1/secrets/a",
                                               "/api/v1/namespaces/n1/secrets/b",
                                               "/api/v1/namespaces/n1/secrets/c"}));
}

TEST_F(NamespaceController, NS_13_AResourceWithoutListAndCollectionDeleteIsIgnored) {
  CreateNamespace();
  CreateCustom("widgets", "Widget", "v1");
  for (const char* method : {"DELETE", "GET"}) {
    cluster.server().AddFault({.method = method,
                               .path_regex = "/namespaces/n1/widgets($|\\?)",
                               .times = -1,
                               .status = 405,
                               .reason = "MethodNotAllowed",
                               .message = "not allowed"});
  }
  DeleteNamespace();
  UntilGone();
}

// The fault answers as the API server does when a webhook denies.
TEST_F(NamespaceController, NS_14_ADeniedDeletionIsReportedAndRepeated) {
  CreateNamespace();
  cluster.Create(Object("ConfigMap", "keep"));
  cluster.server().AddFault(
      {.method = "DELETE",
       .path_regex = "/namespaces/n1/configmaps$",
       .times = -1,
       .status = 403,
       .reason = "Forbidden",
       .message = "admission webhook \"deny.example.com\" denied the request: keep"});
  DeleteNamespace();
  cluster.Advance(40s);
  Json c = Conditions()["NamespaceDeletionContentFailure"];
  Expect(c, "True", "ContentDeletionFailed",
         "Failed to delete all resource types, 1 remaining: admission webhook "
         "\"deny.example.com\" denied the request: keep");
  EXPECT_TRUE(Has("configmaps", "keep"));
  cluster.server().ClearFaults();
  UntilGone(61s);
}

TEST_F(NamespaceController, NS_15_UpdatesDoNotPostponeTheFirstRun) {
  CreateNamespace();
  cluster.Create(Object("ConfigMap", "c", {"a.io/x"}));
  DeleteNamespace();
  for (int i = 0; i < 10; ++i) {
    cluster.MergePatch("namespaces", "n1",
                       {{"metadata", {{"labels", {{"i", std::to_string(i)}}}}}});
    cluster.Advance(1s);
    if (i == 4) {
      EXPECT_EQ(Conditions().size(), 5u) << "5 s after the deletion";
    }
  }
}

TEST_F(NamespaceController, NS_16_ADeletionWhileTheControllerWasDown) {
  CreateNamespace();
  cluster.Create(Object("ConfigMap", "c"));
  ASSERT_EQ(cluster.StopHost(), 0);
  DeleteNamespace();
  cluster.Advance(5min);
  ASSERT_FALSE(Gone());
  cluster.StartHost();
  UntilGone(30s);
  EXPECT_FALSE(Has("configmaps", "c"));
}

TEST_F(NamespaceController, NS_17_ManyObjectsGoWithOneRequest) {
  CreateNamespace();
  for (int i = 0; i < 1000; ++i) cluster.Create(Object("ConfigMap", "c" + std::to_string(i)));
  cluster.Settle();
  (void)Requests();
  DeleteNamespace();
  UntilGone(60s);
  EXPECT_TRUE(cluster.List("configmaps", "n1").empty());
  int runs = 0, collections = 0;
  for (const auto& e : Requests()) {
    if (e.method == "GET" && e.uri == "/api/v1/namespaces/n1") ++runs;
    if (e.method != "DELETE" || e.uri.find("/configmaps") == std::string::npos) continue;
    EXPECT_EQ(e.uri, "/api/v1/namespaces/n1/configmaps");
    ++collections;
  }
  EXPECT_EQ(collections, 1);
  EXPECT_EQ(runs, 1);
}

TEST_F(NamespaceController, NS_18_RightConditionsAreNotWrittenAgain) {
  CreateNamespace();
  cluster.Create(Object("ConfigMap", "c", {"a.io/x"}));
  DeleteNamespace();
  cluster.Advance(20s);
  const Json before = Namespace();
  ASSERT_EQ(Conditions().size(), 5u);
  (void)Requests();
  cluster.Advance(2min);
  EXPECT_EQ(Namespace()["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
  int runs = 0;
  for (const auto& e : Requests()) {
    EXPECT_NE(e.method, "PUT") << e.uri;
    if (e.method == "GET" && e.uri == "/api/v1/namespaces/n1") ++runs;
  }
  EXPECT_GE(runs, 10) << "looked at every 8 s";
}

TEST_F(NamespaceController, NS_19_ACountDoesNotMoveTheTransitionTime) {
  CreateNamespace();
  const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  for (const std::string& name : names) cluster.Create(Object("ConfigMap", name, {"a.io/x"}));
  DeleteNamespace();
  cluster.Advance(20s);
  const Json before = Conditions()["NamespaceContentRemaining"];
  EXPECT_EQ(before["message"],
            "Some resources are remaining: configmaps. has 5 resource instances");
  Release("configmaps", "a");
  Release("configmaps", "b");
  cluster.Advance(20s);
  const Json after = Conditions()["NamespaceContentRemaining"];
  EXPECT_EQ(after["message"], "Some resources are remaining: configmaps. has 3 resource instances");
  EXPECT_EQ(after["lastTransitionTime"], before["lastTransitionTime"]);
}

TEST_F(NamespaceController, NS_20_AForeignConditionStaysFirst) {
  CreateNamespace();
  const Json foreign{{"type", "E2E"},
                     {"status", "True"},
                     {"reason", "Test"},
                     {"message", "m"},
                     {"lastTransitionTime", cluster.Now()}};
  cluster.PatchStatus("namespaces", "n1", {{"conditions", Json::array({foreign})}});
  cluster.Create(Object("ConfigMap", "c", {"a.io/x"}));
  DeleteNamespace();
  cluster.Advance(20s);
  const Json conditions = Namespace()["status"]["conditions"];
  ASSERT_EQ(conditions.size(), 6u);
  EXPECT_EQ(conditions[0], foreign);
}

TEST_F(NamespaceController, NS_21_AnActiveNamespaceIsNotWrittenTo) {
  CreateNamespace();
  (void)Requests();
  cluster.Create(Object("ConfigMap", "c", {"a.io/x"}));
  cluster.Delete("configmaps", "c", Json::object(), "n1");
  cluster.Create(Deployment("web"));
  cluster.MergePatch("namespaces", "n1", {{"metadata", {{"labels", {{"a", "b"}}}}}});
  cluster.Advance(15min);
  for (const auto& e : Requests()) EXPECT_EQ(e.method, "GET") << e.uri;
}

TEST_F(NamespaceController, NS_22_AHundredNamespaces) {
  ASSERT_EQ(cluster.StopHost(), 0);
  cluster.StartHost({"--kube-api-qps=20", "--kube-api-burst=30"});  // the defaults
  for (int i = 0; i < 100; ++i) CreateNamespace("x" + std::to_string(i));
  for (int i = 0; i < 100; ++i) cluster.Delete("namespaces", "x" + std::to_string(i));
  int gone = 0;
  cluster.Until(
      "90 of 100 namespaces are gone",
      [&] {
        gone = 0;
        for (int i = 0; i < 100; ++i) {
          if (!cluster.Find("namespaces", "x" + std::to_string(i))) ++gone;
        }
        return gone >= 90;
      },
      150s, 5s);
}

// Trap 3: what one answer said is not kept for the next run.
TEST_F(NamespaceController, AnUnsupportedAnswerIsNotRemembered) {
  CreateNamespace();
  cluster.Create(Object("ConfigMap", "c", {"a.io/x"}));
  cluster.server().AddFault({.method = "DELETE",
                             .path_regex = "/namespaces/n1/configmaps$",
                             .times = 1,
                             .status = 404,
                             .reason = "NotFound",
                             .message = "gone fishing"});
  DeleteNamespace();
  cluster.Advance(6s);
  (void)Requests();
  cluster.Advance(30s);
  int collections = 0;
  for (const auto& e : Requests()) {
    if (e.method == "DELETE" && e.uri == "/api/v1/namespaces/n1/configmaps") ++collections;
  }
  EXPECT_GE(collections, 1);
}

// Trap 2, with the whole of discovery failing instead of one group.
TEST_F(NamespaceController, ADiscoveryFailureKeepsTheNamespace) {
  CreateNamespace();
  cluster.server().AddFault({.method = "GET",
                             .path_regex = "^/apis($|\\?)",
                             .times = -1,
                             .status = 500,
                             .reason = "InternalError",
                             .message = "no discovery today"});
  DeleteNamespace();
  cluster.Advance(2min);
  Json c = Conditions()["NamespaceDeletionDiscoveryFailure"];
  Expect(c, "True", "DiscoveryFailed", c.value("message", ""));
  EXPECT_NE(c.value("message", "").find("no discovery today"), std::string::npos) << c;
  cluster.server().ClearFaults();
  UntilGone(61s);
}

// Step 8: a conflict is answered with a fresh copy.
TEST_F(NamespaceController, AConflictOfFinalizeIsRepeatedAtOnce) {
  CreateNamespace();
  cluster.server().AddFault({.method = "PUT",
                             .path_regex = "/namespaces/n1/finalize$",
                             .times = 3,
                             .status = 409,
                             .reason = "Conflict",
                             .message = "the object has been modified"});
  DeleteNamespace();
  cluster.Advance(5s);
  cluster.Settle();
  EXPECT_TRUE(Gone());
}

// The flag replaces the watch's own resync.
TEST_F(NamespaceController, SyncPeriodLooksAgain) {
  ASSERT_EQ(cluster.StopHost(), 0);
  cluster.StartHost({"--namespace-sync-period=1m"});
  CreateNamespace();
  ASSERT_TRUE(PutFinalizers({"kubernetes", "a.io/f"}).ok());
  DeleteNamespace();
  cluster.Advance(30s);
  ASSERT_EQ(Namespace()["spec"]["finalizers"], Json::array({"a.io/f"}));
  (void)Requests();
  cluster.Advance(130s);
  int runs = 0;
  for (const auto& e : Requests()) {
    if (e.method == "GET" && e.uri == "/api/v1/namespaces/n1") ++runs;
  }
  EXPECT_EQ(runs, 2);
}

class NamespaceControllerWithNode : public NamespaceController {
 protected:
  NamespaceControllerWithNode()
      : NamespaceController(Options{.plugins = {"namespace"}, .nodes = 1}) {}
};

TEST_F(NamespaceControllerWithNode, NS_07_ContentOutlivesASlowPod) {
  CreateNamespace();
  Json pod = Pod("p");
  pod["metadata"]["annotations"]["sim/delete-after"] = "30";
  pod["spec"]["terminationGracePeriodSeconds"] = 30;
  cluster.Create(pod);
  cluster.Create(Object("ConfigMap", "c"));
  cluster.Until("the pod runs", [&] {
    return cluster.Get("pods", "p", "n1")["status"].value("phase", "") == "Running";
  });
  DeleteNamespace();
  cluster.Advance(5s);
  ASSERT_TRUE(cluster.Get("pods", "p", "n1")["metadata"].contains("deletionTimestamp"));
  for (int i = 0; i < 120 && Has("pods", "p"); ++i) {
    EXPECT_TRUE(Has("configmaps", "c"));
    cluster.Advance(500ms);
  }
  EXPECT_FALSE(Has("pods", "p"));
  UntilGone(60s);
}

}  // namespace
}  // namespace kcm::harness
