// SPDX-License-Identifier: Apache-2.0
// The metrics APIs, read through the API server as an autoscaler reads them.
#include "devcluster/nodes/small_cluster.h"

namespace kcm::devcluster::nodes {
namespace {

using namespace std::chrono_literals;

class SimulatedMetrics : public SmallCluster {
 protected:
  void SetUp() override {
    SmallCluster::SetUp();
    NodesOptions o = Options();
    o.metrics = true;
    StartNodes(o);
  }
};

TEST_F(SimulatedMetrics, AreDiscovered) {
  for (const char* path :
       {"/apis/metrics.k8s.io", "/apis/metrics.k8s.io/v1beta1",
        "/apis/custom.metrics.k8s.io/v1beta2", "/apis/external.metrics.k8s.io/v1beta1"}) {
    EXPECT_EQ(StatusOf(path), 200) << path;
  }
  EXPECT_EQ(Get("/apis/custom.metrics.k8s.io")["preferredVersion"]["version"], "v1beta2");
  bool listed = false;
  const json groups = Get("/apis");
  for (const json& g : groups["groups"]) listed = listed || g["name"] == "metrics.k8s.io";
  EXPECT_TRUE(listed);
}

TEST_F(SimulatedMetrics, UsageOfPodsAndNodes) {
  CreatePod("p", {{"sim/cpu", "300m"}, {"sim/memory", "1Gi"}}, {{"nodeName", "sim-0"}},
            {{"labels", {{"app", "web"}}}});
  CreatePod("q", json::object(), {{"nodeName", "sim-1"}});
  Settle();
  const json pods =
      Get("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb");
  ASSERT_TRUE(pods.is_object());
  ASSERT_EQ(pods["items"].size(), 1u);
  EXPECT_EQ(pods["items"][0]["metadata"]["name"], "p");
  EXPECT_EQ(pods["items"][0]["containers"][0]["usage"]["cpu"], "300m");
  EXPECT_EQ(pods["items"][0]["containers"][0]["usage"]["memory"], "1Gi");
  EXPECT_EQ(Get("/apis/metrics.k8s.io/v1beta1/pods")["items"].size(), 2u);
  EXPECT_EQ(Get("/apis/metrics.k8s.io/v1beta1/nodes/sim-0")["usage"]["cpu"], "400m");
  EXPECT_EQ(Get("/apis/metrics.k8s.io/v1beta1/nodes")["items"].size(), 3u);
  Patch(PodPath("p"), {{"metadata", {{"annotations", {{"sim/cpu", "2"}}}}}});
  Settle();
  EXPECT_EQ(Get("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/p")["containers"][0]["usage"]
                                                                         ["cpu"],
            "2");
  EXPECT_TRUE(nodes->Fail("sim-0").ok());
  EXPECT_EQ(StatusOf("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/p"), 404)
      << "nobody measures on a failed node";
}

TEST_F(SimulatedMetrics, CustomMetricsOfPodsAndObjects) {
  CreatePod("p", {{"sim/metric.rps", "12"}}, json::object(), {{"labels", {{"app", "web"}}}});
  CreatePod("q", {{"sim/metric.rps", "8"}});
  Create("/api/v1/namespaces/default/services",
         {{"metadata", {{"name", "front"}, {"annotations", {{"sim/metric.rps", "500"}}}}},
          {"spec", {{"ports", json::array({{{"port", 80}}})}}}});
  Create("/apis/apps/v1/namespaces/default/deployments",
         {{"metadata", {{"name", "web"}, {"annotations", {{"sim/metric.rps", "77"}}}}},
          {"spec",
           {{"replicas", 0},
            {"selector", {{"matchLabels", {{"a", "b"}}}}},
            {"template",
             {{"metadata", {{"labels", {{"a", "b"}}}}},
              {"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}}}}}});
  Settle();
  const std::string custom = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/";
  EXPECT_EQ(Get(custom + "pods/*/rps")["items"].size(), 2u);
  const json some = Get(custom + "pods/%2A/rps?labelSelector=app%3Dweb");
  ASSERT_EQ(some["items"].size(), 1u);
  EXPECT_EQ(some["items"][0]["describedObject"]["name"], "p");
  EXPECT_EQ(some["items"][0]["value"], "12");
  EXPECT_EQ(Get(custom + "services/front/rps")["items"][0]["value"], "500");
  EXPECT_EQ(Get(custom + "deployments.apps/web/rps")["items"][0]["describedObject"]["kind"],
            "Deployment");
  EXPECT_EQ(StatusOf(custom + "services/front/latency"), 404);
  Patch("/api/v1/namespaces/default", {{"metadata", {{"annotations", {{"sim/metric.rps", "9"}}}}}});
  EXPECT_EQ(Get(custom + "metrics/rps")["items"][0]["value"], "9");
}

TEST_F(SimulatedMetrics, ExternalMetricsComeFromTheNamespace) {
  Patch("/api/v1/namespaces/default",
        {{"metadata", {{"annotations", {{"sim/external.depth", "queue=a:30;queue=b:5"}}}}}});
  const std::string path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/depth";
  EXPECT_EQ(Get(path)["items"].size(), 2u);
  EXPECT_EQ(Get(path + "?labelSelector=queue%3Da")["items"][0]["value"], "30");
  EXPECT_EQ(Get("/apis/external.metrics.k8s.io/v1beta1/namespaces/default/none")["items"].size(),
            0u);
}

TEST_F(SimulatedMetrics, GoWithTheSimulator) {
  nodes->Stop();
  clock.RemoveProbe(std::exchange(probe, 0));
  EXPECT_EQ(StatusOf("/apis/metrics.k8s.io/v1beta1"), 404);
  EXPECT_EQ(StatusOf("/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io"), 404);
}

TEST_F(SimulatedMetrics, DeadBackendIsAnErrorAndStaleInDiscovery) {
  Patch("/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io",
        {{"spec", {{"service", {{"port", 1}}}}}});
  EXPECT_EQ(StatusOf("/apis/metrics.k8s.io/v1beta1/nodes"), 503);
  EXPECT_EQ(StatusOf("/apis"), 200);
}

}  // namespace
}  // namespace kcm::devcluster::nodes
