// SPDX-License-Identifier: Apache-2.0
// No end of the process leaves copies of plugins behind; what a crash leaves goes at the next
// start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>

#include "build_paths.h"
#include "process/world.h"

namespace kcm::process {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class PrivateDirectory : public ::testing::Test {
 protected:
  // What processes started from here on find as their temporary directory.
  PrivateDirectory() {
    if (const char* before = ::getenv("TMPDIR")) before_ = before;
    fs::create_directory(tmp_);
    ::setenv("TMPDIR", tmp_.c_str(), 1);
  }
  ~PrivateDirectory() override {
    if (before_.empty())
      ::unsetenv("TMPDIR");
    else
      ::setenv("TMPDIR", before_.c_str(), 1);
  }
  static void InstallProbe(const std::string& probe, const std::string& file) {
    fs::copy_file(std::string(KCM_BUILD_DIR) + "/probes/" + probe + ".so", file);
    fs::permissions(file, fs::perms::group_write | fs::perms::others_write,
                    fs::perm_options::remove);
  }
  // Of hosts, as the test's own files may be there as well.
  std::vector<std::string> Left() const {
    std::vector<std::string> left;
    for (const fs::directory_entry& entry : fs::directory_iterator(tmp_))
      if (entry.path().filename().string().starts_with("kcm-host-")) left.push_back(entry.path());
    return left;
  }
  std::optional<int> StartAndStop(World& world, const std::vector<std::string>& flags) {
    Process& host = world.StartHost("a", flags);
    EXPECT_TRUE(world.Serves("a")) << host.err();
    EXPECT_EQ(Left().size(), 1u);
    host.Signal(SIGTERM);
    return host.Wait(60s);
  }
  harness::TemporaryDir dir_;
  std::string tmp_ = dir_.path() + "/tmp", before_;
};

TEST_F(PrivateDirectory, IsGoneAfterEveryEnd) {
  World world({});
  InstallProbe("good", world.dir().path() + "/plugins/probe.so");
  EXPECT_EQ(StartAndStop(world, {"--leader-elect=false"}), 0) << world.host("a").err();
  EXPECT_THAT(Left(), ::testing::IsEmpty());
  EXPECT_EQ(StartAndStop(world, {}), 0) << world.host("a").err();
  EXPECT_THAT(Left(), ::testing::IsEmpty()) << "an end that leaves the lease";
  Process& refused = world.StartHost("a", {"--plugin-dir=" + dir_.path() + "/absent"});
  EXPECT_EQ(refused.Wait(60s), 1);
  EXPECT_THAT(refused.err(), ::testing::HasSubstr("/absent"));
  EXPECT_THAT(Left(), ::testing::IsEmpty()) << "a start that fails";
}

TEST_F(PrivateDirectory, OfACrashGoesAtTheNextStart) {
  const std::string plugins = dir_.path() + "/plugins";
  fs::create_directory(plugins);
  InstallProbe("constructor", plugins + "/bad.so");
  Process crash({HostBinary(), "--plugin-dir=" + plugins}, dir_.path(), "crash");
  EXPECT_EQ(crash.Wait(60s), 128 + SIGSEGV);
  EXPECT_EQ(Left().size(), 1u);
  fs::remove(plugins + "/bad.so");
  Process next({HostBinary(), "--plugin-dir=" + plugins, "--help"}, dir_.path(), "next");
  EXPECT_EQ(next.Wait(60s), 0);
  EXPECT_THAT(Left(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace kcm::process
