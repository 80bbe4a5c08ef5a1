// SPDX-License-Identifier: Apache-2.0
// What a controller may count on beside reconciles: its resync period, watches that end, another
// try when it could not be prepared.
#include <gtest/gtest.h>

#include "host/plugin/plugin_cluster.h"

namespace kcm::test {
namespace {

size_t Lines(PluginCluster& cluster, const std::string& text) {
  size_t n = 0;
  for (const std::string& line : cluster.log()) n += line.find(text) != std::string::npos ? 1 : 0;
  return n;
}

// spec/host.md 5.6.
TEST(Duties, ResyncPeriodOfAWatchIsKept) {
  PluginCluster cluster({Probe("duties_resync"), Probe("good")});
  cluster.Create(ConfigMap("one"));
  cluster.Settle();
  const std::string line =
      "Resync\" logger=\"duties-controller\" object=\"default/one\" build=\"a\"";
  ASSERT_EQ(Lines(cluster, line), 0u);
  cluster.Advance(29s);
  EXPECT_EQ(Lines(cluster, line), 0u);
  cluster.Advance(62s);
  EXPECT_EQ(Lines(cluster, line), 3u) << "at 30, 60 and 90 s";
  // Another build, another period, counted from its subscription.
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("duties_b"))), "");
  const std::string b = "Resync\" logger=\"duties-controller\" object=\"default/one\" build=\"b\"";
  cluster.Advance(19s);
  EXPECT_EQ(Lines(cluster, b), 0u);
  cluster.Advance(62s);
  EXPECT_GE(Lines(cluster, b), 3u);
  EXPECT_LE(Lines(cluster, b), 4u);
  EXPECT_EQ(Lines(cluster, line), 3u) << "the old build still gets resyncs";
}

TEST(Duties, WatchThatIsRemovedEndsItsReflector) {
  for (const bool from_event : {false, true}) {
    SCOPED_TRACE(from_event);
    PluginCluster cluster({Probe("duties")});
    const std::string series =
        "informer_store_resource_version{name=\"kube-controller-manager\",group=\"\",version="
        "\"v1\",resource=\"secrets\"}";
    cluster.Create(ConfigMap("secrets"));
    cluster.Advance(1s);
    ASSERT_TRUE(cluster.Metric(series)) << "there is no watch of secrets";
    if (from_event) {
      cluster.Create(ConfigMap("from-event"));
      cluster.Settle();
      cluster.Create({{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", "s"}}}});
    } else {
      cluster.Delete("configmaps", "secrets");
    }
    cluster.Advance(29s);
    EXPECT_TRUE(cluster.Metric(series)) << "ended at once: a swap would list anew";
    cluster.Advance(3s);
    EXPECT_FALSE(cluster.Metric(series));
    // A server that ends its watches is not asked for secrets any more.
    (void)cluster.Audit();
    cluster.server().CloseWatches();
    cluster.Advance(2min);
    for (const auto& e : cluster.Audit())
      EXPECT_EQ(e.uri.find("/secrets"), std::string::npos) << e.method << " " << e.uri;
    if (from_event) continue;
    // And it can come again.
    cluster.Create(ConfigMap("secrets"));
    cluster.Advance(1s);
    EXPECT_TRUE(cluster.Metric(series));
  }
}

TEST(Duties, SwapToABuildWithTheSameWatchesListsNothing) {
  PluginCluster cluster({Probe("duties")});
  cluster.Create(ConfigMap("secrets"));
  cluster.Advance(1s);
  (void)cluster.Audit();
  ASSERT_EQ(MessageOf(cluster.SwapFile(Probe("duties_b"))), "");
  cluster.Advance(2min);
  for (const auto& e : cluster.Audit())
    EXPECT_FALSE(e.method == "GET" && (e.uri.find("/configmaps?") != std::string::npos ||
                                       e.uri.find("/secrets?") != std::string::npos))
        << e.uri;
}

TEST(Duties, NewPluginThatCanNotBePreparedIsTriedAgain) {
  PluginCluster cluster({Probe("good")});
  devcluster::Server::Fault fault;
  fault.path_regex = "^/apis(\\?.*)?$";
  fault.times = -1;
  fault.status = 503;
  cluster.server().AddFault(fault);
  cluster.Advance(31s);  // what discovery found is forgotten
  Install(Probe("duties_requires_jobs"), cluster.InDir("duties.so"));
  EXPECT_FALSE(cluster.Rescan());
  const auto waiting = [&] { return cluster.Plugin("duties").value("waiting", Json::array()); };
  ASSERT_EQ(waiting().size(), 1u);
  EXPECT_EQ(waiting()[0]["controller"], "duties-controller");
  EXPECT_EQ(waiting()[0]["tries"], 1);
  EXPECT_NE(waiting()[0]["error"].get<std::string>(), "");
  EXPECT_GT(waiting()[0]["retryInSeconds"].get<double>(), 0);
  EXPECT_TRUE(cluster.Logged("Controller does not start, it is tried again"));
  cluster.Advance(60s);
  const int tries = waiting()[0]["tries"];
  EXPECT_GE(tries, 4);
  EXPECT_LE(tries, 7) << "1, 2, 4, 8, 16, 32 s";
  cluster.server().ClearFaults();
  cluster.Advance(70s);
  EXPECT_EQ(waiting().size(), 0u);
  EXPECT_TRUE(cluster.Controller("duties", "duties-controller")["active"]);
  cluster.Create(ConfigMap("stamped"));
  cluster.Settle();
  EXPECT_EQ(cluster.StampOf("stamped"), "a");
}

TEST(Duties, NewPluginWhoseStartFailsIsTriedAgain) {
  PluginCluster cluster({Probe("other")});
  Install(Probe("fail_start"), cluster.InDir("probe.so"));
  EXPECT_FALSE(cluster.Rescan());
  cluster.Advance(10s);
  const Json waiting = cluster.Plugin("probe")["waiting"];
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0]["error"],
            "probe-controller: start: the licence server does not answer: check --probe-licence");
  EXPECT_GE(waiting[0]["tries"], 3);
  EXPECT_LE(waiting[0]["tries"], 5);
  // A build that starts ends it.
  Install(Probe("good_b"), cluster.InDir("probe.so"));
  EXPECT_FALSE(cluster.Rescan());
  cluster.Advance(1s);
  EXPECT_TRUE(cluster.Controller("probe", "probe-controller")["active"]);
  EXPECT_FALSE(cluster.Plugin("probe").contains("waiting"));
}

TEST(Duties, NewPluginThatRefusesItsConfigurationWaitsForAnotherBuild) {
  PluginCluster cluster({Probe("other")});
  Install(Probe("fail_create"), cluster.InDir("probe.so"));
  EXPECT_FALSE(cluster.Rescan());
  cluster.Advance(60s);
  const Json waiting = cluster.Plugin("probe")["waiting"];
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0]["tries"], 1);
  EXPECT_FALSE(waiting[0].contains("retryInSeconds"));
  Install(Probe("good_b"), cluster.InDir("probe.so"));
  EXPECT_FALSE(cluster.Rescan());
  cluster.Advance(1s);
  EXPECT_TRUE(cluster.Controller("probe", "probe-controller")["active"]);
  EXPECT_FALSE(cluster.Plugin("probe").contains("waiting"));
}

}  // namespace
}  // namespace kcm::test
