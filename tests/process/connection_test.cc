// SPDX-License-Identifier: Apache-2.0
// Servers that are not there, not trusted, or do not trust us: the process ends with the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/process.h"
#include "process/tls_endpoint.h"
#include "process/world.h"

namespace kcm::process {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Kubeconfig(int port, const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: "
         "{cluster: c, user: u}}]\n"
         "clusters: [{name: c, cluster: {server: \"https://127.0.0.1:" +
         std::to_string(port) + "\"" + cluster + "}}]\n" + "users: [{name: u, user: {" + user +
         "}}]\n";
}

std::vector<std::string> Command(const std::string& kubeconfig) {
  return {HostBinary(), "--kubeconfig=" + kubeconfig, "--secure-port=0", "--leader-elect=false"};
}

TEST(Connection, HOST_48_ServerThatIsAbsentEndsTheStartAfterTenSeconds) {
  const harness::TemporaryDir dir;
  const std::string file = dir.Write("kubeconfig", Kubeconfig(FreePort(), "", "token: t"));
  Process host(Command(file), dir.path(), "host");
  EXPECT_EQ(host.Wait(7s), std::nullopt) << host.err();
  EXPECT_EQ(host.Wait(12s), 1);
  EXPECT_THAT(host.err(), AllOf(HasSubstr("failed to wait for apiserver being healthy"),
                                HasSubstr("connection refused")));
}

TEST(Connection, ServerOfAnotherAuthorityIsNotTrusted) {
  World world({});
  const harness::TemporaryDir dir;
  const test::TestCa other("another-ca");
  const std::string ca = dir.Write("ca.crt", other.pem());
  const std::string file = dir.Write(
      "kubeconfig", Kubeconfig(world.server().port(), ", certificate-authority: \"" + ca + "\"",
                               "token: secret-token"));
  Process host(Command(file), dir.path(), "host");
  EXPECT_EQ(host.Wait(30s), 1);
  EXPECT_THAT(host.err(), AllOf(HasSubstr("failed to wait for apiserver being healthy"),
                                HasSubstr("certificate")));
  EXPECT_THAT(host.err(), ::testing::Not(HasSubstr("secret-token")));
  for (const auto& request : world.server().TakeAudit())
    EXPECT_EQ(request.user_agent.find("kube-controller-manager"), std::string::npos);
}

TEST(Connection, ExpiredServerCertificateIsNamed) {
  const test::TestCa ca("ca");
  const TlsEndpoint server(ca.LoopbackServer(test::TestCa::Validity::kOver));
  const harness::TemporaryDir dir;
  const std::string trusted = dir.Write("ca.crt", ca.pem());
  const std::string file = dir.Write(
      "kubeconfig", Kubeconfig(server.port(), ", certificate-authority: \"" + trusted + "\"",
                               "token: secret-token"));
  Process host(Command(file), dir.path(), "host");
  EXPECT_EQ(host.Wait(30s), 1);
  EXPECT_THAT(host.err(),
              AllOf(HasSubstr("failed to wait for apiserver being healthy"),
                    HasSubstr("https://127.0.0.1:" + std::to_string(server.port())),
                    HasSubstr("certificate has expired"), HasSubstr("renew the server's")));
  EXPECT_FALSE(server.Answered()) << "the token went to a server that proved nothing";
}

TEST(Connection, ExpiredClientCertificateIsNamedWithItsFile) {
  const test::TestCa ca("ca");
  const TlsEndpoint server(ca.LoopbackServer(), ca.pem());
  const harness::TemporaryDir dir;
  const test::CertAndKey old = ca.Client("kcm", {}, test::TestCa::Validity::kOver);
  const std::string trusted = dir.Write("ca.crt", ca.pem());
  const std::string cert = dir.Write("client.crt", old.cert);
  const std::string key = dir.Write("client.key", old.key);
  const std::string file =
      dir.Write("kubeconfig",
                Kubeconfig(server.port(), ", certificate-authority: \"" + trusted + "\"",
                           "client-certificate: \"" + cert + "\", client-key: \"" + key + "\""));
  Process host(Command(file), dir.path(), "host");
  EXPECT_EQ(host.Wait(30s), 1);
  EXPECT_THAT(host.err(),
              AllOf(HasSubstr("The client certificate is not valid now, renew it"),
                    HasSubstr("expired at "), HasSubstr(cert),
                    HasSubstr("failed to wait for apiserver being healthy"),
                    HasSubstr("certificate expired"),
                    HasSubstr("the server refuses client-certificate " + cert), HasSubstr(file)));
  EXPECT_FALSE(server.Answered());
}

// Each host goes on trying: what is refused may be put right.
TEST(Connection, CredentialsThatTheServerRefusesAreNamedWithTheirPlace) {
  World world({});
  const harness::TemporaryDir dir;
  const test::TestCa other("another-ca");
  const test::CertAndKey foreign = other.Client("kcm", {"system:masters"});
  const std::string ca =
      ", certificate-authority: \"" + dir.Write("ca.crt", world.server().CaPem()) + "\"";
  const std::string token = dir.Write("token", "no-such-token");
  const std::string cert = dir.Write("client.crt", foreign.cert);
  const std::string key = dir.Write("client.key", foreign.key);
  const struct {
    const char* name;
    std::string user, want;
  } rows[] = {
      {"token-file", "tokenFile: \"" + token + "\"", "tokenFile " + token},
      {"token", "token: no-such-token", "token of user"},
      {"certificate", "client-certificate: \"" + cert + "\", client-key: \"" + key + "\"",
       "client-certificate " + cert},
      {"nobody", "", "no credentials of user"},
  };
  // Without any plugin it would not ask for the lease.
  const std::string plugins = MakePluginDir(dir.path() + "/plugins");
  std::vector<std::unique_ptr<Process>> hosts;
  for (const auto& row : rows) {
    const std::string file =
        dir.Write(std::string(row.name) + ".conf", Kubeconfig(world.server().port(), ca, row.user));
    hosts.push_back(std::make_unique<Process>(
        std::vector<std::string>{HostBinary(), "--kubeconfig=" + file, "--secure-port=0",
                                 "--plugin-dir=" + plugins, "--warm-standby=false"},
        dir.path(), row.name));
  }
  for (size_t i = 0; i < hosts.size(); ++i) {
    SCOPED_TRACE(rows[i].name);
    const std::string file = dir.path() + "/" + rows[i].name + ".conf";
    const auto said = [&] {
      const std::string err = hosts[i]->err();
      return err.find(rows[i].want) != std::string::npos && err.find(file) != std::string::npos;
    };
    EXPECT_TRUE(Until(30s, said)) << hosts[i]->err();
    EXPECT_TRUE(hosts[i]->running());
    EXPECT_THAT(hosts[i]->err(), ::testing::Not(HasSubstr("no-such-token")));
  }
}

TEST(Connection, RefusedTokenEndsTheStartWithItsFile) {
  World world({});
  const harness::TemporaryDir dir;
  const std::string ca =
      ", certificate-authority: \"" + dir.Write("ca.crt", world.server().CaPem()) + "\"";
  const std::string token = dir.Write("token", "no-such-token");
  const std::string file = dir.Write(
      "kubeconfig", Kubeconfig(world.server().port(), ca, "tokenFile: \"" + token + "\""));
  Process host(Command(file), dir.path(), "host");
  EXPECT_EQ(host.Wait(60s), 1);
  EXPECT_THAT(host.err(), AllOf(HasSubstr("failed to wait for apiserver being healthy"),
                                HasSubstr("Unauthorized: tokenFile " + token)));
}

TEST(Connection, UnusableCertificatesEndTheStartAtOnceNamingTheirFiles) {
  const harness::TemporaryDir dir;
  const test::TestCa ca("ca");
  const std::string good = dir.Write("good.crt", ca.pem());
  const std::string bad = dir.Write("bad.crt", "no certificate\n");
  const test::CertAndKey mine = ca.Client("a"), other = ca.Client("b");
  const std::string cert = dir.Write("client.crt", mine.cert);
  const std::string key = dir.Write("other.key", other.key);
  const struct {
    const char* name;
    std::string cluster, user, file, reason;
  } rows[] = {
      {"no CA in the file", ", certificate-authority: \"" + bad + "\"", "token: t", bad,
       "no PEM certificate"},
      {"another's key", ", certificate-authority: \"" + good + "\"",
       "client-certificate: \"" + cert + "\", client-key: \"" + key + "\"", cert,
       "private key does not match public key"},
      {"a file that is not there", ", certificate-authority: \"" + dir.path() + "/none\"",
       "token: t", dir.path() + "/none", "no such file or directory"},
  };
  const Listener server;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string file =
        dir.Write("kubeconfig", Kubeconfig(server.port(), row.cluster, row.user));
    Process host(Command(file), dir.path(), "host");
    EXPECT_EQ(host.Wait(5s), 1);
    EXPECT_THAT(host.err(),
                AllOf(HasSubstr(row.file), HasSubstr(row.reason), HasSubstr("correct " + file)));
  }
  EXPECT_FALSE(server.Connected());
}

}  // namespace
}  // namespace kcm::process
