// SPDX-License-Identifier: Apache-2.0
// Which controllers run, and what servers they put up with (spec/host.md 1.4, 5 and 16).
#include <gtest/gtest.h>

#include "harness/cluster.h"
#include "host/http/tls_client.h"
#include "host/main/workload.h"
#include "host/plugin/manager.h"

namespace kcm::harness {
namespace {

TEST(Controllers, HOST_04_FirstMatchInTheListWins) {
  const struct {
    const char* list;
    size_t pods;
  } rows[] = {{"*,-job-controller,job", 0}, {"*,job,-job-controller", 1}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.list);
    Cluster cluster({.plugins = {"pod"},
                     .flags = {std::string("--controllers=") + row.list},
                     .nodes = 0,
                     .scheduler = false});
    cluster.Create({{"apiVersion", "v1"},
                    {"kind", "ServiceAccount"},
                    {"metadata", {{"name", "default"}}}});  // admission wants it for pods
    Json pod = PodTemplate(Json::object());
    pod["spec"]["restartPolicy"] = "Never";
    cluster.Create({{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"metadata", {{"name", "report"}}},
                    {"spec", {{"template", pod}}}});
    cluster.Advance(60s);
    EXPECT_EQ(cluster.List("pods").size(), row.pods);
  }
}

// The reference takes it (spec/host.md 1.5, T28): what it comes to has to be seen.
TEST(Controllers, AControllerWithoutWorkersIsShownAsSuch) {
  Cluster cluster({.plugins = {"pod"},
                   .flags = {"--concurrent-replicaset-syncs=0"},
                   .nodes = 0,
                   .scheduler = false});
  // (A key that nobody works on would be work that never ends for the virtual clock.)
  const Json report = Json::parse(cluster.host().manager()->Report(0));
  int seen = 0;
  for (const Json& c : report["plugins"][0]["controllers"])
    for (const Json& q : c["queues"]) {
      if (q["name"] == "replicaset") {
        ++seen;
        EXPECT_EQ(q.value("workers", -1), 0);
        EXPECT_EQ(q.value("workersFlag", ""), "concurrent-replicaset-syncs");
      } else if (q["name"] == "deployment") {
        ++seen;
        EXPECT_EQ(q.value("workers", -1), 5);
      }
    }
  EXPECT_EQ(seen, 2);
  int said = 0;
  for (const std::string& line : cluster.log())
    said += line.find("Warning: queue has no workers, nothing of it is reconciled") !=
                std::string::npos &&
            line.find("--concurrent-replicaset-syncs=0") != std::string::npos;
  EXPECT_EQ(said, 1);
}

TEST(Controllers, OneLookAtHealthzAsksEachControllerOnce) {
  Cluster cluster(
      {.plugins = {"pod", "test-health"}, .nodes = 0, .scheduler = false, .secure_port = true});
  const double before = cluster.Metric("test_health_asked_total").value_or(0);
  const test::Reply reply =
      test::Send(cluster.host().secure_port(), {.target = "/healthz?verbose"});
  EXPECT_EQ(reply.status, 200);
  EXPECT_NE(reply.body.find("[+]patient-controller ok\n"), std::string::npos) << reply.body;
  EXPECT_EQ(cluster.Metric("test_health_asked_total").value_or(0), before + 1);
}

TEST(Controllers, HOST_09_EmptyListRunsNothing) {
  Cluster cluster({.plugins = {"pod"},
                   .flags = {"--controllers="},
                   .nodes = 0,
                   .scheduler = false,
                   .secure_port = true});
  const test::Reply reply =
      test::Send(cluster.host().secure_port(), {.target = "/healthz?verbose"});
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "[+]ping ok\nhealthz check passed\n");
  cluster.Advance(60s);
  EXPECT_TRUE(cluster.host_running());
  for (const auto& e : cluster.Audit()) {
    if (e.user_agent.find("kube-controller-manager/") != 0) continue;
    const bool authentication =
        e.uri.find("extension-apiserver-authentication") != std::string::npos;
    EXPECT_TRUE(authentication || e.uri.find("/healthz") == 0) << e.method << " " << e.uri;
  }
}

TEST(Controllers, HOST_28_OldServerWithoutWatchList) {
  Cluster cluster(
      {.plugins = {"pod", "namespace"}, .watch_list = false, .server_version = "v1.28.15"});
  // Settle has waited for every informer to be at the store's version.
  cluster.Create(Workload("Deployment", "web", 3));
  cluster.Until("the first rollout", [&] {
    return cluster.Get("deployments", "web").value("/status/availableReplicas"_json_pointer, 0) ==
           3;
  });
  cluster.MergePatch("deployments", "web",
                     {{"spec", {{"template", PodTemplate({{"app", "web"}}, "nginx:2")}}}});
  cluster.Until("the second rollout", [&] {
    const Json d = cluster.Get("deployments", "web");
    return d["status"].value("observedGeneration", 0) == 2 &&
           d["status"].value("updatedReplicas", 0) == 3 && d["status"].value("replicas", 0) == 3 &&
           d["status"].value("availableReplicas", 0) == 3;
  });
  int watches = 0;
  for (const auto& e : cluster.Audit())
    watches += e.uri.find("sendInitialEvents=true") != std::string::npos && e.code == 200;
  EXPECT_EQ(watches, 0);
}

}  // namespace
}  // namespace kcm::harness
