// SPDX-License-Identifier: Apache-2.0
// Plugins of every kind at work in one host: plain C, C++ over libstdc++, C++ over libc++, and one
// built for the first ABI.
#include <gtest/gtest.h>

#include <filesystem>

#include "build_paths.h"
#include "host/plugin/plugin_cluster.h"

namespace kcm::test {
namespace {

std::string Built(const std::string& path) { return std::string(KCM_BUILD_DIR) + "/" + path; }

TEST(PluginRuntime, PluginInCLoadsStartsAndReconciles) {
  PluginCluster cluster({Probe("good")});
  const Json c = cluster.Controller("probe", "probe-controller");
  EXPECT_TRUE(c["active"]);
  EXPECT_EQ(c["generation"], 1);
  cluster.ExpectStampedBy("a");
  EXPECT_EQ(cluster.Metric(
                "kcm_plugin_info{plugin=\"probe\",version=\"1.0.0\",vendor=\"tests\",build=\"a\"}"),
            1);
  EXPECT_GT(cluster.Mapped("good.so"), 0);
  EXPECT_EQ(cluster.StopHost(), 0);
  EXPECT_EQ(cluster.Mapped("good.so"), 0) << "still mapped after the host has ended";
}

TEST(PluginRuntime, PluginsOfFourToolchainsWorkBesideEachOther) {
  std::vector<std::string> files = {Built("examples/c_minimal.so"), Probe("frozen-1.0"),
                                    Built("plugins/kcm-namespace.so")};
  // Of one plugin the build by clang++ with libc++ where there is one, else the one by g++.
  const bool libcxx = std::filesystem::exists(Built("examples/vendor_libcxx.so"));
  files.push_back(Built(libcxx ? "examples/vendor_libcxx.so" : "examples/vendor_cpp.so"));
  PluginCluster cluster(files, {"--vendor-default-team=unowned"});
  ASSERT_TRUE(cluster.Problems().empty()) << cluster.Problems().front();

  cluster.Create(
      {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "payments-web"}}}});
  cluster.Create(
      {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "sandbox"}}}});
  for (const char* label : {"example.com/greet", "example.com/frozen"})
    cluster.Create(
        {{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", {{"name", std::string(label).substr(12)}, {"labels", {{label, "yes"}}}}},
         {"data", {{"secret", "s3cr3t"}}}});
  cluster.Settle();
  EXPECT_EQ(cluster.Get("namespaces", "payments-web")["metadata"]["labels"]["example.com/team"],
            "payments");
  EXPECT_EQ(cluster.Get("namespaces", "sandbox")["metadata"]["labels"]["example.com/team"],
            "unowned")
      << "the plugin's own flag";
  EXPECT_EQ(cluster.Get("configmaps", "greet")["metadata"]["annotations"]["example.com/greeting"],
            "hello from C");
  EXPECT_EQ(
      cluster.Get("configmaps", "frozen")["metadata"]["annotations"]["example.com/frozen-greeting"],
      "hello from 1.0");
  cluster.Delete("namespaces", "sandbox");
  cluster.Until("the namespace is gone", [&] { return !cluster.Find("namespaces", "sandbox"); });
  EXPECT_EQ(cluster.Metric("vendor_namespaces_labelled_total{team=\"payments\"}"), 1);
}

TEST(PluginRuntime, ConstructorThatThrowsEndsTheHostAndSaysWhy) {
  PluginCluster cluster({Built("examples/vendor_cpp.so")}, {"--vendor-default-team="});
  EXPECT_NE(cluster.StopHost(), 0);
  EXPECT_TRUE(cluster.Logged(
      "team-label-controller: create: --vendor-default-team: must not be empty: name a team"));
}

TEST(PluginRuntime, RefusedFilesDoNotKeepOthersFromLoading) {
  PluginCluster cluster({Probe("good"), Probe("newer_minor"), Probe("no_entry"), Probe("other"),
                         Probe("same_controller")});
  // Files load in the order of their names; "other" declares a controller of its own,
  // "same_controller" one that good.so has.
  EXPECT_EQ(cluster.Plugin("probe")["file"], cluster.InDir("good.so"));
  EXPECT_FALSE(cluster.Plugin("other").is_null());
  EXPECT_TRUE(cluster.Plugin("copy").is_null());
  std::vector<std::string> problems = cluster.Problems();
  std::sort(problems.begin(), problems.end());
  EXPECT_EQ(
      problems,
      (std::vector<std::string>{
          cluster.InDir("newer_minor.so") +
              ": built for ABI 1.1, this host speaks 1.0: rebuild the plugin or use a newer host",
          cluster.InDir("no_entry.so") +
              ": does not export kcm_plugin_entry: not a plugin (see docs/writing-a-plugin.md)",
          cluster.InDir("same_controller.so") +
              ": controller probe-controller is already declared by " + cluster.InDir("good.so") +
              ": remove one of the two plugins"}));
  cluster.ExpectStampedBy("a");
  EXPECT_EQ(cluster.Mapped("newer_minor.so") + cluster.Mapped("no_entry.so") +
                cluster.Mapped("same_controller.so"),
            0);
}

// A plugin should say why a run failed. Of one that does not, the host knows what it was told.
TEST(PluginRuns, AFailureWithoutTextIsExplainedByItsLastRequest) {
  PluginCluster cluster({Probe("good")});
  cluster.CreateProbe("quiet", "mute");
  cluster.Settle();
  const std::string why =
      "the plugin gives no reason; its last request that failed: configmaps \"absent\" not found";
  const auto error_of = [&](const std::string& key) -> std::string {
    const Json controller = cluster.Controller("probe", "probe-controller");
    for (const Json& q : controller["queues"])
      for (const Json& k : q.value("keys", Json::array()))
        if (k["key"] == key) return k["error"];
    return "no such key";
  };
  EXPECT_EQ(error_of("default/quiet"), why);
  EXPECT_TRUE(cluster.Logged("the plugin gives no reason; its last request that failed"));
  // Mended: nothing is said any more.
  cluster.MergePatch("configmaps", "quiet",
                     {{"metadata", {{"annotations", {{"kcm.test/probe", "after"}}}}}});
  cluster.Settle();
  cluster.Advance(1s);
  EXPECT_EQ(cluster.StampOf("quiet"), "a");
  EXPECT_EQ(error_of("default/quiet"), "");
}

}  // namespace
}  // namespace kcm::test
