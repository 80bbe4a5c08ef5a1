// SPDX-License-Identifier: Apache-2.0
// Volumes: the scheduler's part in binding them, and the simulated CSI driver. The test plays the
// volume controller.
#include <mutex>
#include <string>
#include <vector>

#include "devcluster/nodes/small_cluster.h"

namespace kcm::devcluster::nodes {
namespace {

using namespace std::chrono_literals;

class SimulatedVolumes : public SmallCluster {
 protected:
  static constexpr const char* kVolumes = "/api/v1/persistentvolumes";
  static constexpr const char* kClaims = "/api/v1/namespaces/default/persistentvolumeclaims";
  static constexpr const char* kAttachments = "/apis/storage.k8s.io/v1/volumeattachments";

  void StartWithCsi() {
    NodesOptions o = Options();
    o.csi = true;
    StartNodes(o);
  }
  void CreateClaim(const std::string& name, const std::string& storage_class,
                   const json& annotations = json::object()) {
    Create(kClaims, {{"metadata", {{"name", name}, {"annotations", annotations}}},
                     {"spec",
                      {{"accessModes", json::array({"ReadWriteOnce"})},
                       {"storageClassName", storage_class},
                       {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}});
  }
  void CreatePodWithClaim(const std::string& pod, const std::string& claim,
                          const json& more = json::object()) {
    json spec = {{"volumes", json::array({{{"name", "v"},
                                           {"persistentVolumeClaim", {{"claimName", claim}}}}})}};
    spec.update(more);
    CreatePod(pod, json::object(), spec);
  }
  json ClaimNamed(const std::string& name) { return Get(std::string(kClaims) + "/" + name); }
  std::string SelectedNode(const std::string& claim) {
    const json c = ClaimNamed(claim);
    return c["metadata"]
        .value("annotations", json::object())
        .value("volume.kubernetes.io/selected-node", "");
  }
  // As the volume controller asks an external provisioner for a volume.
  void AskFor(const std::string& claim) {
    Patch(std::string(kClaims) + "/" + claim,
          {{"metadata",
            {{"annotations", {{"volume.kubernetes.io/storage-provisioner", "csi.kcm.sim"}}}}}});
    Settle();
  }
  std::string VolumeOf(const std::string& claim) {
    return "pvc-" + ClaimNamed(claim)["metadata"]["uid"].get<std::string>();
  }
  // As the volume controller binds them.
  void BindClaim(const std::string& claim, const std::string& volume) {
    Patch(std::string(kClaims) + "/" + claim,
          {{"metadata", {{"annotations", {{"pv.kubernetes.io/bind-completed", "yes"}}}}},
           {"spec", {{"volumeName", volume}}}});
    Patch(std::string(kClaims) + "/" + claim + "/status",
          {{"status", {{"phase", "Bound"}, {"capacity", {{"storage", "1Gi"}}}}}});
    Patch(std::string(kVolumes) + "/" + volume + "/status", {{"status", {{"phase", "Bound"}}}});
    Settle();
  }
  // A volume of class "local" on sim-1; nobody makes new ones of this class.
  void CreateLocalDisk() {
    Create("/apis/storage.k8s.io/v1/storageclasses",
           {{"metadata", {{"name", "local"}}},
            {"provisioner", "kubernetes.io/no-provisioner"},
            {"volumeBindingMode", "WaitForFirstConsumer"}});
    Create(kVolumes,
           {{"metadata", {{"name", "disk"}}},
            {"spec",
             {{"capacity", {{"storage", "5Gi"}}},
              {"accessModes", json::array({"ReadWriteOnce"})},
              {"storageClassName", "local"},
              {"local", {{"path", "/mnt"}}},
              {"nodeAffinity",
               {{"required",
                 {{"nodeSelectorTerms",
                   json::array({{{"matchExpressions",
                                  json::array({{{"key", "kubernetes.io/hostname"},
                                                {"operator", "In"},
                                                {"values", json::array({"sim-1"})}}})}}})}}}}}}}});
    Patch(std::string(kVolumes) + "/disk/status", {{"status", {{"phase", "Available"}}}});
    Settle();
  }
  json DiskClaim() {
    return Get(std::string(kVolumes) + "/disk")["spec"].value("claimRef", json::object());
  }
  int EventsWith(const std::string& reason) {
    int n = 0;
    const json events = Get("/api/v1/namespaces/default/events");
    for (const json& e : events["items"]) n += e["reason"] == reason ? 1 : 0;
    return n;
  }

  std::mutex mu;
  std::vector<std::string> lines;  // of the nodes' log, guarded by mu
};

TEST_F(SimulatedVolumes, DriverRegistersItself) {
  StartWithCsi();
  EXPECT_EQ(Get("/apis/storage.k8s.io/v1/storageclasses/sim")["volumeBindingMode"], "Immediate");
  EXPECT_EQ(Get("/apis/storage.k8s.io/v1/storageclasses/sim-wait")["volumeBindingMode"],
            "WaitForFirstConsumer");
  EXPECT_EQ(StatusOf("/apis/storage.k8s.io/v1/csidrivers/csi.kcm.sim"), 200);
  EXPECT_EQ(Get("/apis/storage.k8s.io/v1/csinodes/sim-1")["spec"]["drivers"][0]["name"],
            "csi.kcm.sim");
  EXPECT_EQ(Get(NodePath("sim-1"))["metadata"]["annotations"]
                                  ["volumes.kubernetes.io/controller-managed-attach-detach"],
            "true");
}

TEST_F(SimulatedVolumes, ImmediateClaimGetsAVolume) {
  StartWithCsi();
  CreateClaim("data", "sim");
  CreateClaim("foreign", "sim");
  CreatePodWithClaim("p", "data");
  AskFor("data");
  const json volume = Get(std::string(kVolumes) + "/" + VolumeOf("data"));
  ASSERT_TRUE(volume.is_object());
  EXPECT_EQ(volume["spec"]["csi"]["driver"], "csi.kcm.sim");
  EXPECT_EQ(volume["spec"]["capacity"]["storage"], "1Gi");
  EXPECT_EQ(volume["spec"]["claimRef"]["name"], "data");
  EXPECT_EQ(volume["spec"]["persistentVolumeReclaimPolicy"], "Delete");
  EXPECT_EQ(volume["spec"]["storageClassName"], "sim");
  EXPECT_EQ(EventsWith("ProvisioningSucceeded"), 1);
  EXPECT_EQ(StatusOf(std::string(kVolumes) + "/" + VolumeOf("foreign")), 404)
      << "nobody asked for it";
  EXPECT_EQ(NodeOf("p"), "") << "not bound yet";
  BindClaim("data", VolumeOf("data"));
  Advance(1s);
  EXPECT_EQ(Phase("p"), "Running");
}

TEST_F(SimulatedVolumes, WaitingClaimGetsTheNodeOfItsPod) {
  StartWithCsi();
  CreateClaim("data", "sim-wait");
  Advance(1s);
  AskFor("data");
  EXPECT_EQ(StatusOf(std::string(kVolumes) + "/" + VolumeOf("data")), 404) << "no node is chosen";
  CreatePodWithClaim("p", "data", {{"nodeSelector", {{"kubernetes.io/hostname", "sim-2"}}}});
  Settle();
  EXPECT_EQ(SelectedNode("data"), "sim-2");
  EXPECT_EQ(StatusOf(std::string(kVolumes) + "/" + VolumeOf("data")), 200);
  EXPECT_EQ(NodeOf("p"), "") << "the binding follows the volume";
  BindClaim("data", VolumeOf("data"));
  EXPECT_EQ(NodeOf("p"), "sim-2");
  EXPECT_EQ(Phase("p"), "Running");
}

TEST_F(SimulatedVolumes, RefusedNodeIsChosenAnew) {
  StartWithCsi();
  CreateClaim("data", "sim-wait", {{"sim/provision-fail", "no space left"}});
  CreatePodWithClaim("p", "data");
  Advance(1s);
  ASSERT_NE(SelectedNode("data"), "");
  AskFor("data");
  EXPECT_EQ(SelectedNode("data"), "") << "the provisioner takes the node back";
  EXPECT_EQ(EventsWith("ProvisioningFailed"), 1);
  Patch(std::string(kClaims) + "/data",
        {{"metadata", {{"annotations", {{"sim/provision-fail", nullptr}}}}}});
  Advance(2s);
  EXPECT_NE(SelectedNode("data"), "");
  BindClaim("data", VolumeOf("data"));
  Advance(1s);
  EXPECT_EQ(Phase("p"), "Running");
}

TEST_F(SimulatedVolumes, PodFollowsItsVolume) {
  StartWithCsi();
  Create("/apis/storage.k8s.io/v1/storageclasses", {{"metadata", {{"name", "zonal"}}},
                                                    {"provisioner", "csi.kcm.sim"},
                                                    {"parameters", {{"topology", "zone"}}},
                                                    {"volumeBindingMode", "WaitForFirstConsumer"}});
  CreateClaim("data", "zonal");
  CreatePodWithClaim("first", "data", {{"nodeSelector", {{"kubernetes.io/hostname", "sim-1"}}}});
  Advance(1s);
  AskFor("data");
  BindClaim("data", VolumeOf("data"));
  Advance(1s);
  ASSERT_EQ(NodeOf("first"), "sim-1");
  for (int i = 0; i < 3; ++i) {
    CreatePodWithClaim("p" + std::to_string(i), "data");
    Advance(1s);
    EXPECT_EQ(NodeOf("p" + std::to_string(i)), "sim-1") << "only this node is in zone-1";
  }
  CreatePodWithClaim("far", "data", {{"nodeSelector", {{"kubernetes.io/hostname", "sim-2"}}}});
  Settle();
  EXPECT_EQ(Condition(PodPath("far"), "PodScheduled")["message"],
            "0/3 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 2 "
            "node(s) didn't match Pod's node affinity/selector.");
}

TEST_F(SimulatedVolumes, AvailableVolumeIsPreferredToANewOne) {
  StartNodes();
  CreateLocalDisk();
  CreateClaim("data", "local");
  CreatePodWithClaim("p", "data");
  Advance(1s);  // p may be seen before its claim
  CreateClaim("none-left", "local");
  CreatePodWithClaim("q", "none-left");
  Advance(2s);
  const json ref = DiskClaim();
  EXPECT_EQ(ref["name"], "data");
  EXPECT_EQ(ref["uid"], ClaimNamed("data")["metadata"]["uid"]);
  BindClaim("data", "disk");
  EXPECT_EQ(NodeOf("p"), "sim-1");
  EXPECT_EQ(Condition(PodPath("q"), "PodScheduled")["message"],
            "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind.");
}

TEST_F(SimulatedVolumes, VolumeOnItsWayToAClaimIsNotChosenForAnother) {
  NodesOptions o = Options();
  o.log = [this](const std::string& line) {
    const std::lock_guard lock(mu);
    lines.push_back(line);
  };
  StartNodes(o);
  CreateLocalDisk();
  for (int i = 0; i < 8; ++i) {
    const std::string name = "c" + std::to_string(i);
    CreateClaim(name, "local");
    CreatePodWithClaim("p" + std::to_string(i), name);
  }
  Advance(2s);
  const std::string winner = DiskClaim().value("name", "");
  ASSERT_NE(winner, "");
  int refused = 0;
  for (int i = 0; i < 8; ++i) {
    refused +=
        Condition(PodPath("p" + std::to_string(i)), "PodScheduled")["reason"] == "Unschedulable"
            ? 1
            : 0;
  }
  EXPECT_EQ(refused, 7);
  const std::lock_guard lock(mu);
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find("volume disk"), std::string::npos) << "tried for two claims: " << line;
  }
}

TEST_F(SimulatedVolumes, ReleasedVolumeIsDeleted) {
  StartWithCsi();
  CreateClaim("data", "sim");
  AskFor("data");
  const std::string volume = std::string(kVolumes) + "/" + VolumeOf("data");
  BindClaim("data", VolumeOf("data"));
  EXPECT_EQ(StatusOf(volume), 200);
  Patch(volume + "/status", {{"status", {{"phase", "Released"}}}});
  Settle();
  const json left = Get(volume);
  // Nobody but the test would take the protection of other controllers away.
  EXPECT_TRUE(left.is_null() || left["metadata"].contains("deletionTimestamp"));
}

TEST_F(SimulatedVolumes, AttachmentsAreAttachedAndDetached) {
  StartWithCsi();
  const auto attach = [this](const std::string& name, const std::string& attacher) {
    Create(kAttachments, {{"metadata", {{"name", name}}},
                          {"spec",
                           {{"attacher", attacher},
                            {"nodeName", "sim-0"},
                            {"source", {{"persistentVolumeName", "x"}}}}}});
  };
  attach("ours", "csi.kcm.sim");
  attach("foreign", "csi.example.com");
  Settle();
  EXPECT_EQ(Get(std::string(kAttachments) + "/ours")["status"]["attached"], true);
  EXPECT_EQ(Get(std::string(kAttachments) + "/foreign")["status"]["attached"], false);
  Delete(std::string(kAttachments) + "/ours");
  Settle();
  EXPECT_EQ(StatusOf(std::string(kAttachments) + "/ours"), 404);
}

TEST_F(SimulatedVolumes, GrowingClaimIsResized) {
  StartWithCsi();
  CreateClaim("data", "sim", {{"sim/resize-after", "5"}});
  AskFor("data");
  BindClaim("data", VolumeOf("data"));
  Patch(std::string(kClaims) + "/data",
        {{"spec", {{"resources", {{"requests", {{"storage", "2Gi"}}}}}}}});
  Advance(4s);
  EXPECT_EQ(ClaimNamed("data")["status"]["capacity"]["storage"], "1Gi");
  Advance(2s);
  EXPECT_EQ(ClaimNamed("data")["status"]["capacity"]["storage"], "2Gi");
  EXPECT_EQ(Get(std::string(kVolumes) + "/" + VolumeOf("data"))["spec"]["capacity"]["storage"],
            "2Gi");
  EXPECT_EQ(EventsWith("VolumeResizeSuccessful"), 1);
}

}  // namespace
}  // namespace kcm::devcluster::nodes
