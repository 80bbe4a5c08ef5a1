// SPDX-License-Identifier: Apache-2.0
// Two hosts, one lease: the leader is killed in the middle of a rollout and the standby finishes
// it, creating nothing twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <map>
#include <set>

#include "process/world.h"

namespace kcm::process {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kReplicas = 500;
const char kDeployments[] = "/apis/apps/v1/namespaces/default/deployments";

Json Deployment(int replicas) {
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", {{"name", "web"}}},
          {"spec",
           {{"replicas", replicas},
            {"selector", {{"matchLabels", {{"app", "web"}}}}},
            {"template",
             {{"metadata", {{"labels", {{"app", "web"}}}}},
              {"spec", {{"containers", {{{"name", "c"}, {"image", "nginx:1"}}}}}}}}}}};
}

// Pods that hosts have created so far, by the server's account.
class Creations {
 public:
  explicit Creations(World& world) : world_(world) {}
  int Count() {
    for (const auto& request : world_.server().TakeAudit()) {
      if (request.uri.find("/namespaces/default/pods") == std::string::npos ||
          request.user_agent.find("kube-controller-manager/") != 0)
        continue;
      if (request.method == "POST" && request.code == 201) ++created_;
      if (request.method == "DELETE") ++deleted_;
    }
    return created_;
  }
  int deleted() const { return deleted_; }

 private:
  World& world_;
  int created_ = 0, deleted_ = 0;
};

TEST(Failover, HOST_20_StandbyFinishesTheRolloutOfAKilledLeader) {
  World world({.nodes = 10, .plugins = {"pod"}});
  const std::vector<std::string> flags{"--kube-api-qps=100", "--kube-api-burst=100"};
  world.StartHost("a", flags);
  ASSERT_TRUE(world.Healthy("a", "deployment-controller")) << world.host("a").err();
  world.StartHost("b", flags);
  ASSERT_TRUE(world.Serves("b")) << world.host("b").err();
  const Json before = world.Lease();

  Creations creations(world);
  ASSERT_TRUE(world.Post(kDeployments, Deployment(kReplicas)));
  ASSERT_TRUE(Until(60s, [&] { return creations.Count() >= kReplicas / 5; }))
      << world.host("a").err();
  world.host("a").Signal(SIGKILL);
  const auto killed = Clock::now();
  ASSERT_EQ(world.host("a").Wait(5s), 128 + SIGKILL);
  const int at_kill = creations.Count();
  ASSERT_LT(at_kill, kReplicas)
      << "the leader was through before it was killed: the test shows nothing";

  ASSERT_TRUE(Until(40s, [&] {
    return world.Lease()["holderIdentity"] != before["holderIdentity"];
  })) << world.host("b").err();
  const auto took = Clock::now() - killed;
  EXPECT_GE(took, 13s);
  EXPECT_LE(took, 24s);
  const Json after = world.Lease();
  EXPECT_EQ(after["leaseTransitions"], before["leaseTransitions"].get<int>() + 1);

  EXPECT_TRUE(Until(90s, [&] {
    const std::optional<Json> d = world.Get(std::string(kDeployments) + "/web");
    return d && d->value("/status/availableReplicas"_json_pointer, 0) == kReplicas;
  })) << world.host("b").err();
  EXPECT_EQ(creations.Count(), kReplicas);
  EXPECT_EQ(creations.deleted(), 0);

  // Every pod is there once, and all are of the one ReplicaSet.
  const std::optional<Json> pods = world.Get("/api/v1/namespaces/default/pods");
  ASSERT_TRUE(pods);
  std::set<std::string> names, owners;
  for (const Json& pod : (*pods)["items"]) {
    names.insert(pod["metadata"]["name"]);
    owners.insert(pod["metadata"]["ownerReferences"][0]["uid"]);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kReplicas));
  EXPECT_EQ(owners.size(), 1u);

  const std::optional<Json> events = world.Get("/api/v1/namespaces/kube-system/events");
  ASSERT_TRUE(events);
  const std::string message = after["holderIdentity"].get<std::string>() + " became leader";
  int told = 0;
  for (const Json& e : (*events)["items"])
    told += e["reason"] == "LeaderElection" && e["message"] == message &&
            e["involvedObject"]["kind"] == "Lease" &&
            e["involvedObject"]["name"] == "kube-controller-manager";
  EXPECT_EQ(told, 1) << events->dump();
}

}  // namespace
}  // namespace kcm::process
