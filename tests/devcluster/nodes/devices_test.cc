// SPDX-License-Identifier: Apache-2.0
// Devices: the simulated DRA driver and their allocation. The test plays the claim controller.
#include <set>

#include "devcluster/nodes/small_cluster.h"

namespace kcm::devcluster::nodes {
namespace {

using namespace std::chrono_literals;

class SimulatedDevices : public SmallCluster {
 protected:
  static constexpr const char* kClaims =
      "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  static constexpr const char* kSlice = "/apis/resource.k8s.io/v1/resourceslices/sim-0-dra.kcm.sim";

  void StartWithDevices(int nodes_count, int devices) {
    NodesOptions o = Options();
    o.count = nodes_count;
    o.devices = devices;
    StartNodes(o);
  }
  void CreateClaim(const std::string& name, int count) {
    Create(kClaims, {{"metadata", {{"name", name}}},
                     {"spec",
                      {{"devices",
                        {{"requests", json::array({{{"name", "r"},
                                                    {"exactly",
                                                     {{"deviceClassName", "sim"},
                                                      {"allocationMode", "ExactCount"},
                                                      {"count", count}}}}})}}}}}});
  }
  void CreatePodWithClaim(const std::string& pod, const std::string& claim) {
    CreatePod(pod, json::object(),
              {{"resourceClaims", json::array({{{"name", "d"}, {"resourceClaimName", claim}}})}});
  }
  json ClaimNamed(const std::string& name) { return Get(std::string(kClaims) + "/" + name); }
};

TEST_F(SimulatedDevices, EachNodePublishesItsDevices) {
  StartWithDevices(2, 3);
  const json slice = Get(kSlice);
  ASSERT_TRUE(slice.is_object());
  EXPECT_EQ(slice["spec"]["nodeName"], "sim-0");
  EXPECT_EQ(slice["spec"]["devices"].size(), 3u);
  EXPECT_EQ(StatusOf("/apis/resource.k8s.io/v1/deviceclasses/sim"), 200);
  Patch(NodePath("sim-0"), {{"metadata", {{"annotations", {{"sim/devices", "1"}}}}}});
  Settle();
  EXPECT_EQ(Get(kSlice)["spec"]["devices"].size(), 1u);
  EXPECT_EQ(Get(kSlice)["spec"]["pool"]["generation"], 2);
}

TEST_F(SimulatedDevices, ClaimIsAllocatedReservedAndThePodBound) {
  StartWithDevices(2, 2);
  CreateClaim("gpus", 2);
  CreatePodWithClaim("p", "gpus");
  Advance(1s);
  EXPECT_EQ(Phase("p"), "Running");
  const json claim = ClaimNamed("gpus");
  EXPECT_EQ(claim["metadata"]["finalizers"],
            json::array({"resource.kubernetes.io/delete-protection"}));
  const json& results = claim["status"]["allocation"]["devices"]["results"];
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]["driver"], "dra.kcm.sim");
  EXPECT_EQ(results[0]["pool"], NodeOf("p"));
  EXPECT_EQ(results[0]["device"], "dev-0");
  EXPECT_EQ(claim["status"]["reservedFor"][0]["name"], "p");
  CreatePodWithClaim("q", "gpus");
  Advance(1s);
  EXPECT_EQ(NodeOf("q"), NodeOf("p")) << "a shared claim ties its pods to one node";
  EXPECT_EQ(ClaimNamed("gpus")["status"]["reservedFor"].size(), 2u);
}

TEST_F(SimulatedDevices, PodsWaitForDevicesAndForTheirClaim) {
  StartWithDevices(1, 2);
  CreateClaim("first", 2);
  CreatePodWithClaim("p", "first");
  Advance(1s);
  CreateClaim("second", 1);
  CreatePodWithClaim("q", "second");
  CreatePodWithClaim("r", "third");
  Advance(1s);
  EXPECT_EQ(Condition(PodPath("q"), "PodScheduled")["message"],
            "0/1 nodes are available: 1 cannot allocate all claims.");
  EXPECT_EQ(Condition(PodPath("r"), "PodScheduled")["message"],
            "0/1 nodes are available: resourceclaim \"third\" not found.");
  // As the claim controller gives the devices back.
  Patch(std::string(kClaims) + "/first/status",
        {{"status", {{"allocation", nullptr}, {"reservedFor", nullptr}}}});
  Advance(1s);
  EXPECT_EQ(Phase("q"), "Running");
}

TEST_F(SimulatedDevices, ManyPodsGetManyDevices) {
  StartWithDevices(3, 4);
  for (int i = 0; i < 14; ++i) {
    CreateClaim("c" + std::to_string(i), 1);
    CreatePodWithClaim("p" + std::to_string(i), "c" + std::to_string(i));
  }
  Advance(5s);
  std::set<std::string> given;
  int running = 0;
  for (int i = 0; i < 14; ++i) {
    if (Phase("p" + std::to_string(i)) != "Running") continue;
    ++running;
    const json r =
        ClaimNamed("c" + std::to_string(i))["status"]["allocation"]["devices"]["results"][0];
    EXPECT_TRUE(
        given.insert(r["pool"].get<std::string>() + "/" + r["device"].get<std::string>()).second)
        << "given twice";
  }
  EXPECT_EQ(running, 12);
}

}  // namespace
}  // namespace kcm::devcluster::nodes
