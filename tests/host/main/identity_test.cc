// SPDX-License-Identifier: Apache-2.0
// Who the host is to the server: service accounts, user agents, its share of requests (spec/host.md
// 3 and 7).
#include <gtest/gtest.h>

#include <regex>

#include "harness/cluster.h"

namespace kcm::harness {
namespace {

Json Deployment(const std::string& name, int replicas) {
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", {{"name", name}}},
          {"spec",
           {{"replicas", replicas},
            {"selector", {{"matchLabels", {{"app", name}}}}},
            {"template", PodTemplate({{"app", name}})}}}};
}

TEST(Identity, ControllersWriteAsTheirServiceAccountAndInformersAsRoot) {
  Cluster cluster({.plugins = {"pod"}});
  cluster.Create(Deployment("web", 1));
  cluster.Settle();
  EXPECT_TRUE(cluster.Find("serviceaccounts", "deployment-controller", "kube-system"));
  int creates = 0, reads = 0;
  for (const auto& e : cluster.Audit()) {
    if (e.user_agent.find("kube-controller-manager/") != 0) continue;
    if (e.method == "POST" && e.uri.find("/replicasets") != std::string::npos) {
      EXPECT_EQ(e.user, "system:serviceaccount:kube-system:deployment-controller");
      ++creates;
    }
    if (e.method == "GET" && e.uri.find("/deployments") != std::string::npos) {
      EXPECT_EQ(e.user, "system:kube-controller-manager");
      ++reads;
    }
  }
  EXPECT_EQ(creates, 1);
  EXPECT_GE(reads, 1);
}

TEST(Identity, HOST_16_DeletedServiceAccountComesBack) {
  Cluster cluster({.plugins = {"pod"}});
  cluster.Create({{"apiVersion", "v1"},
                  {"kind", "ServiceAccount"},
                  {"metadata", {{"name", "default"}}}});  // admission wants it for pods
  cluster.Delete("serviceaccounts", "replicaset-controller", Json::object(), "kube-system");
  cluster.Create(Deployment("web", 2));
  cluster.Until(
      "the pods", [&] { return cluster.List("pods", "default", "app=web").size() == 2; }, 60s, 1s);
  EXPECT_TRUE(cluster.Find("serviceaccounts", "replicaset-controller", "kube-system"));
}

TEST(Identity, HOST_17_UserAgentNamesTheController) {
  Cluster cluster({.plugins = {"pod"}, .service_account_credentials = false});
  cluster.Create(Deployment("web", 1));
  cluster.Settle();
  const std::regex want(
      "^kube-controller-manager/\\S+ \\(linux/\\w+\\) kubernetes/[^/]+/deployment-controller$");
  int updates = 0;
  for (const auto& e : cluster.Audit()) {
    if (e.uri.find("/deployments/web/status") == std::string::npos) continue;
    EXPECT_TRUE(std::regex_match(e.user_agent, want)) << e.user_agent;
    ++updates;
  }
  EXPECT_GE(updates, 1);
}

}  // namespace
}  // namespace kcm::harness
