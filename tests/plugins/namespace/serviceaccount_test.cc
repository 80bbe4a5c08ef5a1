// SPDX-License-Identifier: Apache-2.0
// serviceaccount-controller in a real host: the scenarios of spec/namespace.md.
#include <gtest/gtest.h>

#include <string>

#include "harness/cluster.h"

namespace kcm::harness {
namespace {

Json NewObject(const std::string& kind, const std::string& name, const std::string& ns = "") {
  Json out{{"apiVersion", "v1"}, {"kind", kind}, {"metadata", {{"name", name}}}};
  if (!ns.empty()) out["metadata"]["namespace"] = ns;
  return out;
}

class ServiceAccountController : public ::testing::Test {
 protected:
  bool HasDefault(const std::string& ns) {
    return cluster.Find("serviceaccounts", "default", ns).has_value();
  }
  void CreateNamespace(const std::string& name) {
    cluster.Create(NewObject("Namespace", name));
    cluster.Settle();
  }
  // POSTs of accounts into `ns` by the controller since the last look at the audit log.
  int Creates(const std::string& ns) {
    int n = 0;
    for (const auto& e : cluster.Audit()) {
      if (e.method == "POST" && e.uri == "/api/v1/namespaces/" + ns + "/serviceaccounts" &&
          e.user == "system:serviceaccount:kube-system:service-account-controller") {
        ++n;
      }
    }
    return n;
  }

  Cluster cluster{{.plugins = {"namespace"}, .nodes = 0, .scheduler = false}};
};

TEST_F(ServiceAccountController, SA_01_ANewNamespaceGetsDefault) {
  CreateNamespace("n");
  EXPECT_TRUE(HasDefault("n"));
}

TEST_F(ServiceAccountController, SA_02_ADeletedDefaultComesBack) {
  CreateNamespace("n");
  const Json before = cluster.Get("serviceaccounts", "default", "n");
  cluster.Delete("serviceaccounts", "default", Json::object(), "n");
  cluster.Settle();
  const Json after = cluster.Get("serviceaccounts", "default", "n");
  EXPECT_NE(after["metadata"]["uid"], before["metadata"]["uid"]);
}

TEST_F(ServiceAccountController, SA_03_AnExistingDefaultIsNeverChanged) {
  CreateNamespace("n");
  cluster.MergePatch("serviceaccounts", "default",
                     {{"metadata", {{"annotations", {{"a", "b"}}}}},
                      {"imagePullSecrets", {{{"name", "registry"}}}}},
                     "n");
  const Json before = cluster.Get("serviceaccounts", "default", "n");
  cluster.MergePatch("namespaces", "n", {{"metadata", {{"labels", {{"x", "y"}}}}}});
  cluster.Advance(24h);
  EXPECT_EQ(cluster.Get("serviceaccounts", "default", "n"), before);
}

TEST_F(ServiceAccountController, SA_04_OtherAccountsAreNotRestored) {
  CreateNamespace("n");
  const Json before = cluster.Get("serviceaccounts", "default", "n");
  cluster.Create(NewObject("ServiceAccount", "other", "n"));
  cluster.Delete("serviceaccounts", "other", Json::object(), "n");
  cluster.Advance(60s);
  EXPECT_FALSE(cluster.Find("serviceaccounts", "other", "n").has_value());
  EXPECT_EQ(cluster.Get("serviceaccounts", "default", "n"), before);
}

TEST_F(ServiceAccountController, SA_05_TerminatingNamespacesGetNone) {
  CreateNamespace("n");
  Json held = NewObject("ConfigMap", "held", "n");
  held["metadata"]["finalizers"] = {"example.com/hold"};
  cluster.Create(held);
  cluster.Delete("namespaces", "n");
  cluster
      .Settle();  // two caches have no common order: the namespace's end must have been seen first
  (void)cluster.Audit();
  cluster.Delete("serviceaccounts", "default", Json::object(), "n");
  cluster.Advance(60s);
  EXPECT_TRUE(cluster.Find("namespaces", "n").has_value());
  EXPECT_FALSE(HasDefault("n"));
  EXPECT_EQ(Creates("n"), 0);
}

TEST_F(ServiceAccountController, SA_06_ANamespaceMadeWhileTheControllerWasDown) {
  ASSERT_EQ(cluster.StopHost(), 0);
  cluster.Create(NewObject("Namespace", "n"));
  ASSERT_FALSE(HasDefault("n"));
  cluster.StartHost();
  EXPECT_TRUE(HasDefault("n"));
}

TEST_F(ServiceAccountController, SA_07_ManyNamespacesAtOnce) {
  ASSERT_EQ(cluster.StopHost(), 0);
  cluster.StartHost({"--kube-api-qps=20", "--kube-api-burst=30"});  // the defaults
  for (int i = 0; i < 200; ++i) cluster.Create(NewObject("Namespace", "n" + std::to_string(i)));
  cluster.Advance(60s);
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(HasDefault("n" + std::to_string(i))) << i;
}

// The fault answers as the API server does when a webhook denies.
TEST_F(ServiceAccountController, SA_08_ADenialIsRetried) {
  cluster.server().AddFault(
      {.method = "POST",
       .path_regex = "/namespaces/n/serviceaccounts$",
       .times = -1,
       .status = 403,
       .reason = "Forbidden",
       .message = "admission webhook \"deny.example.com\" denied the request: not now"});
  CreateNamespace("n");
  cluster.Advance(20s);
  ASSERT_FALSE(HasDefault("n"));
  cluster.server().ClearFaults();
  cluster.Until(
      "default exists", [&] { return HasDefault("n"); }, 60s, 1s);
}

// The fault answers as the API server does when another client was quicker.
TEST_F(ServiceAccountController, SA_09_AnAccountOfSomebodyElseIsNoError) {
  cluster.server().AddFault({.method = "POST",
                             .path_regex = "/namespaces/n/serviceaccounts$",
                             .times = 1,
                             .status = 409,
                             .reason = "AlreadyExists",
                             .message = "serviceaccounts \"default\" already exists"});
  (void)cluster.Audit();
  CreateNamespace("n");
  ASSERT_FALSE(HasDefault("n"));
  cluster.Create(NewObject("ServiceAccount", "default", "n"));
  cluster.Advance(5min);
  EXPECT_EQ(Creates("n"), 0) << "one that the fault answered is not in the audit log";
}

TEST_F(ServiceAccountController, SA_10_TheFirstNamespacesGetItToo) {
  for (const char* ns : {"default", "kube-system", "kube-public"})
    EXPECT_TRUE(HasDefault(ns)) << ns;
}

TEST_F(ServiceAccountController, SettledNamespacesCauseNoWriteAtStart) {
  CreateNamespace("n");
  ASSERT_EQ(cluster.StopHost(), 0);
  (void)cluster.Audit();
  cluster.StartHost();
  cluster.Advance(60s);
  EXPECT_EQ(Creates("n"), 0);
}

}  // namespace
}  // namespace kcm::harness
