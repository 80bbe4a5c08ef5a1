// SPDX-License-Identifier: Apache-2.0
// Crash attribution: the last line names plugin, build, controller and key; a record is left;
// records are counted per build.
#include "host/plugin/crash.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "host/plugin/entry.h"
#include "host/plugin/probes.h"

namespace kcm::host::plugin {
namespace {

TEST(CrashDeathTest, SignalInsideAPluginIsAttributed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  test::TempDir dir;
  const std::string records = dir.path();
  EXPECT_EXIT(
      {
        InstallCrashHandler();
        SetCrashDir(records);
        const Entry outer("pod", "abcdef0123456789", "job-controller", Role::kControl);
        const Entry entry("pod", "abcdef0123456789", "replicaset-controller", Role::kWorker,
                          "default/web");
        ::raise(SIGSEGV);
      },
      testing::KilledBySignal(SIGSEGV),
      "F fatal signal 11 in plugin=\"pod\" build=\"abcdef0123456789\" "
      "controller=\"replicaset-controller\" key=\"default/web\"");
}

TEST(CrashDeathTest, RecordIsLeftAndOnlyThatBuildCounts) {
  GTEST_FLAG_SET(death_test_style, "fast");
  test::TempDir dir;
  EXPECT_EXIT(
      {
        InstallCrashHandler();
        SetCrashDir(dir.path());
        const Entry entry("pod", "abcdef0123456789", "replicaset-controller", Role::kWorker,
                          "default/web");
        ::raise(SIGABRT);
      },
      testing::KilledBySignal(SIGABRT), "fatal signal 6");
  EXPECT_EQ(CrashCount(dir.path(), "abcdef0123456789"), 1);
  EXPECT_EQ(CrashCount(dir.path(), "another"), 0);
  EXPECT_EQ(CrashCount(dir / "absent", "abcdef0123456789"), 0);
}

TEST(CrashDeathTest, SignalOutsidePluginsBlamesNobody) {
  GTEST_FLAG_SET(death_test_style, "fast");
  EXPECT_EXIT(
      {
        InstallCrashHandler();
        ::raise(SIGBUS);
      },
      testing::KilledBySignal(SIGBUS), "F fatal signal 7 in the host");
}

TEST(PluginEntry, FramesNestAndCutLongTexts) {
  EXPECT_EQ(CurrentFrame(), nullptr);
  {
    const Entry outer("pod", "b1", "c1", Role::kEvent);
    {
      const Entry inner("pod", "b1", "c2", Role::kWorker, std::string(1000, 'k'));
      EXPECT_EQ(std::string(CurrentFrame()->key), std::string(255, 'k'));
      EXPECT_EQ(std::string(CurrentFrame()->outer->controller), "c1");
    }
    EXPECT_EQ(std::string(CurrentFrame()->controller), "c1");
  }
  EXPECT_EQ(CurrentFrame(), nullptr);
}

}  // namespace
}  // namespace kcm::host::plugin
