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
  EXPECT_THAT(host.err(), AllOf(HasSubstr("The client certificate is not valid now, renew it"),
                                HasSubstr("expired at "), HasSubstr(cert),
                                HasSubstr("failed to wait for apiserver being healthy"),
                                HasSubstr("certificate expired")));
  EXPECT_FALSE(server.Answered());
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
