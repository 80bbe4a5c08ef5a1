// SPDX-License-Identifier: Apache-2.0
// Refused credentials in words.
#include "host/client/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/client/cluster.h"

namespace kcm::host::client {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr char kCertificateWords[] =
    ": it has to be valid now and signed by a CA that the server trusts for clients (its "
    "--client-ca-file): renew it";

TEST(Refusal, CredentialsAreNamedWithTheirPlace) {
  const struct {
    const char* name;
    std::function<void(Config*)> set;
    const char* text;
    const char* fix;
  } rows[] = {
      {"token file", [](Config* c) { c->token_file = "/run/token"; },
       "tokenFile /run/token of user \"kcm\" in /etc/kcm.conf", "neither expired nor revoked"},
      {"token", [](Config* c) { c->token = "hush"; }, "token of user \"kcm\" in /etc/kcm.conf",
       "neither expired nor revoked"},
      {"certificate file", [](Config* c) { c->client_cert.file = "/pki/c.crt"; },
       "client-certificate /pki/c.crt of user \"kcm\" in /etc/kcm.conf", "--client-ca-file"},
      {"both",
       [](Config* c) {
         c->token = "hush";
         c->client_cert.data = "hush";
       },
       "token and client-certificate-data of user \"kcm\" in /etc/kcm.conf", "put a fresh one"},
      {"password", [](Config* c) { c->password = "hush"; },
       "username and password of user \"kcm\" in /etc/kcm.conf", "know this user"},
      {"plugin",
       [](Config* c) {
         c->exec.emplace();
         c->exec->command = "/bin/login";
       },
       "exec plugin /bin/login of user \"kcm\" in /etc/kcm.conf", "run it by hand"},
      {"none", [](Config*) {}, "no credentials of user \"kcm\" in /etc/kcm.conf",
       "give user \"kcm\" a client-certificate, a token or exec in /etc/kcm.conf"},
      {"no kubeconfig",
       [](Config* c) {
         c->kubeconfig.clear();
         c->user.clear();
       },
       "no credentials", "--kubeconfig"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Config config;
    config.kubeconfig = "/etc/kcm.conf";
    config.user = "kcm";
    row.set(&config);
    EXPECT_EQ(CredentialsText(config), row.text);
    EXPECT_THAT(CredentialsFix(config), HasSubstr(row.fix));
  }
}

TEST(Refusal, AlertsAreAboutTheCertificate) {
  Config config;
  config.token = "hush";
  config.client_cert.file = "/pki/c.crt";
  EXPECT_EQ(CertificateText(config),
            std::string("client-certificate /pki/c.crt") + kCertificateWords);
  config.client_cert.file.clear();
  EXPECT_THAT(CertificateText(config), HasSubstr("no client certificate: the server asks for one"));
  EXPECT_TRUE(IsCertificateAlert("error:0A000412:SSL routines::sslv3 alert bad certificate"));
  EXPECT_TRUE(IsCertificateAlert("tlsv1 alert unknown ca"));
  EXPECT_TRUE(IsCertificateAlert("tlsv13 alert certificate required"));
  EXPECT_FALSE(IsCertificateAlert("tlsv1 alert protocol version"));
  EXPECT_FALSE(IsCertificateAlert("certificate verify failed"));
}

TEST(Refusal, IsLoggedOnceInAWhileWithTheFile) {
  test::Cluster cluster;
  std::vector<std::string> lines;
  log::Options sink;
  sink.sink = [&](const std::string& line) { lines.push_back(line); };
  const Result<Config> good = ParseKubeconfig(cluster.server->Kubeconfig(), "");
  ASSERT_TRUE(good.ok());
  Config config;
  config.server = good->server;
  config.ca = good->ca;
  config.token = "hush";
  config.kubeconfig = "/etc/kcm.conf";
  config.user = "kcm";
  ClientOptions o;
  o.transport = *MakeTransport(config, {.clock = &cluster.clock, .log = log::Logger::Make(sink)});
  o.user_agent = "t";
  o.qps = 0;
  o.clock = &cluster.clock;
  Client client(o);
  Call list{.verb = Verb::kList, .resource = {"", "v1", "configmaps"}, .ns = "default"};
  const auto said = [&] {
    return std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("The API server does not know our credentials") != std::string::npos;
    });
  };
  for (int i = 0; i < 3; ++i) {
    const auto answer = client.Do(list);
    EXPECT_EQ(answer.code(), Code::kUnauthorized);
    EXPECT_EQ(answer.error().message, "Unauthorized") << "the server's words stay as they are";
  }
  EXPECT_EQ(said(), 1);
  EXPECT_THAT(lines, Contains(HasSubstr("in /etc/kcm.conf")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("hush"))));
  ASSERT_TRUE(cluster.clock.Advance(std::chrono::minutes(10)));
  (void)client.Do(list);
  EXPECT_EQ(said(), 2);
}

}  // namespace
}  // namespace kcm::host::client
