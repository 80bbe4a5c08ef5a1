// SPDX-License-Identifier: Apache-2.0
// Credentials that change in their files while the host runs (spec/host.md 2.2, 2.3 and 16).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "harness/cluster.h"
#include "host/client/kubeconfig.h"

namespace kcm::harness {
namespace {

namespace fs = std::filesystem;

class Credentials : public ::testing::Test {
 protected:
  // Starts the host as a user given by the members of a kubeconfig's `user`.
  void Start(const std::string& user) {
    Write("ca.crt", cluster.server().CaPem());
    Write("files.kubeconfig",
          "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
          "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
          "clusters: [{name: c, cluster: {server: \"" +
              cluster.server().url() +
              "\", certificate-authority: ca.crt}}]\nusers: [{name: u, user: {" + user + "}}]\n");
    cluster.Create({{"apiVersion", "v1"},
                    {"kind", "ServiceAccount"},
                    {"metadata", {{"name", "default"}}}});  // admission wants it for pods
    cluster.StartHost({"--kubeconfig=" + cluster.dir() + "/files.kubeconfig"});
  }

  // As an agent does it: at once.
  void Write(const std::string& name, const std::string& text) const {
    const std::string path = cluster.dir() + "/" + name;
    std::ofstream(path + ".new") << text;
    fs::rename(path + ".new", path);
  }

  void WritePair(const std::string& user) {
    const Result<host::client::Config> config =
        host::client::ParseKubeconfig(cluster.server().Kubeconfig(user, "system:masters"), "/");
    ASSERT_TRUE(config.ok());
    Write("client.crt", config->client_cert.data);
    Write("client.key", config->client_key.data);
  }

  // A token of an account that may do anything.
  std::string TokenOf(const std::string& name) {
    cluster.Create({{"apiVersion", "v1"},
                    {"kind", "ServiceAccount"},
                    {"metadata", {{"name", name}, {"namespace", "kube-system"}}}});
    cluster.Create(
        {{"apiVersion", "rbac.authorization.k8s.io/v1"},
         {"kind", "ClusterRoleBinding"},
         {"metadata", {{"name", name}}},
         {"roleRef",
          {{"apiGroup", "rbac.authorization.k8s.io"},
           {"kind", "ClusterRole"},
           {"name", "cluster-admin"}}},
         {"subjects",
          {{{"kind", "ServiceAccount"}, {"name", name}, {"namespace", "kube-system"}}}}});
    const Reply reply = cluster.Request(
        "POST", "/api/v1/namespaces/kube-system/serviceaccounts/" + name + "/token",
        R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":86400}})");
    EXPECT_TRUE(reply.ok()) << reply.body;
    return reply.body["status"]["token"];
  }

  // Gives the controllers something to write, and looks whether they do.
  void Work(const std::string& name) {
    cluster.Create({{"apiVersion", "apps/v1"},
                    {"kind", "ReplicaSet"},
                    {"metadata", {{"name", name}}},
                    {"spec",
                     {{"replicas", 1},
                      {"selector", {{"matchLabels", {{"app", name}}}}},
                      {"template", PodTemplate({{"app", name}})}}}});
  }
  size_t PodsOf(const std::string& name) {
    return cluster.List("pods", "default", "app=" + name).size();
  }

  // Requests of the host since the last look, by user; "" are those that were refused.
  std::map<std::string, int> Users() {
    std::map<std::string, int> out;
    for (const auto& e : cluster.Audit())
      if (e.user_agent.find("kube-controller-manager/") == 0) ++out[e.code == 401 ? "" : e.user];
    return out;
  }

  Cluster cluster{{.plugins = {"pod"},
                   .start_host = false,
                   .nodes = 0,
                   .scheduler = false,
                   .service_account_credentials = false}};
};

const char kFirst[] = "system:serviceaccount:kube-system:first";
const char kSecond[] = "system:serviceaccount:kube-system:second";

TEST_F(Credentials, HOST_13_ANewTokenInTheFileIsUsedWithinAMinute) {
  Write("token", TokenOf("first") + "\n");
  Start("tokenFile: token");
  Work("before");
  cluster.Settle();
  EXPECT_EQ(PodsOf("before"), 1u);
  for (int i = 0; i < 300; ++i) cluster.Advance(1s);
  const std::map<std::string, int> before = Users();
  EXPECT_GE(before.at(kFirst), 1);
  EXPECT_EQ(before.size(), 1u);

  Write("token", TokenOf("second") + "\n");
  cluster.Delete("serviceaccounts", "first", Json::object(), "kube-system");  // revokes its tokens
  // Work all the time, so that requests are there to carry either token. A stream that ends by
  // itself can not be opened again before the new token is read.
  cluster.LetCachesLag(true);
  for (int i = 0; i < 60; ++i) {
    if (i % 5 == 0) Work("during-" + std::to_string(i));
    cluster.Advance(1s);
  }
  (void)Users();
  cluster.server().CloseWatches();
  Work("after");
  cluster.Until(
      "work with the new token",
      [&] {
        bool all = PodsOf("after") == 1;
        for (int i = 0; i < 60; i += 5) all = all && PodsOf("during-" + std::to_string(i)) == 1;
        return all;
      },
      65s, 1s);
  cluster.LetCachesLag(false);
  cluster.Settle();
  const std::map<std::string, int> after = Users();
  EXPECT_GE(after.at(kSecond), 3);
  EXPECT_EQ(after.size(), 1u) << "nobody carries the old token";
}

// What a host reads that was told no --client-ca-file.
TEST_F(Credentials, TheServerTellsWhoseClientCertificatesCount) {
  EXPECT_EQ(cluster.Get("configmaps", "extension-apiserver-authentication",
                        "kube-system")["data"]["client-ca-file"],
            cluster.server().CaPem());
}

TEST_F(Credentials, HOST_14_ANewCertificateReplacesEveryConnection) {
  WritePair("x");
  Start("client-certificate: client.crt, client-key: client.key");
  Work("before");
  cluster.Settle();
  EXPECT_EQ(PodsOf("before"), 1u);
  cluster.Advance(60s);
  EXPECT_GE(cluster.server().Connections("x"), 2) << "watches of the informers";
  EXPECT_EQ(Users().count("y"), 0u);

  WritePair("y");
  for (int i = 0; i < 310; ++i) cluster.Advance(1s);
  EXPECT_EQ(cluster.server().Connections("x"), 0);
  EXPECT_GE(cluster.server().Connections("y"), 2);
  for (const auto& e : cluster.Audit()) {
    EXPECT_EQ(e.uri.find("limit="), std::string::npos) << "a new certificate is no reason to list";
    EXPECT_EQ(e.uri.find("sendInitialEvents"), std::string::npos) << e.uri;
  }
  Work("after");
  cluster.server().CloseWatches();
  for (int i = 0; i < 5; ++i) cluster.Advance(1s);
  EXPECT_EQ(PodsOf("after"), 1u);
  const std::map<std::string, int> after = Users();
  EXPECT_GE(after.at("y"), 3);
  EXPECT_EQ(after.size(), 1u);
}

}  // namespace
}  // namespace kcm::harness
