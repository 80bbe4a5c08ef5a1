// SPDX-License-Identifier: Apache-2.0
// Servers that are not there, not trusted, or do not trust us: the process ends with the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/process.h"
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
  const TemporaryDir dir;
  const std::string file = dir.Write("kubeconfig", Kubeconfig(FreePort(), "", "token: t"));
  Process host(Command(file), dir.path(), "host");
  EXPECT_EQ(host.Wait(7s), std::nullopt) << host.err();
  EXPECT_EQ(host.Wait(12s), 1);
  EXPECT_THAT(host.err(), AllOf(HasSubstr("failed to wait for apiserver being healthy"),
                                HasSubstr("connection refused")));
}

TEST(Connection, ServerOfAnotherAuthorityIsNotTrusted) {
  World world({});
  const TemporaryDir dir;
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

}  // namespace
}  // namespace kcm::process
