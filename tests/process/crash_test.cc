// SPDX-License-Identifier: Apache-2.0
// Crashes while a plugin's file is mapped: attributed to the file, remembered, and not met again by
// the next start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "build_paths.h"
#include "process/world.h"

namespace kcm::process {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class Crash : public ::testing::TestWithParam<const char*> {
 protected:
  Crash() {
    fs::create_directory(plugins_);
    fs::create_directory(state_);
    fs::copy_file(std::string(KCM_BUILD_DIR) + "/probes/" + GetParam() + ".so", file_);
    fs::permissions(file_, fs::perms::group_write | fs::perms::others_write,
                    fs::perm_options::remove);
  }
  // Runs kcm-host; exit code or 128 + signal.
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), HostBinary());
    Process host(std::move(arguments), dir_.path(), "host");
    const std::optional<int> code = host.Wait(60s);
    out_ = host.out();
    err_ = host.err();
    return code.value_or(-1);
  }
  size_t Records() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(state_), fs::directory_iterator()));
  }
  harness::TemporaryDir dir_;
  std::string plugins_ = dir_.path() + "/plugins", state_ = dir_.path() + "/state";
  std::string file_ = plugins_ + "/bad.so";
  std::string out_, err_;
};

TEST_P(Crash, WhileAFileIsMappedIsAttributedAndQuarantined) {
  const std::vector<std::string> start = {"--plugin-dir=" + plugins_,
                                          "--plugin-state-dir=" + state_,
                                          "--plugin-quarantine-threshold=2"};
  for (size_t n = 1; n <= 2; ++n) {
    EXPECT_EQ(Run(start), 128 + SIGSEGV) << err_;
    EXPECT_THAT(err_, AllOf(HasSubstr("F fatal signal 11 in plugin=\"" + file_ + "\""),
                            HasSubstr("key=\"load\"")));
    EXPECT_EQ(Records(), n);
  }
  // Now it is left alone, and flags that it may have brought do not end the host.
  std::vector<std::string> help = start;
  help.insert(help.end(),
              {"--of-the-quarantined-plugin=7", "--controllers=*,-its-controller", "--help"});
  EXPECT_EQ(Run(help), 0) << err_;
  EXPECT_EQ(Records(), 2u);
  // A host without quarantined builds knows its flags.
  fs::remove(file_);
  EXPECT_EQ(Run({"--plugin-dir=" + plugins_, "--of-the-quarantined-plugin=7", "--help"}), 1);
  EXPECT_THAT(err_, HasSubstr("unknown flag: --of-the-quarantined-plugin"));
}

TEST_P(Crash, OfInspectIsAttributed) {
  EXPECT_EQ(Run({"plugins", "inspect", file_}), 128 + SIGSEGV);
  EXPECT_THAT(err_, HasSubstr("F fatal signal 11 in plugin=\"" + file_ + "\""));
}

INSTANTIATE_TEST_SUITE_P(Constructors, Crash,
                         ::testing::Values("constructor", "constructor_stack"));

// By the loader's time: "load" or "unload" says which.
class Unmapping : public Crash {};
TEST_P(Unmapping, IsAttributedAndCounted) {
  EXPECT_EQ(Run({"--plugin-dir=" + plugins_, "--plugin-state-dir=" + state_}), 128 + SIGSEGV);
  EXPECT_THAT(err_, AllOf(HasSubstr("F fatal signal 11 in plugin=\"" + file_ + "\""),
                          HasSubstr("key=\"unload\"")));
  EXPECT_EQ(Records(), 1u);
}
INSTANTIATE_TEST_SUITE_P(Destructors, Unmapping, ::testing::Values("destructor"));

// What can not be unmapped is not run at the end of the process either.
class Pinned : public Crash {};
TEST_P(Pinned, DestructorDoesNotRunWhenTheHostEnds) {
  EXPECT_EQ(Run({"--plugin-dir=" + plugins_, "--help"}), 0) << err_;
  EXPECT_EQ(Run({"plugins", "inspect", file_}), 1) << err_;
  EXPECT_THAT(err_, Not(HasSubstr("fatal signal")));
}
INSTANTIATE_TEST_SUITE_P(Destructors, Pinned, ::testing::Values("destructor_pinned"));

class PluginExit : public Crash {};
TEST_P(PluginExit, WhileAFileIsMappedIsAttributedCountedAndQuarantined) {
  const std::vector<std::string> start = {"--plugin-dir=" + plugins_,
                                          "--plugin-state-dir=" + state_,
                                          "--plugin-quarantine-threshold=1"};
  EXPECT_EQ(Run(start), 1) << "exit(0) looks like an orderly end";
  EXPECT_THAT(err_, AllOf(HasSubstr("F exit code 0 in plugin=\"" + file_ + "\""),
                          HasSubstr("key=\"load\"")));
  EXPECT_EQ(Records(), 1u);
  std::vector<std::string> help = start;
  help.push_back("--help");
  EXPECT_EQ(Run(help), 0) << err_;
}
INSTANTIATE_TEST_SUITE_P(Constructors, PluginExit, ::testing::Values("constructor_exits"));

// In calls of a running host.
class PluginCall : public ::testing::Test {
 protected:
  // Runs a host with this plugin until it ends over a ConfigMap default/culprit.
  int Run(const std::string& probe) {
    World world({});
    const std::string file = world.dir().path() + "/plugins/probe.so";
    fs::copy_file(std::string(KCM_BUILD_DIR) + "/probes/" + probe + ".so", file);
    fs::permissions(file, fs::perms::group_write | fs::perms::others_write,
                    fs::perm_options::remove);
    const std::string state = world.dir().path() + "/state";
    fs::create_directory(state);
    Process& host = world.StartHost("a", {"--leader-elect=false", "--plugin-state-dir=" + state});
    EXPECT_TRUE(world.Serves("a")) << host.err();
    EXPECT_TRUE(world.Post(
        "/api/v1/namespaces/default/configmaps",
        {{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", {{"name", "culprit"}, {"annotations", {{"kcm.test/probe", "stamp"}}}}}}));
    const std::optional<int> code = host.Wait(60s);
    err_ = host.err();
    records_ =
        static_cast<size_t>(std::distance(fs::directory_iterator(state), fs::directory_iterator()));
    return code.value_or(-1);
  }
  std::string err_;
  size_t records_ = 0;
};

TEST_F(PluginCall, ThatExitsIsAttributedAndCounted) {
  EXPECT_EQ(Run("exits"), 1) << err_;
  EXPECT_THAT(err_,
              ::testing::ContainsRegex("F exit code 0 in plugin=\"probe\" build=\"[0-9a-f]+\" "
                                       "controller=\"probe-controller\" key=\"default/culprit\""));
  EXPECT_EQ(records_, 1u);
}

TEST_F(PluginCall, OfOnEventThatCrashesNamesTheObjectWithItsNamespace) {
  EXPECT_EQ(Run("crash_event"), 128 + SIGSEGV) << err_;
  EXPECT_THAT(err_, HasSubstr("controller=\"probe-controller\" key=\"default/culprit\""));
  EXPECT_EQ(records_, 1u);
}

// A signal ends the host all the same, and the last line says why.
class Hang : public Crash {};
TEST_P(Hang, WhileAFileIsMappedDoesNotKeepTheHostFromEnding) {
  Process host({HostBinary(), "--plugin-dir=" + plugins_}, dir_.path(), "host");
  ASSERT_TRUE(Until(60s, [&] {
    std::ifstream maps("/proc/" + std::to_string(host.pid()) + "/maps");
    const std::string text((std::istreambuf_iterator<char>(maps)), {});
    return text.find("-bad.so") != std::string::npos;  // not "bad": an address may read so
  })) << "the file is not mapped";
  host.Signal(SIGTERM);
  EXPECT_EQ(host.Wait(60s), 1);
  EXPECT_THAT(host.err(), HasSubstr("something of a plugin does not return"));
}
INSTANTIATE_TEST_SUITE_P(Constructors, Hang, ::testing::Values("constructor_hangs"));

}  // namespace
}  // namespace kcm::process
