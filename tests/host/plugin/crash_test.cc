// SPDX-License-Identifier: Apache-2.0
// Crash attribution: the last line names plugin, build, controller and key; a record is left;
// records are counted per build.
#include "host/plugin/crash.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "harness/temporary_dir.h"
#include "host/plugin/entry.h"
#include "host/plugin/probes.h"

namespace kcm::host::plugin {
namespace {

TEST(CrashDeathTest, SignalInsideAPluginIsAttributed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  harness::TemporaryDir dir;
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
  harness::TemporaryDir dir;
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

TEST(CrashDir, ThatCanNotKeepRecordsIsRefusedWithTheFix) {
  const harness::TemporaryDir tmp;
  const auto refusal = [](const std::string& dir) {
    const Status s = PrepareCrashDir(dir);
    return s.ok() ? "" : s.error().message;
  };
  const std::string made = tmp / "state";
  EXPECT_EQ(refusal(made), "");
  EXPECT_EQ(std::filesystem::status(made).permissions(), std::filesystem::perms::owner_all);
  EXPECT_EQ(refusal(made), "") << "at the second start";
  EXPECT_EQ(refusal(made + "/"), "");
  std::filesystem::create_directory_symlink(made, tmp / "link");
  EXPECT_EQ(refusal(tmp / "link"), "");
  const std::string deep = tmp / "absent/state";
  EXPECT_EQ(refusal(deep), "--plugin-state-dir " + deep +
                               ": No such file or directory: create it or name another directory");
  EXPECT_FALSE(std::filesystem::exists(tmp / "absent"));
  const std::string file = tmp / "file";
  test::WriteAll(file, "");
  EXPECT_EQ(refusal(file), "--plugin-state-dir " + file + ": not a directory: name a directory");
  EXPECT_EQ(refusal(file + "/state"),
            "--plugin-state-dir " + file +
                "/state: Not a directory: create it or name another directory");
  const std::string longer = tmp / std::string(600, 'x');
  EXPECT_EQ(refusal(longer),
            "--plugin-state-dir " + longer + ": longer than 511 characters: name a shorter path");
  // Not writable, for root as well.
  EXPECT_NE(refusal("/proc/self")
                .find(": crash records need a directory that the host may read "
                      "and write"),
            std::string::npos)
      << refusal("/proc/self");
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

volatile bool g_go_on = true;

__attribute__((noinline)) int UseUpTheStack(const volatile char* outer) {
  volatile char room[4096];
  for (volatile char& c : room) c = outer[0];
  return g_go_on ? UseUpTheStack(room) + room[17] : room[0];
}

TEST(CrashDeathTest, StackOverflowOfAnyThreadInsideAPluginIsAttributed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  harness::TemporaryDir dir;
  const std::string records = dir.path();
  EXPECT_EXIT(
      {
        InstallCrashHandler();
        SetCrashDir(records);
        std::thread([] {
          const Entry entry("pod", "abcdef0123456789", "replicaset-controller", Role::kWorker,
                            "default/web");
          volatile char x = 'x';
          ::_exit(UseUpTheStack(&x));
        }).join();
      },
      testing::KilledBySignal(SIGSEGV),
      "F fatal signal 11 in plugin=\"pod\" build=\"abcdef0123456789\" "
      "controller=\"replicaset-controller\" key=\"default/web\"");
}

// The stack belongs to the thread: a thousand threads that enter leave nothing mapped.
TEST(PluginEntry, AlternateStacksGoWithTheirThreads) {
  const auto mappings = [] { return test::MappingsOf(""); };
  const auto enter = [] {
    const Entry entry("pod", "b1", "c1", Role::kWorker);
    stack_t present{};
    ASSERT_EQ(::sigaltstack(nullptr, &present), 0);
    EXPECT_EQ(present.ss_flags & SS_DISABLE, 0);
    EXPECT_GE(present.ss_size, 16u << 10);
  };
  std::thread(enter).join();
  const int before = mappings();
  for (int i = 0; i < 1000; ++i) std::thread(enter).join();
  // Stacks left behind would be a thousand; some are the allocator's or a sanitizer's.
  EXPECT_LE(mappings(), before + 200);
}

TEST(Quarantine, BuildWithTooManyRecordsIsNotAdmitted) {
  harness::TemporaryDir dir;
  const std::string digest = "abcdef0123456789ffff";
  EXPECT_TRUE(Admit(dir.path(), 2, "/p/x.so", digest).ok());
  test::WriteAll(dir / "crash-abcdef0123456789-1-1.txt", "");
  EXPECT_TRUE(Admit(dir.path(), 2, "/p/x.so", digest).ok());
  test::WriteAll(dir / "crash-abcdef0123456789-2-1.txt", "");
  const Status s = Admit(dir.path(), 2, "/p/x.so", digest);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().message,
            "/p/x.so: quarantined: this build has crashed the host 2 times: install another build, "
            "or, to try it again, remove " +
                dir.path() + "/crash-abcdef0123456789-*.txt");
  EXPECT_TRUE(Admit(dir.path(), 0, "/p/x.so", digest).ok());
  EXPECT_TRUE(Admit("", 2, "/p/x.so", digest).ok());
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
