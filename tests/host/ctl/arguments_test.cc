// SPDX-License-Identifier: Apache-2.0
// The command line of kcmctl.
#include "host/ctl/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kcm::host::ctl {
namespace {

using testing::HasSubstr;

TEST(CtlArguments, CommandsAndOperands) {
  const struct {
    std::vector<std::string> args;
    Command command;
    const char* operand;
  } rows[] = {
      {{"plugins", "list"}, Command::kList, ""},
      {{"plugins", "inspect", "x.so"}, Command::kInspect, "x.so"},
      {{"plugins", "swap", "x.so"}, Command::kSwap, "x.so"},
      {{"--server", "https://h:1", "plugins", "rollback", "pod"}, Command::kRollback, "pod"},
      {{"plugins", "rescan"}, Command::kRescan, ""},
      {{"queues"}, Command::kQueues, ""},
      {{"queues", "replicaset-controller"}, Command::kQueues, "replicaset-controller"},
      {{"why", "default/web"}, Command::kWhy, "default/web"},
      {{"plugins", "swap", "--help"}, Command::kHelp, ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(testing::PrintToString(row.args));
    const Result<Arguments> a = ParseArguments(row.args);
    ASSERT_TRUE(a.ok()) << a.error().message;
    EXPECT_EQ(a->command, row.command);
    EXPECT_EQ(a->operand, row.operand);
  }
}

TEST(CtlArguments, FlagsGoAnywhereInBothForms) {
  const Result<Arguments> a = ParseArguments({"--ca=ca.crt", "queues", "--keys", "25", "-o", "json",
                                              "--timeout=90s", "--kubeconfig", "admin.conf"});
  ASSERT_TRUE(a.ok()) << a.error().message;
  EXPECT_EQ(a->access.ca, "ca.crt");
  EXPECT_EQ(a->access.kubeconfig, "admin.conf");
  EXPECT_EQ(a->access.server, "https://127.0.0.1:10257");
  EXPECT_EQ(a->access.timeout, std::chrono::seconds(90));
  EXPECT_EQ(a->keys, 25);
  EXPECT_EQ(a->output, Output::kJson);
}

TEST(CtlArguments, MistakesNameTheArgumentAndTheFix) {
  const struct {
    std::vector<std::string> args;
    const char* says;
  } rows[] = {
      {{}, "no command: plugins, queues or why"},
      {{"plugin"}, "unknown command plugin"},
      {{"plugins"}, "plugins needs one of list, inspect, swap, rollback, rescan"},
      {{"plugins", "remove"}, "plugins needs one of"},
      {{"plugins", "swap"}, "plugins swap needs FILE"},
      {{"plugins", "list", "pod"}, "plugins list: unexpected argument pod"},
      {{"why"}, "why needs NAMESPACE/NAME"},
      {{"queues", "--keys=-1"}, "--keys: \"-1\" is not a number from 0 to 10000"},
      {{"queues", "--keys=9x"}, "is not a number"},
      {{"queues", "--colour"}, "unknown flag --colour"},
      {{"queues", "--ca"}, "--ca needs a value"},
      {{"queues", "--ca="}, "--ca is empty"},
      {{"queues", "-o", "yaml"}, "--output: \"yaml\" is neither table nor json"},
      {{"queues", "--timeout=0s"}, "--timeout: \"0s\" is not a positive duration"},
      {{"queues", "--client-cert=c.crt"}, "--client-cert and --client-key go together"},
      {{"queues", "--server=http://127.0.0.1:10257"}, "is not an https:// address"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(testing::PrintToString(row.args));
    const Result<Arguments> a = ParseArguments(row.args);
    ASSERT_FALSE(a.ok());
    EXPECT_EQ(a.code(), Code::kInvalid);
    EXPECT_THAT(a.error().message, HasSubstr(row.says));
  }
}

}  // namespace
}  // namespace kcm::host::ctl
