// SPDX-License-Identifier: Apache-2.0
// Builds that do not return from a call, in a real host on real time: only what is wanted of their
// plugin waits, for a while; the others are swapped, rolled back, loaded and listed meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "build_paths.h"
#include "process/world.h"

namespace kcm::process {
namespace {

using namespace std::chrono_literals;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr auto kLimit = 60s;  // real time, on a machine that is busy with other builds

class HangingPlugin : public ::testing::Test {
 protected:
  HangingPlugin() : world_({}), release_(world_.dir().path() + "/release") {
    ::setenv("KCM_TEST_RELEASE", release_.c_str(), 1);
    Install("other");
  }
  ~HangingPlugin() override { ::unsetenv("KCM_TEST_RELEASE"); }

  static std::string Probe(const std::string& name) {
    return std::string(KCM_BUILD_DIR) + "/probes/" + name + ".so";
  }
  // Into the plugin directory; all builds of "probe" have one name there.
  void Install(const std::string& probe, const std::string& as = "") {
    const std::string to = world_.dir().path() + "/plugins/" + (as.empty() ? probe : as) + ".so";
    fs::copy_file(Probe(probe), to);
    fs::permissions(to, fs::perms::group_write | fs::perms::others_write, fs::perm_options::remove);
  }
  void Start(const std::string& swap_timeout, const std::vector<std::string>& more = {}) {
    std::vector<std::string> flags{"--leader-elect=false", "--plugin-swap-timeout=" + swap_timeout,
                                   "--plugin-state-dir=" + world_.dir().path() + "/state"};
    flags.insert(flags.end(), more.begin(), more.end());
    fs::create_directory(world_.dir().path() + "/state");
    (void)world_.StartHost("a", flags);
    ASSERT_TRUE(Until(kLimit, [&] {
      const Json p = Plugin("probe");
      return p.is_object() && p.contains("controllers") && p["controllers"][0]["active"] == true;
    })) << world_.host("a").err();
  }
  Json Report() {
    const test::Reply reply = world_.Ask("a", "/plugins");
    Json report = Json::parse(reply.body, nullptr, false);
    return report.is_object() && report.contains("plugins") ? report
                                                            : Json{{"plugins", Json::array()}};
  }
  Json Plugin(const std::string& name) {
    const Json report = Report();
    for (const Json& p : report["plugins"])
      if (p["name"] == name) return p;
    return {};
  }
  Json Hung() { return Report().value("hung", Json::array()); }
  test::Reply Swap(const std::string& probe) {
    return world_.Order("a", "/plugins/swap", {{"file", Probe(probe)}});
  }
  std::string Metric(const std::string& series) {
    const std::string text = "\n" + world_.Ask("a", "/metrics").body;
    const size_t at = text.find("\n" + series + " ");
    if (at == text.npos) return "";
    const size_t begin = at + series.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  bool Mapped(const std::string& file) {
    std::ifstream maps("/proc/" + std::to_string(world_.host("a").pid()) + "/maps");
    const std::string text((std::istreambuf_iterator<char>(maps)), {});
    return text.find("-" + file + ".so") != std::string::npos;
  }
  // A ConfigMap for the probes is stamped by this build.
  void ExpectStamped(const std::string& name, const std::string& build) {
    const std::string path = "/api/v1/namespaces/default/configmaps";
    ASSERT_TRUE(world_.Post(
        path, {{"apiVersion", "v1"},
               {"kind", "ConfigMap"},
               {"metadata", {{"name", name}, {"annotations", {{"kcm.test/probe", "stamp"}}}}}}));
    std::string stamp;
    EXPECT_TRUE(Until(kLimit,
                      [&] {
                        const std::optional<Json> map = world_.Get(path + "/" + name);
                        stamp = map ? (*map)["metadata"]["annotations"].value("kcm.test/build", "")
                                    : "";
                        return !stamp.empty();
                      }))
        << "nobody works on " << name;
    EXPECT_EQ(stamp, build);
  }
  void Release() { std::ofstream(release_) << "go on"; }
  // What hung has returned: nothing of it is left.
  void ExpectNothingLeft(const std::string& file) {
    Release();
    EXPECT_TRUE(Until(kLimit, [&] { return Hung().empty() && !Mapped(file); })) << Report().dump(2);
    EXPECT_EQ(Metric("kcm_plugin_images_kept"), "0");
    EXPECT_TRUE(
        Until(kLimit, [&] { return Metric("kcm_plugin_calls_hung{plugin=\"probe\"}") == "0"; }));
    EXPECT_THAT(world_.host("a").err(), HasSubstr("Plugin has returned after all"));
  }

  World world_;
  std::string release_;
};

TEST_F(HangingPlugin, InCreateHoldsUpNoOtherPluginAndIsRefused) {
  Install("good", "probe");
  Start("15s");
  test::Reply first;
  std::thread order([&] { first = Swap("hang_create"); });
  const std::string build = "probe-controller \\(build [0-9a-f]+\\)";
  EXPECT_TRUE(Until(kLimit, [&] {
    return Plugin("probe").value("underWay", "").find(" in create() since ") != std::string::npos;
  })) << Report().dump(2);
  // The old build works on.
  ExpectStamped("meanwhile", "a");
  // Another order for the same plugin is told what is under way.
  for (const test::Reply& second : {Swap("good_b"), world_.Order("a", "/plugins/probe/rollback")}) {
    EXPECT_EQ(second.status, 409) << second.body;
    EXPECT_THAT(second.body,
                ContainsRegex("a swap of plugin probe has been waiting for " + build +
                              " in create\\(\\) since 20[-0-9T:]+Z, [0-9.]+ s: try again when"));
  }
  // Others are swapped, rolled back, loaded and listed.
  EXPECT_EQ(Swap("other_b").status, 200);
  EXPECT_EQ(Plugin("other")["buildId"], "b");
  EXPECT_EQ(world_.Order("a", "/plugins/other/rollback").status, 200);
  EXPECT_EQ(Plugin("other")["buildId"], "a");
  Install("third");
  EXPECT_EQ(world_.Order("a", "/plugins/rescan").status, 200);
  EXPECT_FALSE(Plugin("third").is_null());
  EXPECT_TRUE(Plugin("probe").contains("underWay")) << "the test took longer than the limit";
  order.join();
  EXPECT_EQ(first.status, 422) << first.body;
  EXPECT_THAT(first.body, HasSubstr("probe-controller: create: has not returned within 15 s: the "
                                    "plugin hangs, or --plugin-swap-timeout is too short for it"));
  EXPECT_EQ(Plugin("probe")["buildId"], "a");
  ExpectStamped("afterwards", "a");
  // Kept and counted, with its name.
  ASSERT_EQ(Hung().size(), 1u) << Report().dump(2);
  EXPECT_EQ(Hung()[0]["controller"], "probe-controller");
  EXPECT_EQ(Hung()[0]["call"], "create()");
  EXPECT_GE(Hung()[0]["seconds"], 15);
  EXPECT_TRUE(Mapped("hang_create"));
  EXPECT_EQ(Metric("kcm_plugin_images_kept"), "1");
  EXPECT_EQ(Metric("kcm_plugin_calls_hung{plugin=\"probe\"}"), "1");
  EXPECT_THAT(world_.host("a").err(),
              ContainsRegex("Plugin does not return, its thread and its mapping are "
                            "kept\" plugin=\"probe\" controller=\"probe-controller\" "
                            "build=\"[0-9a-f]+\" call=\"create\\(\\)\""));
  // The plugin can be swapped all the same, and what returns late changes nothing.
  EXPECT_EQ(Swap("good_b").status, 200);
  EXPECT_FALSE(Plugin("probe").contains("lastError"));
  ExpectNothingLeft("hang_create");
  EXPECT_EQ(Plugin("probe")["buildId"], "b");
}

TEST_F(HangingPlugin, NewFileThatHangsDoesNotKeepAnotherFromBeingLoaded) {
  Install("good", "probe");
  Start("10s", {"--plugin-watch=true"});
  fs::remove(world_.dir().path() + "/plugins/probe.so");
  Install("hang_create", "probe");
  EXPECT_TRUE(Until(kLimit, [&] { return Plugin("probe").contains("underWay"); }));
  Install("third");
  EXPECT_TRUE(Until(8s, [&] { return !Plugin("third").is_null(); }))
      << "the directory is not looked at while a build hangs";
  EXPECT_TRUE(Until(kLimit, [&] { return Plugin("probe").contains("lastError"); }));
  EXPECT_EQ(Plugin("probe")["buildId"], "a");
  // The build before, put back: nothing is wrong any more.
  fs::remove(world_.dir().path() + "/plugins/probe.so");
  Install("good", "probe");
  EXPECT_TRUE(Until(kLimit, [&] { return !Plugin("probe").contains("lastError"); }))
      << Report().dump(2);
  Release();
  EXPECT_TRUE(Until(kLimit, [&] { return Hung().empty(); }));
}

// Nobody works yet and there is no build to go on with: a restart by the operator's supervisor is
// all that is left.
TEST_F(HangingPlugin, InCreateAtTheStartEndsTheHost) {
  Install("hang_create", "probe");
  Process& host = world_.StartHost("a", {"--leader-elect=false", "--plugin-swap-timeout=3s",
                                         "--controller-shutdown-timeout=2s"});
  EXPECT_EQ(host.Wait(kLimit), 1) << host.err();
  EXPECT_THAT(host.err(),
              ContainsRegex("Plugin call does not return, it is not waited for any more\" "
                            "logger=\"probe-controller\" plugin=\"probe\" "
                            "build=\"[0-9a-f]+\" call=\"create\" seconds=3"));
  EXPECT_THAT(host.err(),
              HasSubstr("probe-controller: create: has not returned within 3 s: the plugin hangs, "
                        "or --plugin-swap-timeout is too short for it"));
}

// A create() that listens does not hold a stop up.
TEST_F(HangingPlugin, WaitInCreateAtTheStartEndsWithTheHost) {
  Install("wait_create", "probe");
  Process& host = world_.StartHost("a", {"--leader-elect=false", "--plugin-swap-timeout=10m"});
  ASSERT_TRUE(Until(kLimit, [&] { return Plugin("probe").contains("underWay"); })) << host.err();
  host.Signal(SIGTERM);
  EXPECT_EQ(host.Wait(kLimit), 0) << host.err();
}

struct Case {
  const char* name;
  const char* call;     // as it is named while it hangs
  const char* message;  // of the refusal
};

class HangingBuild : public HangingPlugin, public ::testing::WithParamInterface<Case> {};

TEST_P(HangingBuild, IsRefusedAndTheOldOneWorksOn) {
  Install("good", "probe");
  Start("3s");
  ExpectStamped("before", "a");  // its event is replayed to the new build
  const std::string probe = GetParam().name;
  const test::Reply reply = Swap(probe);
  EXPECT_EQ(reply.status, 422) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr(GetParam().message));
  EXPECT_EQ(Plugin("probe")["buildId"], "a");
  ASSERT_EQ(Hung().size(), 1u) << Report().dump(2);
  EXPECT_EQ(Hung()[0]["call"], GetParam().call);
  ExpectStamped("afterwards", "a");
  EXPECT_EQ(Swap("other_b").status, 200);
  ExpectNothingLeft(probe);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, HangingBuild,
    ::testing::Values(
        Case{"hang_start", "start()", "probe-controller: start: has not returned within 3 s"},
        Case{"hang_event", "on_event of v1/configmaps",
             "probe-controller: on_event of v1/configmaps of the new build does not return"},
        Case{"hang_health", "health()", "probe-controller: health: has not returned within 1 s"}),
    [](const auto& row) { return std::string(row.param.name); });

class HangingOldBuild : public HangingPlugin, public ::testing::WithParamInterface<Case> {};

TEST_P(HangingOldBuild, DoesNotHoldTheSwapForEver) {
  const std::string probe = GetParam().name;
  Install(probe, "probe");
  Start("3s", {"--controller-shutdown-timeout=2s"});
  const test::Reply reply = Swap("good_b");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(Plugin("probe")["buildId"], "b");
  ASSERT_EQ(Hung().size(), 1u) << Report().dump(2);
  EXPECT_EQ(Hung()[0]["call"], GetParam().call);
  EXPECT_EQ(Metric(std::string("kcm_plugin_swaps_held_total{plugin=\"probe\",controller=\"probe-"
                               "controller\",by=\"") +
                   GetParam().call + "\"}"),
            "1");
  EXPECT_THAT(world_.host("a").err(),
              HasSubstr("Replaced build does not return from a call, the new one works without "
                        "waiting for it"));
  EXPECT_EQ(Swap("other_b").status, 200);
  ExpectStamped("taken-over", "b");  // by both plugins' builds b
  EXPECT_TRUE(Mapped("probe"));
  // A stop waits for it no longer than --controller-shutdown-timeout.
  world_.host("a").Signal(SIGTERM);
  EXPECT_EQ(world_.host("a").Wait(kLimit), 1);
  EXPECT_THAT(world_.host("a").err(), HasSubstr("controller shutdown timeout reached"));
}

INSTANTIATE_TEST_SUITE_P(Calls, HangingOldBuild,
                         ::testing::Values(Case{"hang_save_state", "save_state()", ""},
                                           Case{"hang_stop", "stop()", ""},
                                           Case{"hang_destroy", "destroy()", ""}),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace kcm::process
