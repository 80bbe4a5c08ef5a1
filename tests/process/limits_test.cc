// SPDX-License-Identifier: Apache-2.0
// Limits that the system sets to a process: the host names them, with the fix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "process/process.h"
#include "process/world.h"

namespace kcm::process {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr char kNoThread[] = "raise the limit of processes (ulimit -u";

// A host below a shell that sets limits first.
std::vector<std::string> Limited(const std::string& limits, const std::vector<std::string>& flags) {
  std::vector<std::string> command{"/bin/sh", "-c", limits + " && exec \"$0\" \"$@\"",
                                   HostBinary()};
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

// The line of /proc/PID/`file` that begins with `title`.
std::string ProcLine(pid_t pid, const std::string& file, const std::string& title) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/" + file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(title)) return line.substr(title.size());
  return "";
}

TEST(Limits, TooFewOpenFilesEndTheStartAtOnceWithTheFix) {
  const harness::TemporaryDir dir;
  Process host(Limited("ulimit -n 16", {"--master=https://127.0.0.1:1", "--secure-port=0"}),
               dir.path(), "host");
  EXPECT_EQ(host.Wait(10s), 1) << host.err();
  EXPECT_THAT(host.err(), AllOf(HasSubstr("command failed"),
                                HasSubstr("only 16 files may be open, a host needs 128 at least: "
                                          "raise the limit (ulimit -n 1024")));
}

TEST(Limits, SoftLimitOfOpenFilesIsRaisedToTheHardOne) {
  const harness::TemporaryDir dir;
  const std::string plugins = MakePluginDir(dir.path() + "/plugins");
  Process host(
      Limited("ulimit -Sn 100 && ulimit -Hn 400",
              {"--master=https://127.0.0.1:1", "--secure-port=0", "--plugin-dir=" + plugins}),
      dir.path(), "host");
  const auto raised = [&] {
    std::istringstream words(ProcLine(host.pid(), "limits", "Max open files"));
    int soft = 0, hard = 0;
    words >> soft >> hard;
    return soft == 400 && hard == 400;
  };
  EXPECT_TRUE(Until(10s, raised)) << ProcLine(host.pid(), "limits", "Max open files");
  // And works with it.
  EXPECT_TRUE(Until(10s, [&] {
    return host.err().find("connection refused") != std::string::npos;
  })) << host.err();
  host.Signal(SIGTERM);
  EXPECT_EQ(host.Wait(10s), 0) << host.err();
}

#ifndef KCM_SANITIZED  // its shadow memory is address space, too
TEST(Limits, ThreadsThatCanNotBeHadAtTheStartEndItWithTheFix) {
  World world({.plugins = {"pod"}});
  Process host(Limited("ulimit -v 3000000",
                       {"--kubeconfig=" + world.kubeconfig(),
                        "--plugin-dir=" + world.dir().path() + "/plugins", "--secure-port=0",
                        "--leader-elect=false", "--concurrent-replicaset-syncs=1000"}),
               world.dir().path(), "host");
  EXPECT_EQ(host.Wait(60s), 1) << host.err();
  EXPECT_THAT(host.err(),
              AllOf(HasSubstr("command failed"), HasSubstr("cannot start a thread (a worker of "),
                    HasSubstr("Resource temporarily unavailable"), HasSubstr(kNoThread)));
}
#endif

// 1 000 stacks of 8 MiB are far more than is left.
TEST(Limits, AControllerWithoutThreadsIsTriedAgainAndTheOthersWorkOn) {
  World world({.plugins = {"namespace"}});
  Process& host = world.StartHost(
      "a", {"--leader-elect=false", "--concurrent-replicaset-syncs=1000",
            "--controllers=clusterrole-aggregation-controller,replicaset-controller"});
  ASSERT_TRUE(world.Healthy("a", "clusterrole-aggregation-controller")) << host.err();
  struct rlimit limit {};
  ASSERT_EQ(::prlimit(host.pid(), RLIMIT_AS, nullptr, &limit), 0);
  std::istringstream used(ProcLine(host.pid(), "status", "VmSize:"));
  rlim_t kib = 0;
  used >> kib;
  ASSERT_GT(kib, 0u);
  struct rlimit tight = limit;
  tight.rlim_cur = (kib << 10) + (rlim_t{2} << 30);
  ASSERT_EQ(::prlimit(host.pid(), RLIMIT_AS, &tight, nullptr), 0);
  fs::copy_file(PluginFile("pod"), world.dir().path() + "/plugins/kcm-pod.so");
  ASSERT_EQ(world.Order("a", "/plugins/rescan").status, 200);
  std::string report;
  const auto shown = [&](const std::string& text) {
    return Until(60s, [&] {
      report = world.Ask("a", "/plugins").body;
      return report.find(text) != std::string::npos || !host.running();
    });
  };
  EXPECT_TRUE(shown("cannot start a thread (a worker of ")) << report;
  ASSERT_TRUE(host.running()) << host.err();
  EXPECT_THAT(report, HasSubstr(kNoThread));
  EXPECT_TRUE(world.Healthy("a", "clusterrole-aggregation-controller"));

  ASSERT_EQ(::prlimit(host.pid(), RLIMIT_AS, &limit, nullptr), 0);
  const auto active = [&] {
    const test::Reply reply = world.Ask("a", "/plugins");
    report = std::to_string(reply.status) + " " + reply.body;
    if (reply.status != 200) return false;  // it is asked again
    const Json parsed = Json::parse(reply.body);
    for (const Json& p : parsed["plugins"]) {
      const Json controllers = p.value("controllers", Json::array());  // none while it is prepared
      for (const Json& c : controllers)
        if (c["name"] == "replicaset-controller" && c["active"] == true) return true;
    }
    return false;
  };
  EXPECT_TRUE(Until(60s, active)) << report << host.err();
  host.Signal(SIGTERM);
  EXPECT_EQ(host.Wait(60s), 0) << host.err();
}

}  // namespace
}  // namespace kcm::process
