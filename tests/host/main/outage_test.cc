// SPDX-License-Identifier: Apache-2.0
// An API server that is gone for a while: how often it is asked, and what is left to do when it is
// back (spec/host.md 5.3 and 16).
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "harness/cluster.h"
#include "host/main/workload.h"

namespace kcm::harness {
namespace {

using Fault = devcluster::Server::Fault;

// What the back-off of 5.3 lets one informer ask. Its shortest delays are 0.8, 1.6, 3.2, 6.4, 12.8
// and 25.6 s, then 30 s: seven requests in the first minute, the first included.
constexpr int kFirstMinute = 7;
constexpr int kLaterFourMinutes = 8;

class Outage : public ::testing::TestWithParam<bool> {
 protected:
  Outage() {
    // Admission wants it for pods.
    cluster.Create(
        {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}});
    cluster.Create(Workload("Deployment", "web", 3));
    cluster.Until("the pods", [&] { return Pods("web").size() == 3; });
    cluster.Advance(2s);  // a watch shorter than 1 s would be an error of its own
    (void)cluster.Audit();
    informers = Informers();
  }

  std::set<std::string> Pods(const std::string& app) {
    std::set<std::string> uids;
    for (const Json& p : cluster.List("pods", "default", "app=" + app))
      uids.insert(p["metadata"]["uid"].get<std::string>());
    return uids;
  }

  // Small steps: an end of a stream on its way to a waiting reflector is nothing the clock can see.
  void Pass(std::chrono::seconds d) {
    for (std::chrono::seconds i = 0s; i < d; i += 1s) cluster.Advance(1s);
  }

  // Requests of informers by resource since the last look.
  std::map<std::string, int> Requests() {
    std::map<std::string, int> out;
    for (const auto& e : cluster.Audit())
      if (e.user_agent.ends_with("/shared-informers") && e.uri.find("/healthz") != 0)
        ++out[e.uri.substr(0, e.uri.find('?'))];
    return out;
  }

  // How many there are: each watches anew when its stream ends.
  int Informers() {
    cluster.server().CloseWatches();
    Pass(3s);
    return static_cast<int>(Requests().size());
  }

  // Lines of the host's log with this text.
  int Said(const std::string& text) {
    int n = 0;
    for (const std::string& line : cluster.log()) n += line.find(text) != std::string::npos ? 1 : 0;
    return n;
  }

  // Answers that never came.
  double Lost() {
    return cluster
        .Metric("rest_client_requests_total{code=\"<error>\",method=\"GET\",host=\"127.0.0.1:" +
                std::to_string(cluster.server().port()) + "\"}")
        .value_or(0);
  }

  // The server is there again: within 65 s every cache is current, controllers work, and what was
  // there is there still.
  void ExpectRecovery(const std::set<std::string>& before) {
    cluster.Create(Workload("ReplicaSet", "late", 2));
    Pass(65s);
    cluster.LetCachesLag(false);
    cluster.Settle();  // fails when a cache is behind
    EXPECT_EQ(Pods("late").size(), 2u);
    EXPECT_EQ(Pods("web"), before);
    EXPECT_EQ(cluster.List("replicasets", "default", "app=web").size(), 1u);
    cluster.MergePatch("deployments", "web", {{"spec", {{"replicas", 4}}}});
    cluster.Settle();
    EXPECT_EQ(Pods("web").size(), 4u);
  }

  Cluster cluster{{.plugins = {"pod"}, .nodes = 0, .scheduler = false, .watch_list = GetParam()}};
  int informers = 0;
};

TEST_P(Outage, HOST_30_StoppedServerIsAskedEverMoreSeldom) {
  ASSERT_GE(informers, 3);
  const std::set<std::string> before = Pods("web");
  const double lost = Lost();
  cluster.LetCachesLag(true);
  cluster.server().SetReachable(false);
  Pass(60s);
  EXPECT_EQ(Said("The API server does not answer"), 1);
  EXPECT_EQ(Said("The API server answers again"), 0);
  const double first = Lost() - lost;
  EXPECT_LE(first, kFirstMinute * informers);
  EXPECT_GE(first, 3 * informers);
  Pass(240s);
  const double later = Lost() - lost - first;
  EXPECT_LE(later, kLaterFourMinutes * informers);
  EXPECT_GE(later, 3 * informers) << "nobody gives up";
  EXPECT_EQ(Said("The API server does not answer"), 1) << "not again and again";
  cluster.server().SetReachable(true);
  ExpectRecovery(before);
  EXPECT_EQ(Said("The API server answers again"), 1);
}

// The server was restarted and knows no history: the pause before the list that follows is not one
// of those that have grown during the outage.
TEST_P(Outage, HOST_30_ARestartedServerIsFollowedAsSoon) {
  const std::set<std::string> before = Pods("web");
  cluster.LetCachesLag(true);
  cluster.server().SetReachable(false);
  Pass(140s);
  cluster.server().SetReachable(true);
  cluster.Create({{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "later"}}}});
  cluster.server().Compact();
  ExpectRecovery(before);
}

// The same behind a load balancer: connections are taken and dropped. A request that finds its kept
// connection closed goes out once more on a fresh one; that may happen once per kept connection.
TEST_P(Outage, DroppedConnectionsAreBackedOffLikeRefusedOnes) {
  constexpr int kKept = 4;
  const std::set<std::string> before = Pods("web");
  cluster.LetCachesLag(true);
  Fault drop;
  drop.path_regex = "watch=true|resourceVersion=|limit=";
  drop.times = -1;
  drop.kind = Fault::Kind::kDropBefore;
  cluster.server().AddFault(drop);
  cluster.server().CloseWatches();
  Pass(60s);
  std::map<std::string, int> requests = Requests();
  EXPECT_EQ(static_cast<int>(requests.size()), informers);
  for (const auto& [resource, n] : requests) {
    EXPECT_LE(n, kFirstMinute + kKept) << resource;
    EXPECT_GE(n, 3) << resource;
  }
  Pass(240s);
  requests = Requests();
  EXPECT_EQ(static_cast<int>(requests.size()), informers);
  for (const auto& [resource, n] : requests) {
    EXPECT_LE(n, kLaterFourMinutes) << resource;
    EXPECT_GE(n, 3) << resource;
  }
  cluster.server().ClearFaults();
  ExpectRecovery(before);
}

INSTANTIATE_TEST_SUITE_P(Server, Outage, ::testing::Bool(),
                         [](const auto& row) { return row.param ? "WithWatchList" : "Of128"; });

}  // namespace
}  // namespace kcm::harness
