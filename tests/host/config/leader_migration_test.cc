// SPDX-License-Identifier: Apache-2.0
// The leader migration file (spec/host.md 4.8).
#include "host/config/leader_migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/temporary_dir.h"

namespace kcm::host::config {
namespace {

using testing::HasSubstr;

class LeaderMigrationFile : public testing::Test {
 protected:
  std::string Error(const std::string& text) {
    const auto read = ReadLeaderMigration(Write(text));
    return read.ok() ? "" : read.error().message;
  }
  std::string Write(const std::string& text) { return dir_.Write("m.yaml", text); }
  harness::TemporaryDir dir_;
  const std::string v1_ =
      "kind: LeaderMigrationConfiguration\napiVersion: controllermanager.config.k8s.io/v1\n";
  const std::string beta_ =
      "kind: LeaderMigrationConfiguration\napiVersion: controllermanager.config.k8s.io/v1beta1\n";
};

TEST_F(LeaderMigrationFile, SaysWhereControllersRun) {
  const auto m = ReadLeaderMigration(
      Write(v1_ + "leaderName: moving\ncontrollerLeaders:\n"
                  "- {name: service-lb-controller, component: '*'}\n"
                  "- {name: node-ipam-controller, component: kube-controller-manager}\n"
                  "- {name: ttl-controller, component: cloud-controller-manager}\n"));
  ASSERT_TRUE(m.ok()) << m.error().message;
  EXPECT_EQ(m->leader_name, "moving");
  EXPECT_EQ(WhereRuns(*m, "service-lb-controller"), MigratedTo::kMigrationLock);
  EXPECT_EQ(WhereRuns(*m, "node-ipam-controller"), MigratedTo::kMigrationLock);
  EXPECT_EQ(WhereRuns(*m, "ttl-controller"), MigratedTo::kElsewhere);
  EXPECT_EQ(WhereRuns(*m, "job-controller"), MigratedTo::kMainLock);
}

TEST_F(LeaderMigrationFile, DefaultWithoutFile) {
  const auto m = ReadLeaderMigration("");
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->leader_name, "cloud-provider-extraction-migration");
  EXPECT_EQ(WhereRuns(*m, "cloud-node-lifecycle-controller"), MigratedTo::kMigrationLock);
  EXPECT_EQ(WhereRuns(*m, "service-lb-controller"), MigratedTo::kMainLock)
      << "the built-in names are stale";
}

TEST_F(LeaderMigrationFile, IsDecodedStrictly) {
  EXPECT_EQ(Error(v1_ + "controllerLeaders: [{}]\n"),
            "failed to parse leader migration configuration: [leaderName: Required value: "
            "leaderName must be set for "
            "LeaderMigrationConfiguration controllerLeaders[0].component: Required value "
            "controllerLeaders[0].name: Required "
            "value]");
  EXPECT_THAT(Error(v1_ + "leaderName: a\nresourceLock: leases\n"),
              HasSubstr("strict decoding error: unknown field \"resourceLock\""));
  EXPECT_THAT(Error(v1_ + "leaderName: a\nleaderName: b\n"),
              HasSubstr("duplicate field \"leaderName\""));
  EXPECT_EQ(Error(beta_ + "leaderName: a\nresourceLock: leases\n"), "");
  EXPECT_THAT(Error(beta_ + "leaderName: a\n"), HasSubstr("resourceLock"));
  EXPECT_THAT(Error("kind: X\napiVersion: v1\n"),
              HasSubstr("no kind \"X\" is registered for version \"v1\""));
  EXPECT_THAT(Error("{ unclosed"), HasSubstr("unable to read leader migration configuration from"));
  EXPECT_THAT(Error("[1, 2]"), HasSubstr("unable to read leader migration configuration from"));
  EXPECT_EQ(ReadLeaderMigration("/no/file").error().message,
            "unable to read leader migration configuration from \"/no/file\": open /no/file: no "
            "such file or directory");
}

}  // namespace
}  // namespace kcm::host::config
