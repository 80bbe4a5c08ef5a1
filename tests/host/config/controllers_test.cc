// SPDX-License-Identifier: Apache-2.0
// Names, aliases and the rules of --controllers (spec/host.md 1.4, 1.6).
#include "host/config/controllers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace kcm::host::config {
namespace {

using List = std::vector<std::string>;

TEST(Controllers, FirstMatchDecides) {
  const struct {
    List list;
    const char* name;
    bool want;
  } rows[] = {
      {{"*"}, "job-controller", true},
      {{"*"}, "token-cleaner-controller", false},
      {{"*", "tokencleaner"}, "token-cleaner-controller", true},
      {{}, "job-controller", false},
      {{"-ttl"}, "job-controller", false},
      {{"-ttl", "*"}, "job-controller", true},
      {{"-ttl", "*"}, "ttl-controller", false},
      {{"*", "-job-controller", "job"}, "job-controller", false},
      {{"*", "job", "-job-controller"}, "job-controller", true},
      {{"deployment", "replicaset"}, "replicaset-controller", true},
      {{"deployment", "replicaset"}, "job-controller", false},
      {{"*", "-bootstrapsigner"}, "bootstrap-signer-controller", false},
  };
  const ControllerNames names = ControllerNames::Builtin();
  const List off = names.DisabledByDefault();
  for (const auto& row : rows) {
    SCOPED_TRACE(testing::PrintToString(row.list) + " " + row.name);
    const bool on_by_default = std::find(off.begin(), off.end(), row.name) == off.end();
    EXPECT_EQ(IsEnabled(names.Canonicalize(row.list), row.name, on_by_default), row.want);
  }
}

TEST(Controllers, TableIsCompleteAndConsistent) {
  const auto all = BuiltinControllers();
  EXPECT_EQ(all.size(), 52u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
  const ControllerNames names = ControllerNames::Builtin();
  EXPECT_THAT(names.DisabledByDefault(),
              testing::ElementsAre("bootstrap-signer-controller", "selinux-warning-controller",
                                   "token-cleaner-controller"));
  for (const ControllerInfo& info : all) {
    SCOPED_TRACE(info.name);
    EXPECT_TRUE(info.name.ends_with("-controller"));
    EXPECT_EQ(names.Canonical(info.name), std::string(info.name));
    if (!info.alias.empty()) {
      EXPECT_EQ(names.Canonical(info.alias), std::string(info.name));
    }
    EXPECT_EQ(info.client.empty(), info.kind == Kind::kCloud);
  }
  EXPECT_EQ(FindBuiltinController("garbage-collector-controller")->client,
            "generic-garbage-collector");
  EXPECT_EQ(FindBuiltinController("node-lifecycle-controller")->event_source, "node-controller");
  EXPECT_EQ(FindBuiltinController("serviceaccount-token-controller")->kind, Kind::kServiceToken);
  EXPECT_EQ(FindBuiltinController("cloud-node-controller"), nullptr);
}

TEST(Controllers, UnknownNamesAreKeptAndReported) {
  const ControllerNames names = ControllerNames::Builtin();
  EXPECT_EQ(names.Canonicalize({"*", "foo", "-bar", "-ttl"}),
            (List{"*", "foo", "-bar", "-ttl-controller"}));
  EXPECT_EQ(names.UnknownErrors({"*", "foo", "-*", "ttl", ""}),
            (List{"\"foo\" is not in the list of known controllers",
                  "\"*\" is not in the list of known controllers",
                  "\"\" is not in the list of known controllers"}));
}

TEST(Controllers, DeclaringChecksForConflicts) {
  ControllerNames names = ControllerNames::Builtin();
  EXPECT_TRUE(names.Declare("deployment-controller", {"deployment"}, true).ok());
  EXPECT_TRUE(names.Declare("acme-controller", {"acme"}, true).ok());
  EXPECT_EQ(names.Canonical("acme"), "acme-controller");
  EXPECT_EQ(names.Declare("other-controller", {"deployment"}, true).code(), Code::kAlreadyExists);
  EXPECT_EQ(names.Declare("deployment-controller", {}, false).code(), Code::kAlreadyExists);
  EXPECT_EQ(names.Declare("other-controller", {"ttl-controller"}, true).code(),
            Code::kAlreadyExists);
  EXPECT_EQ(names.Declare("-x", {}, true).code(), Code::kInvalid);
}

}  // namespace
}  // namespace kcm::host::config
