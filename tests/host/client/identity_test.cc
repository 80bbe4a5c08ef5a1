// SPDX-License-Identifier: Apache-2.0
// TLS, identities, service account tokens and discovery against devcluster (spec/host.md 2, 3.3,
// 13).
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/temporary_dir.h"
#include "host/client/cluster.h"
#include "host/client/discovery.h"
#include "host/client/service_account_token.h"

namespace kcm::host::client {
namespace {

using namespace std::chrono_literals;

Call Who() {
  Call call{.verb = Verb::kCreate,
            .resource = {"authentication.k8s.io", "v1", "selfsubjectreviews"}};
  call.body = R"({"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"})";
  return call;
}

std::string NameIn(const Result<Answer>& answer) {
  if (!answer.ok()) return answer.error().message;
  return std::string(answer->object->Node().Path("status.userInfo.username").String());
}

struct Identity : ::testing::Test {
  std::shared_ptr<Client> With(const Config& config, std::shared_ptr<TokenSource> token = nullptr) {
    Result<std::shared_ptr<Transport>> transport = MakeTransport(config, {.clock = &cluster.clock});
    EXPECT_TRUE(transport.ok()) << transport.error().message;
    if (!transport.ok()) return nullptr;
    ClientOptions o;
    o.transport = *transport;
    o.user_agent = "t";
    o.qps = 0;
    o.clock = &cluster.clock;
    o.token = std::move(token);
    return std::make_shared<Client>(o);
  }
  test::Cluster cluster;
};

TEST_F(Identity, HOST_10_PathsRelativeToTheKubeconfigAreUsed) {
  const harness::TemporaryDir dir;
  dir.Write("pki/ca.crt", cluster.server->CaPem());
  const std::string file =
      dir.Write("config", "clusters: [{name: k, cluster: {server: '" + cluster.server->url() +
                              "', certificate-authority: pki/ca.crt}}]\n"
                              "contexts: [{name: c, context: {cluster: k}}]\ncurrent-context: c\n");
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path("/");
  const Result<Config> config = LoadConfig({.kubeconfig = file});
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->ca.file, dir / "pki/ca.crt");
  const std::shared_ptr<Client> client = With(*config);
  ASSERT_TRUE(client);
  Call version{.verb = Verb::kGet, .raw_path = "/version"};
  version.form = Form::kRaw;
  const Result<Answer> answer = client->Do(version);
  EXPECT_TRUE(answer.ok() || answer.error().http_status == 401)
      << answer.error().message << ": connected and verified";
  std::filesystem::current_path(before);
}

TEST_F(Identity, HostNamesAreVerifiedOnLoopbackToo) {
  Config config = *ParseKubeconfig(cluster.server->Kubeconfig(), "");
  config.tls_server_name = "some.other.name";
  const Result<Answer> wrong_name = With(config)->Do(Who());
  EXPECT_EQ(wrong_name.code(), Code::kTransport);
  EXPECT_EQ(wrong_name.error().cause, "TLS") << wrong_name.error().message;
  config.tls_server_name.clear();
  EXPECT_EQ(NameIn(With(config)->Do(Who())), "admin");
  Config no_ca = config;
  no_ca.ca = Material();
  EXPECT_EQ(With(no_ca)->Do(Who()).error().cause, "TLS") << "system roots do not know the server";
  no_ca.insecure_skip_tls_verify = true;
  EXPECT_EQ(NameIn(With(no_ca)->Do(Who())), "admin");
}

TEST_F(Identity, ImpersonationHeadersAreSent) {
  Config config = *ParseKubeconfig(cluster.server->Kubeconfig(), "");
  config.impersonate_user = "jane";
  config.impersonate_groups = {"system:authenticated"};
  EXPECT_EQ(NameIn(With(config)->Do(Who())), "jane");
}

TEST_F(Identity, AServiceAccountTokenReplacesTheCertificate) {
  const Config config = *ParseKubeconfig(cluster.server->Kubeconfig(), "");
  const std::shared_ptr<TokenSource> token = MakeServiceAccountTokenSource(
      {.client = cluster.admin, .name = "replicaset-controller", .clock = &cluster.clock});
  cluster.server->EnableAudit(true);
  const std::shared_ptr<Client> client = With(config, token);
  EXPECT_EQ(NameIn(client->Do(Who())), "system:serviceaccount:kube-system:replicaset-controller");
  EXPECT_EQ(NameIn(client->Do(Who())), "system:serviceaccount:kube-system:replicaset-controller");
  EXPECT_EQ(cluster.Audit("test/admin", "POST .*/token").size(), 1u) << "cached";
  ASSERT_TRUE(cluster.clock.Advance(49min));
  (void)client->Do(Who());
  EXPECT_EQ(cluster.Audit("test/admin", "POST .*/token").size(), 1u)
      << "80 % of an hour have passed";
}

TEST_F(Identity, ADeletedAccountIsMadeAgainAfterA401) {
  const Config config = *ParseKubeconfig(cluster.server->Kubeconfig(), "");
  const std::shared_ptr<Client> client = With(
      config, MakeServiceAccountTokenSource(
                  {.client = cluster.admin, .name = "job-controller", .clock = &cluster.clock}));
  ASSERT_TRUE(client->Do(Who()).ok());
  ASSERT_TRUE(cluster.Delete({"", "v1", "serviceaccounts"}, "kube-system", "job-controller").ok());
  EXPECT_EQ(client->Do(Who()).code(), Code::kUnauthorized) << "the 401 itself goes to the caller";
  EXPECT_EQ(NameIn(client->Do(Who())), "system:serviceaccount:kube-system:job-controller");
}

TEST_F(Identity, DiscoveryMapsKindsAndPrefersVersions) {
  Discovery discovery(cluster.admin, &cluster.clock, log::Logger());
  const Result<ApiResource> deployment = discovery.ForKind("apps", "", "Deployment");
  ASSERT_TRUE(deployment.ok()) << deployment.error().message;
  EXPECT_EQ(deployment->gvr, (Gvr{"apps", "v1", "deployments"}));
  EXPECT_TRUE(deployment->namespaced);
  EXPECT_TRUE(deployment->Supports("watch"));
  EXPECT_EQ(discovery.ForKind("", "v1", "pod")->gvr, (Gvr{"", "v1", "pods"}));
  cluster.server->EnableAudit(true);
  EXPECT_EQ(discovery.ForKind("gone.example", "", "X").code(), Code::kNotFound);
  EXPECT_EQ(cluster.Audit("test/admin").size(), 2u) << "the first miss discovers again";
  EXPECT_EQ(discovery.ForKind("gone.example", "", "X").code(), Code::kNotFound);
  EXPECT_EQ(cluster.Audit("test/admin").size(), 0u) << "later ones wait for a reset";
  discovery.Reset();
  EXPECT_EQ(discovery.ForKind("gone.example", "", "X").code(), Code::kNotFound);
  EXPECT_EQ(cluster.Audit("test/admin").size(), 2u);
  const Result<std::vector<ApiResource>> preferred = discovery.PreferredResources();
  ASSERT_TRUE(preferred.ok());
  int autoscalers = 0;
  for (const ApiResource& r : *preferred)
    autoscalers += r.gvr.resource == "horizontalpodautoscalers";
  EXPECT_EQ(autoscalers, 1);
  EXPECT_EQ(*discovery.ServerMinor(), 36);
}

}  // namespace
}  // namespace kcm::host::client
