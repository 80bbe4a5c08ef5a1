// SPDX-License-Identifier: Apache-2.0
// What the command line alone decides: help, versions, and mistakes that end the process before it
// talks to anybody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <regex>
#include <sstream>

#include "harness/temporary_dir.h"
#include "process/process.h"

namespace kcm::process {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

struct Ended {
  int code = -1;
  std::string out;
  std::string err;  // without the backslashes that the log puts before quotes inside of values
};

std::string Plain(std::string text) {
  std::erase(text, '\\');
  return text;
}

class CommandLine : public ::testing::Test {
 protected:
  Ended RunHost(std::vector<std::string> flags, std::chrono::milliseconds limit = 30s) {
    flags.insert(flags.begin(), HostBinary());
    Process host(std::move(flags), dir.path(), "host");
    const std::optional<int> code = host.Wait(limit);
    EXPECT_TRUE(code.has_value()) << "still runs: " << host.err();
    return {code.value_or(-1), host.out(), Plain(host.err())};
  }
  std::string PluginDir(const std::string& name = "plugins") {
    return MakePluginDir(dir.path() + "/" + name);
  }
  harness::TemporaryDir dir;
};

TEST_F(CommandLine, StateDirectoryThatCanNotKeepRecordsEndsTheStart) {
  const std::string absent = dir.path() + "/absent/state";
  const Ended end = RunHost({"--plugin-state-dir=" + absent});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, HasSubstr("--plugin-state-dir " + absent + ": No such file or directory"));
  const std::string made = dir.path() + "/state";
  const Ended unknown = RunHost({"--plugin-state-dir", made, "--no-such-flag"});
  EXPECT_THAT(unknown.err, HasSubstr("unknown flag: --no-such-flag"));
  EXPECT_TRUE(fs::is_directory(made));
}

TEST_F(CommandLine, HelpAndVersionEndWellWhateverIsBrokenOnDisk) {
  const std::string state = dir.path() + "/state", plugins = "--plugin-dir=" + PluginDir();
  for (const std::string ask : {"--help", "-h", "--version", "--version=raw"}) {
    SCOPED_TRACE(ask);
    EXPECT_EQ(RunHost({plugins, "--plugin-state-dir", state, ask}).code, 0);
    EXPECT_FALSE(fs::exists(state)) << "made only to answer";
    const Ended broken = RunHost({plugins, "--plugin-state-dir=" + dir.path() + "/absent/state",
                                  "--plugin-trust-key=" + dir.path(), ask});
    EXPECT_EQ(broken.code, 0) << broken.err;
    EXPECT_NE(broken.out, "");
  }
  // The answer is about the flags of plugins as well; an override of the version is a start.
  EXPECT_THAT(
      RunHost({plugins, "--plugin-state-dir=" + dir.path() + "/absent/state", "--help"}).out,
      HasSubstr("--concurrent-replicaset-syncs"));
  EXPECT_EQ(
      RunHost({"--plugin-state-dir=" + dir.path() + "/absent/state", "--version=v1.36.2-x"}).code,
      1);
}

TEST_F(CommandLine, HOST_01_UnknownFlagEndsBeforeAnyPortIsBound) {
  // The port is ours: to bind it would fail, and be what the error is about.
  const Listener port;
  const Ended end =
      RunHost({"--secure-port=" + std::to_string(port.port()), "--no-such-flag=1"}, 2s);
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, AllOf(HasSubstr("unknown flag: --no-such-flag"),
                             Not(HasSubstr("failed to create listener"))));
}

TEST_F(CommandLine, HOST_02_HelpAndVersionTalkToNobody) {
  const Listener server;
  const std::string master = "--master=http://127.0.0.1:" + std::to_string(server.port());
  const Ended version = RunHost({"--version", master});
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(std::regex_search(version.out, std::regex("^Kubernetes v[0-9]"))) << version.out;

  const Ended help = RunHost({"--help", master, "--plugin-dir=" + PluginDir()});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("--concurrent-deployment-syncs"));
  EXPECT_THAT(help.out, HasSubstr("Disabled-by-default controllers: bootstrap-signer-controller, "
                                  "selinux-warning-controller, "
                                  "token-cleaner-controller"));
  EXPECT_FALSE(server.Connected());
}

TEST_F(CommandLine, HOST_05_UnknownControllersAreNamed) {
  const Ended end = RunHost({"--controllers=*,foo,-bar", "--plugin-dir=" + PluginDir()});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, AllOf(HasSubstr("\"foo\" is not in the list of known controllers"),
                             HasSubstr("\"bar\" is not in the list of known controllers")));
}

TEST_F(CommandLine, HOST_06_AllMistakesComeInOneMessage) {
  const Ended end = RunHost(
      {"--concurrent-job-syncs=0", "--max-endpoints-per-slice=1001", "--cloud-provider=gce"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, ContainsRegex("\\[.*, .*, .*\\]"));
  std::istringstream lines(end.err);
  int with_all = 0;
  for (std::string line; std::getline(lines, line);)
    with_all +=
        line.find("concurrent-job-syncs must be greater than 0, but got 0") != std::string::npos &&
        line.find("max-endpoints-per-slice") != std::string::npos &&
        line.find(
            "cloud provider \"gce\" was specified, but built-in cloud providers are disabled") !=
            std::string::npos;
  EXPECT_EQ(with_all, 1) << end.err;
}

TEST_F(CommandLine, HOST_11_MissingKubeconfigIsNamed) {
  const Ended end = RunHost({"--kubeconfig=" + dir.path() + "/none", "--secure-port=0"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err,
              AllOf(HasSubstr(dir.path() + "/none"), HasSubstr("no such file or directory")));
}

// Nobody waits for a writer to a FIFO or reads a device without end.
TEST_F(CommandLine, FileFlagsTakeRegularFilesOnly) {
  const std::string fifo = dir.path() + "/fifo", no_file = ": name a regular file";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string conf =
      "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
      "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
      "clusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\"CA}}]\n"
      "users: [{name: u, user: {tokenFile: \"TOKEN\"}}]\n";
  const auto kubeconfig = [&](const std::string& name, const std::string& ca,
                              const std::string& token) {
    std::string text = conf;
    text.replace(text.find("CA"), 2, ca.empty() ? "" : ", certificate-authority: \"" + ca + "\"");
    text.replace(text.find("TOKEN"), 5, token);
    return dir.Write(name, text);
  };
  const std::string token = dir.Write("token", "t"), empty = dir.Write("empty", "");
  const std::string fifo_ca = kubeconfig("ca.conf", fifo, token);
  const std::string fifo_token = kubeconfig("token.conf", "", fifo);
  const struct {
    std::vector<std::string> flags;
    std::vector<std::string> want;
  } rows[] = {
      {{"--kubeconfig=" + dir.path()},
       {"--kubeconfig: open " + dir.path(), "a directory", no_file}},
      {{"--kubeconfig=" + fifo}, {"--kubeconfig: open " + fifo, "a FIFO", no_file}},
      {{"--kubeconfig=/dev/zero"}, {"--kubeconfig: open /dev/zero", "a device", no_file}},
      {{"--kubeconfig=" + empty}, {empty + " has no clusters: correct " + empty}},
      {{"--kubeconfig=" + fifo_ca},
       {"certificate-authority " + fifo, no_file, "correct " + fifo_ca}},
      {{"--kubeconfig=" + fifo_token}, {"tokenFile " + fifo, no_file, "correct " + fifo_token}},
      {{"--client-ca-file=" + fifo, "--tls-cert-file=" + fifo, "--root-ca-file=" + dir.path(),
        "--cluster-signing-key-file=/dev/null", "--plugin-trust-key=" + fifo},
       {"--client-ca-file: open " + fifo, "--tls-cert-file: open " + fifo,
        "--root-ca-file: open " + dir.path(), "--cluster-signing-key-file: open /dev/null",
        "--plugin-trust-key: open " + fifo}},
      {{"--plugin-trust-key=" + fifo, "--plugin-dir=" + PluginDir()},
       {"--plugin-trust-key: open " + fifo, "a FIFO", no_file}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.flags[0]);
    std::vector<std::string> flags = {"--secure-port=0", "--leader-elect=false"};
    flags.insert(flags.end(), row.flags.begin(), row.flags.end());
    const Ended end = RunHost(flags);
    EXPECT_EQ(end.code, 1);
    for (const std::string& text : row.want) EXPECT_THAT(end.err, HasSubstr(text));
  }
}

TEST_F(CommandLine, WorkersWithoutBoundAreRefused) {
  const Ended end =
      RunHost({"--master=http://127.0.0.1:1", "--secure-port=0", "--leader-elect=false",
               "--concurrent-rc-syncs=2147483647", "--plugin-dir=" + PluginDir()});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, HasSubstr("--concurrent-rc-syncs must not be more than 1000, but got "
                                 "2147483647: every worker is a thread of this process, give 1 to "
                                 "1000"));
}

TEST_F(CommandLine, MalformedKubeconfigIsNamedWithTheFix) {
  const std::string head = "apiVersion: v1\nkind: Config\n";
  const struct {
    const char* name;
    std::string text;
    const char* reason;
  } rows[] = {
      {"not YAML", "clusters: [{\n", "not valid YAML"},
      {"no mapping", "- a\n- b\n", "must be a mapping"},
      {"another shape", head + "clusters: 7\n", "clusters: must be a list"},
      {"bytes", std::string("\x00\xff\xfe", 3), "error loading config file"},
      {"bad base64",
       head + "current-context: c\ncontexts: [{name: c, context: {cluster: c}}]\n"
              "clusters: [{name: c, cluster: {server: \"https://h\", "
              "certificate-authority-data: \"*\"}}]\n",
       "certificate-authority-data: must be base64"},
      {"an unknown context", head + "current-context: nope\nclusters: [{name: c, cluster: {}}]\n",
       "specified context: nope"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string file = dir.Write("broken.conf", row.text);
    const Ended end = RunHost({"--kubeconfig=" + file, "--secure-port=0", "--leader-elect=false"});
    EXPECT_EQ(end.code, 1);
    EXPECT_THAT(end.err,
                AllOf(HasSubstr("command failed"), HasSubstr(file), HasSubstr(row.reason),
                      ::testing::AnyOf(HasSubstr("correct " + file),
                                       HasSubstr("a kubeconfig is YAML or JSON of kind Config"))));
  }
}

TEST_F(CommandLine, FlagsAreDumpedAtLevelOne) {
  const std::string none = dir.path() + "/none";
  const Ended end = RunHost({"--kubeconfig=" + none, "-v=1"});
  EXPECT_EQ(end.code, 1);
  // As klog writes plain text: a header, then the line itself.
  const std::regex want(
      "(^|\n)I[0-9]{4} [0-9:.]+ +[0-9]+ [a-z_]+\\.cc:[0-9]+\\] "
      "FLAG: --leader-elect-lease-duration=\"15s\"\n");
  EXPECT_TRUE(std::regex_search(end.err, want)) << end.err;
  EXPECT_THAT(end.err, HasSubstr("] FLAG: --kubeconfig=\"" + none + "\"\n"));
  EXPECT_THAT(end.err, HasSubstr("] FLAG: --controllers=\"[*]\"\n"));
  EXPECT_THAT(RunHost({"--kubeconfig=" + none}).err, Not(HasSubstr("FLAG:")));
}

TEST_F(CommandLine, PluginDirectoryThatIsNotThereEndsTheStart) {
  const Ended end = RunHost(
      {"--master=http://127.0.0.1:1", "--secure-port=0", "--plugin-dir=" + dir.path() + "/none"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, HasSubstr(dir.path() + "/none"));
}

TEST_F(CommandLine, PluginDirectoryThatOthersMayWriteEndsTheStart) {
  const std::string open = PluginDir("open");
  ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
  const Ended end =
      RunHost({"--master=http://127.0.0.1:1", "--secure-port=0", "--plugin-dir=" + open});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, AllOf(HasSubstr(open), HasSubstr("writ")));
}

TEST_F(CommandLine, LeaseTimingsThatCanNotWorkEndTheStart) {
  const Ended end = RunHost(
      {"--master=http://127.0.0.1:1", "--secure-port=0", "--leader-elect-lease-duration=5s"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, HasSubstr("leaseDuration must be greater than renewDeadline"));
}

}  // namespace
}  // namespace kcm::process
