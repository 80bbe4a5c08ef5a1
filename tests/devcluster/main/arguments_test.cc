// SPDX-License-Identifier: Apache-2.0
// Command lines of kcm-devcluster.
#include "arguments.h"

#include <gtest/gtest.h>

namespace kcm::devcluster::main {
namespace {

using namespace std::chrono_literals;

TEST(Arguments, ServeWithNodes) {
  const auto a =
      ParseArguments({"serve", "--port", "6443", "--nodes=5", "--no-tls", "--kubeconfig-out=/x",
                      "--address", "0.0.0.0", "--data-dir", "/d"});
  ASSERT_TRUE(a.ok()) << a.error().message;
  EXPECT_EQ(a->command, Arguments::Command::kServe);
  EXPECT_EQ(a->port, 6443);
  EXPECT_EQ(a->count, 5);
  EXPECT_FALSE(a->tls);
  EXPECT_EQ(a->kubeconfig_out, "/x");
  EXPECT_EQ(a->address, "0.0.0.0");
  EXPECT_EQ(a->data_dir, "/d");
}

TEST(Arguments, NodesWithDefaults) {
  const auto a = ParseArguments(
      {"nodes", "--kubeconfig", "k", "--heartbeat", "3", "--fail", "sim-0", "--fail=sim-1"});
  ASSERT_TRUE(a.ok()) << a.error().message;
  EXPECT_EQ(a->count, 3);
  EXPECT_EQ(a->zones, 3);
  EXPECT_EQ(a->prefix, "sim-");
  EXPECT_EQ(a->heartbeat, 3s);
  EXPECT_TRUE(a->scheduler);
  EXPECT_EQ(a->fail, (std::vector<std::string>{"sim-0", "sim-1"}));
  EXPECT_EQ(ParseArguments({"nodes", "--kubeconfig", "k", "--heartbeat", "1m30s"})->heartbeat, 90s);
}

TEST(Arguments, DriversAndOrdersOfNodes) {
  const auto a = ParseArguments({"nodes", "--kubeconfig", "k", "--csi", "--devices=4", "--metrics",
                                 "--metrics-address", "10.0.0.1", "--recover", "sim-2"});
  ASSERT_TRUE(a.ok()) << a.error().message;
  EXPECT_TRUE(a->csi);
  EXPECT_TRUE(a->metrics);
  EXPECT_EQ(a->metrics_address, "10.0.0.1");
  EXPECT_EQ(a->devices, 4);
  EXPECT_EQ(a->recover, std::vector<std::string>{"sim-2"});
  EXPECT_FALSE(ParseArguments({"serve"})->csi);
}

TEST(Arguments, HelpIsNoError) {
  for (const auto& args :
       std::vector<std::vector<std::string>>{{"--help"}, {"serve", "--help"}, {"nodes", "-h"}}) {
    const auto a = ParseArguments(args);
    ASSERT_TRUE(a.ok());
    EXPECT_EQ(a->command, Arguments::Command::kHelp);
  }
}

TEST(Arguments, SaysWhatIsWrong) {
  const struct {
    std::vector<std::string> args;
    const char* want;
  } rows[] = {
      {{}, "no command"},
      {{"run"}, "unknown command run"},
      {{"serve", "--port"}, "--port needs a value"},
      {{"serve", "--port", "70000"}, "--port: \"70000\" is not a number from 0 to 65535"},
      {{"serve", "--port", "x"}, "--port: \"x\""},
      {{"serve", "--no-tls=yes"}, "--no-tls takes no value"},
      {{"serve", "--count", "3"}, "unknown argument --count of serve"},
      {{"serve", "--recover", "sim-0"}, "unknown argument --recover of serve"},
      {{"nodes", "--kubeconfig", "k", "--devices", "129"}, "--devices: \"129\""},
      {{"nodes"}, "nodes needs --kubeconfig FILE"},
      {{"nodes", "--kubeconfig", "k", "--count", "-1"}, "--count: \"-1\""},
      {{"nodes", "--kubeconfig", "k", "--heartbeat", "0"}, "--heartbeat: \"0\""},
      {{"nodes", "--kubeconfig", "k", "--zones", "0"}, "--zones: \"0\""},
  };
  for (const auto& row : rows) {
    const auto a = ParseArguments(row.args);
    ASSERT_FALSE(a.ok()) << row.want;
    EXPECT_NE(a.error().message.find(row.want), std::string::npos) << a.error().message;
  }
}

}  // namespace
}  // namespace kcm::devcluster::main
