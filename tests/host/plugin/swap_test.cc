// SPDX-License-Identifier: Apache-2.0
// Hot swap of real plugins in a real host (design 9): hand-over, refusals, probation, rollback,
// fencing.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "host/plugin/plugin_cluster.h"

namespace kcm::test {
namespace {

constexpr auto kProbation = 61s;  // --plugin-probation-period is 60 s, looked at each second

TEST(PluginSwap, NewBuildTakesOverAndTheOldOneIsUnmapped) {
  PluginCluster cluster({Probe("good")});
  cluster.ExpectStampedBy("a");
  EXPECT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");
  EXPECT_EQ(cluster.Plugin("probe")["state"], "probation");
  EXPECT_EQ(cluster.Plugin("probe")["buildId"], "b");
  EXPECT_EQ(cluster.Controller("probe", "probe-controller")["generation"], 2);
  EXPECT_TRUE(cluster.Logged("State loaded by b"))
      << "save_state of the old build did not reach the new one";
  EXPECT_TRUE(cluster.Logged("state of a"));
  cluster.ExpectStampedBy("b");
  EXPECT_GT(cluster.Mapped("good.so"), 0)
      << "the old build must stay for a rollback during probation";
  cluster.Advance(kProbation);
  EXPECT_EQ(cluster.Plugin("probe")["state"], "running");
  EXPECT_EQ(cluster.Mapped("good.so"), 0);
  EXPECT_GT(cluster.Mapped("good_b.so"), 0);
  EXPECT_EQ(cluster.Metric("kcm_plugin_images_kept"), 0);
  EXPECT_EQ(cluster.Metric("kcm_plugin_swaps_total{plugin=\"probe\",result=\"success\"}"), 1);
  EXPECT_EQ(cluster.Metric(
                "kcm_plugin_info{plugin=\"probe\",version=\"1.0.0\",vendor=\"tests\",build=\"a\"}"),
            std::nullopt);
  EXPECT_EQ(cluster.Metric(
                "kcm_plugin_info{plugin=\"probe\",version=\"1.0.0\",vendor=\"tests\",build=\"b\"}"),
            1);
  cluster.ExpectStampedBy("b");
}

TEST(PluginSwap, AFileGivenByHandIsShownUntilTheDirectoryHasIt) {
  PluginCluster cluster({Probe("good")});
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");
  EXPECT_EQ(cluster.Plugin("probe")["file"], Probe("good_b"));
  EXPECT_EQ(cluster.Plugin("probe")["directoryFile"], cluster.InDir("good.so"));
  ASSERT_EQ(MessageOf(cluster.Rollback("probe")), "");
  EXPECT_EQ(cluster.Plugin("probe")["file"], cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Plugin("probe").contains("directoryFile"));
  // Tried by hand, then installed.
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");
  Install(Probe("good_b"), cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Rescan());
  EXPECT_EQ(cluster.Plugin("probe")["file"], cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Plugin("probe").contains("directoryFile"));
}

TEST(PluginSwap, KeysStayWithTheirDelays) {
  PluginCluster cluster({Probe("good")});
  cluster.CreateProbe("later", "after");
  cluster.Settle();  // stamped
  ASSERT_EQ(cluster.StampOf("later"), "a");
  cluster.Advance(1s);  // seen as stamped: due again in 30 s
  cluster.Advance(9s);
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");
  cluster.Advance(15s);
  EXPECT_EQ(cluster.StampOf("later"), "a") << "the delay was lost: the key ran early";
  cluster.Advance(10s);
  EXPECT_EQ(cluster.StampOf("later"), "b") << "the delayed key was lost";
}

// Of the key default/failing.
int Failures(PluginCluster& cluster) {
  const Json c = cluster.Controller("probe", "probe-controller");
  for (const Json& k : c["queues"][0]["keys"])
    if (k["key"] == "default/failing") return k["failures"].get<int>();
  return -1;
}

TEST(PluginSwap, FailureCountsStay) {
  PluginCluster cluster({Probe("good")});
  cluster.CreateProbe("failing", "fail");
  cluster.Advance(20s);  // 5 ms, 10 ms, ... : a dozen failures
  const int before = Failures(cluster);
  EXPECT_GT(before, 8);
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");
  EXPECT_GE(Failures(cluster), before);
  EXPECT_LE(Failures(cluster), before + 1) << "the back-off began anew";
}

TEST(PluginSwap, DelaysAreThoseThatTheNewBuildDeclares) {
  PluginCluster cluster({Probe("good")});
  cluster.CreateProbe("failing", "fail");
  cluster.Advance(2s);
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("slow_retries"))), "");
  cluster.Advance(10s);  // the delay that was running ends, the next is of the new build
  const int before = Failures(cluster);
  EXPECT_GT(before, 5);
  cluster.Advance(5min);
  EXPECT_EQ(Failures(cluster), before) << "it is tried again as the old build had it";
}

TEST(PluginSwap, RefusedBuildsLeaveTheOldOneAtWork) {
  const struct {
    const char* probe;
    const char* want;  // after the file's path where it begins with ':'
  } rows[] = {
      {"fail_create",
       "probe-controller: create: --probe-level: must not be negative: set it to 0 or more"},
      {"throw_create",
       "probe-controller: create: can not read its configuration file /etc/probe.yaml: create it"},
      {"throw_armed", "probe-controller: create: its timer waits"},
      {"fail_health", "probe-controller: health: its backend is gone"},
      {"fail_start",
       "probe-controller: start: the licence server does not answer: check --probe-licence"},
      {"other_major",
       ": built for ABI 2.0, this host speaks 1.0: rebuild the plugin or use a newer host"},
      {"no_entry",
       ": does not export kcm_plugin_entry: not a plugin (see docs/writing-a-plugin.md)"},
      {"other", ": plugin other is not loaded: put the file into a plugin directory to add it"},
  };
  PluginCluster cluster({Probe("good")});
  for (const auto& row : rows) {
    SCOPED_TRACE(row.probe);
    const std::string want = (row.want[0] == ':' ? Probe(row.probe) : "") + row.want;
    EXPECT_EQ(MessageOf(cluster.SwapFile(Probe(row.probe))), want);
    EXPECT_EQ(cluster.Plugin("probe")["buildId"], "a");
    EXPECT_EQ(cluster.Plugin("probe")["state"], "running");
    EXPECT_TRUE(cluster.Controller("probe", "probe-controller")["active"]);
    cluster.ExpectStampedBy("a");
    EXPECT_EQ(cluster.Mapped(std::string(row.probe) + ".so"), 0);
  }
  // Undefined symbols and missing libraries: texts of the loader in the middle (image_test.cc has
  // them).
  for (const char* probe : {"undefined", "missing_library"}) {
    EXPECT_EQ(
        MessageOf(cluster.SwapFile(Probe(probe))).find(Probe(probe) + ": can not be loaded: "), 0u);
    cluster.ExpectStampedBy("a");
    EXPECT_EQ(cluster.Mapped(std::string(probe) + ".so"), 0);
  }
  EXPECT_EQ(cluster.Metric("kcm_plugin_images_kept"), 0);
}

// It listens when it is asked to end: nothing of it is left, though nobody looks after it any more.
TEST(PluginSwap, BuildThatWaitsInCreateIsRefusedAskedToEndAndUnmapped) {
  PluginCluster cluster({Probe("good")}, {"--plugin-swap-timeout=30s"});
  const std::string want =
      "probe-controller: create: has not returned within 30 s: the plugin hangs, or "
      "--plugin-swap-timeout is too short for it";
  EXPECT_EQ(MessageOf(cluster.SwapFile(Probe("wait_create"))), want);
  EXPECT_EQ(cluster.Plugin("probe")["lastError"], want);
  cluster.ExpectStampedBy("a");
  cluster.Advance(5s);
  EXPECT_EQ(cluster.Mapped("wait_create.so"), 0);
  EXPECT_EQ(cluster.Metric("kcm_plugin_images_kept"), 0);
  EXPECT_EQ(cluster.Metric("kcm_plugin_calls_hung{plugin=\"probe\"}").value_or(0), 0);
}

TEST(PluginSwap, BuildWhoseRunsFailGoesBack) {
  for (const char* probe : {"fail_reconcile", "throw_reconcile", "throw_ready"}) {
    SCOPED_TRACE(probe);
    PluginCluster cluster({Probe("good")});
    ASSERT_EQ(MessageOf(cluster.SwapFile(Probe(probe))), "");
    for (int i = 0; i < 5; ++i) cluster.CreateProbe("victim-" + std::to_string(i));
    cluster.Until(
        "the old build is back", [&] { return cluster.Plugin("probe")["buildId"] == "a"; }, 10s,
        500ms);
    cluster.Advance(1s);
    const std::string why = cluster.Plugin("probe")["lastError"];
    EXPECT_EQ(why.find("probe-controller: "), 0u) << why;
    EXPECT_NE(why.find(" reconciles failed"), std::string::npos) << why;
    EXPECT_TRUE(cluster.Logged("New build fails its probation, going back to the old one"));
    // Keys that failed are still there, with their back-off, and the old build does them.
    cluster.Advance(30s);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(cluster.StampOf("victim-" + std::to_string(i)), "a") << i;
    EXPECT_EQ(cluster.Mapped(std::string(probe) + ".so"), 0);
    EXPECT_EQ(cluster.Metric("kcm_plugin_images_kept"), 0);
  }
}

TEST(PluginSwap, WaitingRunIsAskedToEnd) {
  PluginCluster cluster({Probe("good")}, {"--plugin-swap-timeout=30s"});
  cluster.CreateProbe("slow", "wait");
  cluster.Settle();
  EXPECT_EQ(cluster.StampOf("slow"), "");
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");
  EXPECT_NEAR(cluster.Plugin("probe")["lastPauseMs"].get<double>(), 20000, 3000)
      << "two thirds of the time, then the run is cancelled";
  EXPECT_EQ(cluster.StampOf("slow"), "b") << "the cancelled run's key was lost";
}

TEST(PluginSwap, RunThatDoesNotEndMakesTheSwapFail) {
  PluginCluster cluster({Probe("good")}, {"--plugin-swap-timeout=30s"});
  cluster.CreateProbe("stuck", "stuck");
  cluster.Settle();
  EXPECT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))),
            "probe-controller: a reconcile of the running build does not end: the swap is given "
            "up; see its queues");
  EXPECT_EQ(cluster.Plugin("probe")["buildId"], "a");
  cluster.ExpectStampedBy("a");  // its other worker goes on
  EXPECT_EQ(cluster.Mapped("good_b.so"), 0);
}

TEST(PluginSwap, RollbackOnRequestWhileTheOldBuildIsThere) {
  PluginCluster cluster({Probe("good")});
  EXPECT_EQ(
      MessageOf(cluster.Rollback("probe")),
      "plugin probe has no earlier build in memory: it was not swapped since the host started; "
      "install the old file");
  EXPECT_EQ(MessageOf(cluster.Rollback("absent")),
            "no plugin absent is loaded: see kcmctl plugins list");
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");
  ASSERT_EQ(MessageOf(cluster.Rollback("probe")), "");
  cluster.ExpectStampedBy("a");
  EXPECT_EQ(cluster.Mapped("good_b.so"), 0);
  EXPECT_GT(cluster.Mapped("good.so"), 0);
  EXPECT_TRUE(cluster.Logged("Plugin rolled back"));
  EXPECT_EQ(MessageOf(cluster.Rollback("probe")),
            "plugin probe: build b was already taken back (rolled back on request), build a runs; "
            "to try the other one again, swap its file in");
  // The build that came back is an ordinary one: the next swap unmaps it after probation.
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_c"))), "");
  cluster.Advance(kProbation);
  cluster.ExpectStampedBy("c");
  EXPECT_EQ(cluster.Mapped("good.so"), 0);
  EXPECT_EQ(cluster.Metric("kcm_plugin_images_kept"), 0);
  EXPECT_EQ(
      MessageOf(cluster.Rollback("probe")),
      "plugin probe has no earlier build in memory: its probation is over; install the old file");
}

// A build on probation has proven nothing: what was there before it is where a rollback leads.
TEST(PluginSwap, ARollbackLeadsToTheLastBuildThatHasProvenItself) {
  PluginCluster cluster({Probe("good")});
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");  // once more, by mistake
  EXPECT_EQ(cluster.Mapped("good_b.so"), cluster.Mapped("good.so")) << "one of each";
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("fail_reconcile"))), "");
  EXPECT_EQ(cluster.Mapped("good_b.so"), 0);
  for (int i = 0; i < 5; ++i) cluster.CreateProbe("victim-" + std::to_string(i));
  cluster.Until(
      "the proven build is back", [&] { return cluster.Plugin("probe")["buildId"] == "a"; }, 10s,
      500ms);
  cluster.Advance(30s);
  cluster.ExpectStampedBy("a");
  EXPECT_EQ(cluster.Metric("kcm_plugin_images_kept"), 0);
  // After its probation a build is such a one.
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");
  cluster.Advance(kProbation);
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_c"))), "");
  ASSERT_EQ(MessageOf(cluster.Rollback("probe")), "");
  cluster.ExpectStampedBy("b");
}

TEST(PluginSwap, TheProvenBuildNeedsNoProbationWhenItsFileComesBack) {
  PluginCluster cluster({Probe("good")});
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good"))), "");
  EXPECT_EQ(cluster.Plugin("probe")["state"], "running");
  EXPECT_EQ(cluster.Plugin("probe")["swaps"], 2);
  EXPECT_EQ(cluster.Mapped("good_b.so"), 0);
  cluster.ExpectStampedBy("a");
  EXPECT_EQ(cluster.Metric("kcm_plugin_images_kept"), 0);
}

TEST(PluginSwap, BuildsThatMayNotWriteAreFenced) {
  PluginCluster cluster({Probe("rude_a")});
  cluster.Create({{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "target"}}}});
  (void)cluster.Audit();
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("rude_b"))), "");
  cluster.ExpectStampedBy("b");
  // create of both builds and load_state come before the hand-over (fenced), stop and destroy of
  // the old one after it (stopped).
  for (const char* want : {"where=\"create\" code=1002", "where=\"load_state\" code=1002",
                           "where=\"stop\" code=1001", "where=\"destroy\" code=1001"})
    EXPECT_TRUE(cluster.Logged(want)) << want;
  for (const auto& e : cluster.Audit())
    EXPECT_EQ(e.body.find("kcm.test/rude"), std::string::npos)
        << e.method << " " << e.uri << " " << e.body;
  EXPECT_EQ(cluster.Get("configmaps", "target")["metadata"]
                .value("annotations", Json::object())
                .count("kcm.test/rude"),
            0u);
}

TEST(PluginSwap, ControllersOfOnePluginGoTogether) {
  PluginCluster cluster({Probe("good")});
  // A build with one controller more: it is added. One with a controller less: it is stopped.
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("two"))), "");
  cluster.Advance(1s);
  EXPECT_TRUE(cluster.Controller("probe", "probe-second-controller")["active"]);
  cluster.ExpectStampedBy("two");
  // A build whose second controller refuses: the first goes back, though it was exchanged already.
  EXPECT_EQ(MessageOf(cluster.SwapFile(Probe("two_fails"))),
            "probe-second-controller: create: the second controller refuses this configuration: "
            "unset --probe-second");
  EXPECT_EQ(cluster.Plugin("probe")["buildId"], "two");
  cluster.ExpectStampedBy("two");
  EXPECT_TRUE(cluster.Controller("probe", "probe-second-controller")["active"]);
  cluster.Advance(kProbation);
  EXPECT_EQ(cluster.Mapped("two_fails.so"), 0);
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");
  EXPECT_TRUE(cluster.Controller("probe", "probe-second-controller").is_null());
  cluster.ExpectStampedBy("b");
  cluster.Advance(kProbation);
  EXPECT_EQ(cluster.Mapped("two.so"), 0);
  EXPECT_EQ(cluster.Metric("kcm_plugin_images_kept"), 0);
}

// Private memory of this process in kB, open files, threads.
struct Footprint {
  size_t anonymous_kb = 0, files = 0, threads = 0;
};
Footprint Measure() {
  Footprint f;
  std::ifstream in("/proc/self/smaps_rollup");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("Anonymous:")) f.anonymous_kb = std::stoul(line.substr(10));
  const auto count = [](const char* dir) {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(dir),
                                             std::filesystem::directory_iterator()));
  };
  f.files = count("/proc/self/fd");
  f.threads = count("/proc/self/task");
  return f;
}

TEST(PluginSwap, ThousandSwapsLeaveNothing) {
  PluginCluster cluster({Probe("good")}, {"-v=0", "--plugin-probation-period=0"});
  for (int i = 0; i < 50; ++i) cluster.CreateProbe("p" + std::to_string(i));
  cluster.Settle();
  const std::string builds[] = {Probe("good_b"), Probe("good_c")};
  Footprint warm;
  for (int n = 0; n < 1000; ++n) {
    ASSERT_EQ(MessageOf(cluster.SwapFile(builds[n % 2])), "") << n;
    if (n == 300) warm = Measure();
  }
  const Footprint end = Measure();
#ifndef KCM_SANITIZED  // where freed memory is kept on purpose
  EXPECT_LE(end.anonymous_kb, warm.anonymous_kb + 4096) << "700 swaps";
#endif
  EXPECT_LE(end.files, warm.files + 2);
  EXPECT_LE(end.threads, warm.threads + 2);
  EXPECT_EQ(cluster.Mapped("good.so") + cluster.Mapped("good_b.so"), 0);
  EXPECT_EQ(cluster.Metric("kcm_plugin_images_kept"), 0);
  cluster.ExpectStampedBy("c");
  std::cout << "anonymous memory " << warm.anonymous_kb << " -> " << end.anonymous_kb
            << " kB, files " << warm.files << " -> " << end.files << ", threads " << warm.threads
            << " -> " << end.threads << "\n";
}

TEST(PluginSwap, BuildThatHoldsObjectsIsKeptCountedAndSaid) {
  PluginCluster cluster({Probe("hold")});
  cluster.ExpectStampedBy("hold");
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("good_b"))), "");
  cluster.Advance(kProbation);
  EXPECT_GT(cluster.Mapped("hold.so"), 0) << "an object handle that its code took is left";
  EXPECT_EQ(cluster.Metric("kcm_plugin_images_kept"), 1);
  cluster.ExpectStampedBy("b");
}

}  // namespace
}  // namespace kcm::test
