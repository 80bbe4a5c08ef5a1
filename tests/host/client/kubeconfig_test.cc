// SPDX-License-Identifier: Apache-2.0
// Kubeconfig: which configuration is used, every field, every error text
// (spec/host.md 2.1, 2.2, 2.4).
#include "host/client/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/temporary_dir.h"

namespace kcm::host::client {
namespace {

using harness::TemporaryDir;
using ::testing::HasSubstr;

std::string File(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: "
         "{cluster: k, user: u}}]\n"
         "clusters: [{name: k, cluster: {" +
         cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n";
}

LoadOptions With(const std::string& kubeconfig, const std::string& master = "") {
  LoadOptions o;
  o.kubeconfig = kubeconfig;
  o.master = master;
  o.env = [](const std::string&) { return std::nullopt; };
  return o;
}

TEST(Kubeconfig, ReadsEveryField) {
  const Result<Config> c =
      ParseKubeconfig(File("server: 'https://h:6443/p', certificate-authority-data: Y2E=, "
                           "tls-server-name: n, proxy-url: 'socks5://p:1'",
                           "client-certificate-data: Y2VydA==, client-key-data: a2V5, as: root, "
                           "as-uid: '7', as-groups: [g1, g2], as-user-extra: {e: [x, y]}"),
                      "/d");
  ASSERT_TRUE(c.ok()) << c.error().message;
  EXPECT_EQ(c->server, "https://h:6443/p");
  EXPECT_EQ(c->ca.data, "ca");
  EXPECT_EQ(c->tls_server_name, "n");
  EXPECT_EQ(c->proxy_url, "socks5://p:1");
  EXPECT_EQ(c->client_cert.data, "cert");
  EXPECT_EQ(c->client_key.data, "key");
  EXPECT_EQ(c->impersonate_user, "root");
  EXPECT_EQ(c->impersonate_uid, "7");
  EXPECT_EQ(c->impersonate_groups, (std::vector<std::string>{"g1", "g2"}));
  ASSERT_EQ(c->impersonate_extra.size(), 1u);
  EXPECT_EQ(c->impersonate_extra[0].second, (std::vector<std::string>{"x", "y"}));
}

TEST(Kubeconfig, JsonIsYaml) {
  const Result<Config> c =
      ParseKubeconfig(R"({"apiVersion":"v1","kind":"Config","current-context":"c",
    "contexts":[{"name":"c","context":{"cluster":"k","user":"nobody"}}],
    "clusters":[{"name":"k","cluster":{"server":"https://h"}}],"users":null})",
                      "");
  ASSERT_TRUE(c.ok()) << c.error().message;
  EXPECT_EQ(c->server, "https://h");
  EXPECT_TRUE(c->token.empty()) << "a missing user is no credentials";
}

TEST(Kubeconfig, ErrorsCarryTheTextsOfTheReference) {
  const std::string server = "server: 'https://h'";
  const struct {
    const char* name;
    std::string text;
    const char* want;
  } rows[] = {
      {"empty", "", "cluster has no server defined"},
      {"missing context", "current-context: X",
       "invalid configuration: [context was not found for specified context: X, cluster has no "
       "server defined]"},
      {"missing cluster", "current-context: c\ncontexts: [{name: c, context: {cluster: gone}}]",
       "invalid configuration: no server found for cluster \"gone\""},
      {"duplicate", "clusters: [{name: X, cluster: {}}, {name: X, cluster: {}}]",
       "duplicate name \"X\" in list"},
      {"insecure and CA",
       File(server + ", insecure-skip-tls-verify: true, certificate-authority-data: Y2E=", ""),
       "specifying a root certificates file with the insecure flag is not allowed"},
      {"proxy", File(server + ", proxy-url: 'ftp://x'", ""), "invalid 'proxy-url'"},
      {"proxy with password", File(server + ", proxy-url: 'ftp://n:hush@x:1'", ""),
       "invalid 'proxy-url' \"ftp://x:1\" for cluster \"k\": unsupported scheme \"ftp\", must be "
       "http, https, or socks5"},
      {"proxy without scheme", File(server + ", proxy-url: 'n:hush@x:1'", ""),
       "invalid 'proxy-url' \"x:1\" for cluster \"k\": "},
      {"proxy with odd password", File(server + ", proxy-url: 'http://n:hush#@x:1'", ""),
       "invalid 'proxy-url' \"http://x:1\" for cluster \"k\": "},
      {"cert without key", File(server, "client-certificate-data: Y2E="),
       "client-key-data or client-key must be specified for u to use the clientCert authentication "
       "method."},
      {"token and basic", File(server, "token: hush, username: n"),
       "more than one authentication method found for u; found [token basicAuth], only one is "
       "allowed"},
      {"groups without as", File(server, "as-groups: [g]"),
       "requesting uid, groups or user-extra for u without impersonating a user"},
      {"auth provider", File(server, "auth-provider: {name: gcp}"),
       "no Auth Provider found for name \"gcp\""},
      {"exec without mode",
       File(server, "exec: {command: x, apiVersion: client.authentication.k8s.io/v1}"),
       "interactiveMode must be specified for u to use exec authentication plugin"},
      {"bad base64", File(server + ", certificate-authority-data: '#'", ""),
       "cluster.certificate-authority-data: must be base64"},
      {"not YAML", "a: [", "not valid YAML"},
      {"a list", "[1]", "must be a mapping"},
      {"wrong type", File("server: [x]", ""), "cluster.server: must be a string"},
      {"clusters is text", "clusters: x", "kubeconfig.clusters: must be a list"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Result<Config> c = ParseKubeconfig(row.text, "");
    ASSERT_FALSE(c.ok());
    EXPECT_EQ(c.code(), Code::kInvalid);
    EXPECT_THAT(c.error().message, HasSubstr(row.want));
    EXPECT_THAT(c.error().message, ::testing::Not(HasSubstr("hush")))
        << "credentials stay out of messages";
  }
}

TEST(Kubeconfig, HOST_12_BothFormsOfTheCaAreRefused) {
  const TemporaryDir dir;
  dir.Write("ca.crt", "x");
  const std::string file = dir.Write(
      "config",
      File("server: 'https://h', certificate-authority: ca.crt, certificate-authority-data: Y2E=",
           ""));
  const Result<Config> c = LoadConfig(With(file));
  ASSERT_FALSE(c.ok());
  EXPECT_THAT(c.error().message,
              HasSubstr("certificate-authority-data and certificate-authority are both specified"));
}

TEST(Kubeconfig, HOST_11_AMissingFileSaysSo) {
  const Result<Config> c = LoadConfig(With("/no/such/file"));
  ASSERT_FALSE(c.ok());
  EXPECT_EQ(c.error().message, "stat /no/such/file: no such file or directory");
}

TEST(Kubeconfig, PathsAreRelativeToTheFile) {
  const TemporaryDir dir;
  dir.Write("pki/ca.crt", "x");
  dir.Write("pki/c.crt", "x");
  dir.Write("pki/c.key", "x");
  const std::string file = dir.Write(
      "config", File("server: 'https://h', certificate-authority: pki/ca.crt",
                     "client-certificate: pki/c.crt, client-key: pki/c.key, tokenFile: t"));
  const Result<Config> c = LoadConfig(With(file));
  ASSERT_TRUE(c.ok()) << c.error().message;
  EXPECT_EQ(c->ca.file, dir / "pki/ca.crt");
  EXPECT_EQ(c->client_key.file, dir / "pki/c.key");
  EXPECT_EQ(c->token_file, dir / "t");
}

TEST(Kubeconfig, ExecCommandIsRelativeOnlyWithASeparator) {
  const std::string exec =
      "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, env: [{name: A, "
      "value: b}], command: ";
  const Result<Config> path = ParseKubeconfig(File("server: 'https://h'", exec + "bin/x}"), "/d");
  const Result<Config> name =
      ParseKubeconfig(File("server: 'https://h'", exec + "x, args: [a]}"), "/d");
  ASSERT_TRUE(path.ok()) << path.error().message;
  ASSERT_TRUE(name.ok());
  EXPECT_EQ(path->exec->command, "/d/bin/x");
  EXPECT_EQ(name->exec->command, "x");
  EXPECT_EQ(name->exec->args, (std::vector<std::string>{"a"}));
  EXPECT_EQ(name->exec->env[0].first, "A");
}

TEST(Kubeconfig, MasterReplacesTheServerAndDropsTheTlsName) {
  const TemporaryDir dir;
  const std::string file =
      dir.Write("config", File("server: 'https://h', tls-server-name: n", "token: t"));
  const Result<Config> c = LoadConfig(With(file, "https://other:1"));
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->server, "https://other:1");
  EXPECT_EQ(c->tls_server_name, "");
  EXPECT_EQ(c->token, "t");
  const Result<Config> alone = LoadConfig(With("", "h:8080"));
  ASSERT_TRUE(alone.ok());
  EXPECT_TRUE(alone->token.empty());
}

TEST(Kubeconfig, InClusterNeedsBothVariablesAndTheToken) {
  const TemporaryDir dir;
  LoadOptions o = With("");
  std::vector<std::string> warnings;
  o.warn = [&](const std::string& line) { warnings.push_back(line); };
  const Result<Config> outside = LoadConfig(o);
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.error().message,
            "invalid configuration: no configuration has been provided, try setting "
            "KUBERNETES_MASTER environment variable");
  EXPECT_EQ(warnings.size(), 2u);
  o.env = [](const std::string& name) -> std::optional<std::string> {
    return name == "KUBERNETES_SERVICE_HOST" ? "fd00::1" : "443";
  };
  o.service_account_dir = dir.path();
  EXPECT_FALSE(LoadConfig(o).ok());
  dir.Write("token", "t");
  const Result<Config> inside = LoadConfig(o);
  ASSERT_TRUE(inside.ok()) << inside.error().message;
  EXPECT_EQ(inside->server, "https://[fd00::1]:443");
  EXPECT_EQ(inside->token_file, dir / "token");
  EXPECT_EQ(inside->ca.file, "") << "an unreadable CA means system roots";
}

TEST(ServerAddress, SchemesPortsAndPrefixes) {
  const struct {
    const char* server;
    bool tls;
    const char* host;
    int port;
    const char* path;
  } rows[] = {
      {"https://h", true, "h", 443, ""},
      {"https://h:6443/", true, "h", 6443, ""},
      {"http://h/k8s/?q#f", false, "h", 80, "/k8s"},
      {"h:8080", false, "h", 8080, ""},
      {"https://[::1]:6443/a/b", true, "::1", 6443, "/a/b"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.server);
    const Result<ServerAddress> a = ParseServer(row.server);
    ASSERT_TRUE(a.ok()) << a.error().message;
    EXPECT_EQ(a->tls, row.tls);
    EXPECT_EQ(a->host, row.host);
    EXPECT_EQ(a->port, row.port);
    EXPECT_EQ(a->path, row.path);
  }
  for (const char* bad : {"", "ftp://h", "https://", "https://h:x"})
    EXPECT_FALSE(ParseServer(bad).ok()) << bad;
  EXPECT_EQ(ParseServer("https://[::1]:1")->HostPort(), "[::1]:1");
}

}  // namespace
}  // namespace kcm::host::client
