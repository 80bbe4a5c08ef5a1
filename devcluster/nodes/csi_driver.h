// SPDX-License-Identifier: Apache-2.0
// CsiDriver: a simulated CSI driver with the sidecars of a real one: external-provisioner (makes
// and deletes PersistentVolumes), external-attacher (VolumeAttachments) and external-resizer.
//
// Acts on objects that name the driver csi.kcm.sim: claims whose storage-provisioner annotation
// (written by the volume controller) does, volumes and attachments of it. Register() also makes the
// StorageClasses sim (Immediate) and sim-wait (WaitForFirstConsumer), both expandable, and the
// CSIDriver object.
//
// StorageClass.parameters of its classes
//   topology: "zone" | "node"    volumes can only be reached from the zone or node of the pod that
//                                the volume was made for (WaitForFirstConsumer)
// Annotations of claims
//   sim/provision-after: "5"     seconds     sim/provision-fail: "message"   the volume is refused;
//                                             a chosen node is taken back
//   sim/resize-after: "5"        seconds
// Annotations of PersistentVolumes
//   sim/attach-after: "5"        seconds     sim/attach-fail: "message"
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "devcluster/nodes/objects.h"
#include "devcluster/nodes/work_pool.h"
#include "host/clock/clock.h"

namespace kcm::devcluster::nodes {

inline constexpr char kCsiDriver[] = "csi.kcm.sim";

// Thread-safe. Makes its requests on the pool, which must be stopped before this is destroyed.
class CsiDriver {
 public:
  // `simulates`: whether a node is ours.
  CsiDriver(host::clock::Clock& clock, WorkPool& pool,
            std::function<bool(const std::string& node)> simulates,
            std::function<void(const std::string&)> log);
  ~CsiDriver();

  // Makes the cluster-wide objects. (Nodes get a CSINode and the annotation that has volumes
  // attached by the attach-detach controller when they are seen.)
  void Register();

  // From the reflectors. Nothing is done before all have been listed.
  void OnNodes(const std::vector<NodeObject>& all);
  void OnNode(Change change, const NodeObject& node);
  void OnClaims(const std::vector<Claim>& all);
  void OnClaim(Change change, const Claim& claim);
  void OnVolumes(std::vector<JsonObject> all);
  void OnVolume(Change change, JsonObject volume);
  void OnClasses(std::vector<JsonObject> all);
  void OnClass(Change change, JsonObject storage_class);
  void OnAttachments(std::vector<JsonObject> all);
  void OnAttachment(Change change, JsonObject attachment);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster::nodes
