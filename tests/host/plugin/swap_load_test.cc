// SPDX-License-Identifier: Apache-2.0
// 200 swaps of the pod plugin while Deployments roll out: no key lost, no pod twice, nothing left
// mapped, memory bounded.
#include <gtest/gtest.h>
#include <malloc.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "build_paths.h"
#include "host/plugin/plugin_cluster.h"

namespace kcm::test {
namespace {

constexpr int kSwaps = 200;
constexpr int kDeployments = 3;
constexpr int kReplicas = 3;
constexpr int kIdleSwaps = 40;

// Bytes of this process that are allocated now. Not what the allocator holds: that depends on which
// threads happened to run side by side.
size_t InUseKb() {
  const struct mallinfo2 info = ::mallinfo2();
  return (info.uordblks + info.hblkhd) / 1024;
}

class RollingPods : public testing::Test {
 protected:
  RollingPods()
      // kcm-namespace makes the service account that pods run as.
      : cluster({std::string(KCM_BUILD_DIR) + "/plugins/kcm-pod.so",
                 std::string(KCM_BUILD_DIR) + "/plugins/kcm-namespace.so"},
                {"--plugin-probation-period=5s", "-v=0",
                 // Whose work is counted.
                 "--controllers=deployment,replicaset,serviceaccount"},
                /*nodes=*/2) {}

  static std::string Name(int i) { return "web-" + std::to_string(i); }
  void CreateDeployments() {
    for (int i = 0; i < kDeployments; ++i)
      cluster.Create({{"apiVersion", "apps/v1"},
                      {"kind", "Deployment"},
                      {"metadata", {{"name", Name(i)}}},
                      {"spec",
                       {{"replicas", kReplicas},
                        {"selector", {{"matchLabels", {{"app", Name(i)}}}}},
                        {"template", harness::PodTemplate({{"app", Name(i)}})}}}});
  }
  bool RolledOut(int i) {
    const Json d = cluster.Get("deployments", Name(i));
    const Json& s = d["status"];
    return s.value("observedGeneration", 0) == d["metadata"]["generation"] &&
           s.value("updatedReplicas", 0) == kReplicas && s.value("replicas", 0) == kReplicas &&
           s.value("availableReplicas", 0) == kReplicas;
  }
  void Roll(int i, int revision) {
    cluster.MergePatch(
        "deployments", Name(i),
        {{"spec",
          {{"template", {{"metadata", {{"annotations", {{"rev", std::to_string(revision)}}}}}}}}}});
    ++rollouts;
  }
  void CountWrites() {
    for (const auto& e : cluster.Audit()) {
      if (e.user_agent.find("kube-controller-manager/") != 0 || e.method != "POST" || e.code != 201)
        continue;
      const std::string path = e.uri.substr(0, e.uri.find('?'));
      if (path.ends_with("/pods")) ++pods_created;
      if (path.ends_with("/replicasets")) ++sets_created;
    }
  }

  PluginCluster cluster;
  int rollouts = 0, pods_created = 0, sets_created = 0;
};

TEST_F(RollingPods, TwoHundredSwapsLoseNothingAndDoNothingTwice) {
  const std::string builds[] = {std::string(KCM_BUILD_DIR) + "/plugins/kcm-pod.so",
                                Probe("kcm-pod-other")};
  CreateDeployments();
  size_t warm_kb = 0;
  std::map<double, int> pauses_ms;
  for (int n = 1; n <= kSwaps; ++n) {
    // A rollout begins whenever one has ended, so that every swap meets work.
    for (int i = 0; i < kDeployments; ++i)
      if (RolledOut(i)) Roll(i, n);
    ASSERT_EQ(MessageOf(cluster.SwapFile(builds[n % 2])), "") << n;
    ASSERT_EQ(cluster.Plugin("pod")["buildId"] == "other", n % 2 == 1);
    ++pauses_ms[cluster.Plugin("pod")["lastPauseMs"].get<double>()];
    cluster.Advance(500ms);
    if (n == kSwaps / 4) warm_kb = InUseKb();
    if (n % 20 == 0) CountWrites();
  }
  for (int i = 0; i < kDeployments; ++i)
    cluster.Until(
        Name(i) + " is rolled out", [&] { return RolledOut(i); }, std::chrono::minutes(3), 1s);
  cluster.Advance(10s);  // the last probation
  CountWrites();

  std::map<std::string, int> pods;
  for (const Json& p : cluster.List("pods")) ++pods[p["metadata"]["labels"]["app"]];
  EXPECT_EQ(pods.size(), static_cast<size_t>(kDeployments));
  for (const auto& [app, count] : pods) EXPECT_EQ(count, kReplicas) << app;
  // Each rollout runs to its end before the next of the same Deployment begins: so many pods and
  // ReplicaSets, and not one more.
  EXPECT_GT(rollouts, kSwaps / 10) << "the swaps met too little work";
  EXPECT_EQ(sets_created, kDeployments + rollouts);
  EXPECT_EQ(pods_created, (kDeployments + rollouts) * kReplicas);

  EXPECT_EQ(cluster.Plugin("pod")["swaps"], kSwaps);
  EXPECT_EQ(cluster.Metric("kcm_plugin_images_kept"), 0);
  EXPECT_GT(cluster.Mapped("kcm-pod.so"), 0);
  EXPECT_EQ(cluster.Mapped("kcm-pod-other.so"), 0);
  EXPECT_EQ(cluster.Controller("pod", "deployment-controller")["generation"], kSwaps + 1);
  // What swaps under work leave. The server's history of every write is not the swaps'; what it
  // stores (Events above all) grows with the rollouts.
  const size_t events = cluster.List("events").size();
  cluster.server().Compact();
  const size_t end_kb = InUseKb();
  // What swaps alone leave: each replays all objects, and nothing else happens.
  cluster.Advance(60s);  // watches begin anew
  const size_t idle_kb = InUseKb();
  for (int n = 1; n <= kIdleSwaps; ++n) {
    ASSERT_EQ(MessageOf(cluster.SwapFile(builds[n % 2])), "") << n;
    cluster.Advance(500ms);
  }
  cluster.Advance(10s);
  const size_t idle_end_kb = InUseKb();
#ifndef KCM_SANITIZED  // where freed memory is kept on purpose
  EXPECT_LT(end_kb, warm_kb + 16 * 1024)
      << "from " << warm_kb << " kB after " << kSwaps / 4 << " swaps";
  EXPECT_LT(idle_end_kb, idle_kb + 4 * 1024) << "from " << idle_kb << " kB";
#endif
  std::ostringstream text;
  for (const auto& [ms, count] : pauses_ms) text << ms << " ms: " << count << "  ";
  RecordProperty("pauses", text.str());
  std::cout << rollouts << " rollouts, " << pods_created << " pods created; virtual pauses "
            << text.str() << "; in use " << warm_kb << " -> " << end_kb << " kB with " << events
            << " Events, " << kIdleSwaps << " idle swaps " << idle_kb << " -> " << idle_end_kb
            << " kB\n";
}

}  // namespace
}  // namespace kcm::test
