// SPDX-License-Identifier: Apache-2.0
// What an operator reads of syncs that fail, at the default verbosity (spec/host.md 12.3).
#include <gtest/gtest.h>

#include "harness/cluster.h"

namespace kcm::harness {
namespace {

class SyncLog : public ::testing::Test {
 protected:
  SyncLog() {
    cluster.Create({{"apiVersion", "v1"},
                    {"kind", "ServiceAccount"},
                    {"metadata", {{"name", "default"}}}});  // admission wants it for pods
  }
  void CreateReplicaSet(const std::string& name, int replicas) {
    cluster.Create({{"apiVersion", "apps/v1"},
                    {"kind", "ReplicaSet"},
                    {"metadata", {{"name", name}}},
                    {"spec",
                     {{"replicas", replicas},
                      {"selector", {{"matchLabels", {{"app", name}}}}},
                      {"template", PodTemplate({{"app", name}})}}}});
  }
  // Error lines of controllers about `key`.
  std::vector<std::string> Errors(const std::string& key) {
    std::vector<std::string> out;
    for (const std::string& line : cluster.log())
      if (line.starts_with("E") && line.find("key=\"" + key + "\"") != std::string::npos)
        out.push_back(line);
    return out;
  }
  Cluster cluster{{.plugins = {"pod"}, .nodes = 0, .scheduler = false}};
};

TEST_F(SyncLog, EveryFailedSyncIsOneErrorLine) {
  devcluster::Server::Fault fault;
  fault.method = "POST";
  fault.path_regex = "/namespaces/default/pods$";
  fault.times = 3;
  fault.status = 500;
  fault.reason = "InternalError";
  fault.message = "etcd is on fire";
  cluster.server().AddFault(fault);
  CreateReplicaSet("web", 1);
  cluster.Until("the pod", [&] { return cluster.List("pods").size() == 1; });
  const std::vector<std::string> errors = Errors("default/web");
  EXPECT_EQ(errors.size(), 3u);
  for (const std::string& line : errors) {
    EXPECT_NE(line.find("] \"Error syncing, requeuing\" err=\""), std::string::npos) << line;
    EXPECT_NE(line.find("etcd is on fire"), std::string::npos) << line;
    EXPECT_NE(line.find("logger=\"replicaset-controller\""), std::string::npos) << line;
  }
}

TEST_F(SyncLog, AWaitForOwnWritesIsNoError) {
  CreateReplicaSet("web", 1);
  cluster.Until("the pod", [&] { return cluster.List("pods").size() == 1; });
  cluster.HoldCaches("pods");
  cluster.MergePatch("replicasets", "web", {{"spec", {{"replicas", 2}}}});
  cluster.Advance(2s);
  cluster.MergePatch("replicasets", "web", {{"metadata", {{"labels", {{"a", "b"}}}}}});
  cluster.Advance(5s);
  EXPECT_GE(
      cluster.Metric("replicaset_controller_stale_sync_skips_total{group=\"\",resource=\"pods\"}")
          .value_or(0),
      2)
      << "nothing waited";
  EXPECT_EQ(cluster.List("pods").size(), 2u);
  cluster.ReleaseCaches();
  cluster.Advance(65s);
  EXPECT_TRUE(Errors("default/web").empty()) << Errors("default/web").front();
}

}  // namespace
}  // namespace kcm::harness
