// SPDX-License-Identifier: Apache-2.0
// Kubeconfigs as the simulated nodes read them.
#include "devcluster/nodes/endpoint.h"

#include <gtest/gtest.h>

#include <string>

#include "harness/temporary_dir.h"

namespace kcm::devcluster::nodes {
namespace {

std::string Config(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
         "contexts:\n- name: c\n  context: {cluster: k, user: u}\n"
         "clusters:\n- name: k\n  cluster: {" +
         cluster +
         "}\n"
         "users:\n- name: u\n  user: {" +
         user + "}\n";
}

TEST(Kubeconfig, ReadsEmbeddedCertificatesAndToken) {
  const Result<Endpoint> e = ParseKubeconfig(
      Config("server: 'https://[::1]:6443/k8s/', certificate-authority-data: Q0E=",
             "client-certificate-data: Q0VSVA==, client-key-data: S0VZ, token: abc"),
      "");
  ASSERT_TRUE(e.ok()) << e.error().message;
  EXPECT_TRUE(e->tls);
  EXPECT_EQ(e->host, "::1");
  EXPECT_EQ(e->port, 6443);
  EXPECT_EQ(e->path, "/k8s");
  EXPECT_EQ(e->ca_pem, "CA");
  EXPECT_EQ(e->cert_pem, "CERT");
  EXPECT_EQ(e->key_pem, "KEY");
  EXPECT_EQ(e->token, "abc");
  EXPECT_FALSE(e->insecure);
}

TEST(Kubeconfig, ReadsFilesBesideIt) {
  const harness::TemporaryDir dir;
  dir.Write("ca.crt", "CA");
  dir.Write("token", "secret\n");
  const Result<Endpoint> e = ParseKubeconfig(
      Config("server: 'https://h', certificate-authority: ca.crt", "tokenFile: token"), dir.path());
  ASSERT_TRUE(e.ok()) << e.error().message;
  EXPECT_EQ(e->port, 443);
  EXPECT_EQ(e->ca_pem, "CA");
  EXPECT_EQ(e->token, "secret");
}

TEST(Kubeconfig, ReadsJsonAndPlainHttp) {
  const Result<Endpoint> e = ParseKubeconfig(
      R"({"current-context":"c","contexts":[{"name":"c","context":{"cluster":"k","user":""}}],
          "clusters":[{"name":"k","cluster":{"server":"http://127.0.0.1:8080"}}]})",
      "");
  ASSERT_TRUE(e.ok()) << e.error().message;
  EXPECT_FALSE(e->tls);
  EXPECT_EQ(e->port, 8080);
}

TEST(Kubeconfig, SaysWhatIsWrong) {
  const struct {
    const char* name;
    std::string text, want;
  } rows[] = {
      {"not yaml", "{a: [", "kubeconfig:"},
      {"not a map", "- a", "not a YAML mapping"},
      {"no context", "apiVersion: v1\n", "current-context is not set"},
      {"context not there", "current-context: x\n", "no context named x"},
      {"no server", Config("insecure-skip-tls-verify: true", "token: t"), "server \"\""},
      {"not an address", Config("server: 'ftp://x'", "token: t"), "not an http or https address"},
      {"bad base64", Config("server: 'https://x', certificate-authority-data: '!!'", "token: t"),
       "certificate-authority-data is not base64"},
      {"missing file", Config("server: 'https://x', certificate-authority: /no/such", "token: t"),
       "can not read file /no/such"},
      {"key without certificate", Config("server: 'https://x'", "client-key-data: S0VZ"),
       "only one of client-certificate and client-key"},
      {"exec", Config("server: 'https://x'", "exec: {command: x}"), "exec or auth-provider"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Result<Endpoint> e = ParseKubeconfig(row.text, "");
    ASSERT_FALSE(e.ok());
    EXPECT_NE(e.error().message.find(row.want), std::string::npos) << e.error().message;
  }
}

}  // namespace
}  // namespace kcm::devcluster::nodes
