// SPDX-License-Identifier: Apache-2.0
// DeviceChoice: which nodes have the devices that the ResourceClaims of a pod ask for, and which
// devices those are (resource.k8s.io/v1). Pure; devices are taken in the order of their names.
//
// Knows: exactly and firstAvailable requests, ExactCount and All, adminAccess, matchAttribute
// constraints, node-local and shared pools. Selectors as in device_selector.h; no partitionable
// devices, capacity sharing or binding conditions.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "devcluster/nodes/objects.h"

namespace kcm::devcluster::nodes {

// "driver/pool/device"
using DeviceIds = std::set<std::string, std::less<>>;

// What the scheduler knows of devices.
struct DeviceBooks {
  JsonObjects claims, classes, slices;
  // Devices promised to claims whose allocation is still on its way to the server, by claim.
  std::map<std::string, DeviceIds, std::less<>> promised;
};

// What is to be written into a claim before its pod is bound.
struct ClaimAllocation {
  std::string ns, claim, claim_uid;
  uint64_t claim_version = 0;
  Json allocation;    // null: it is allocated already, only the reservation is missing
  DeviceIds devices;  // of `allocation`
};

// Borrows pod and books: for one decision.
class DeviceChoice {
 public:
  DeviceChoice(const Pod& pod, const DeviceBooks& books);
  ~DeviceChoice();
  DeviceChoice(const DeviceChoice&) = delete;
  DeviceChoice& operator=(const DeviceChoice&) = delete;

  // Why no node will do for now, nullopt otherwise.
  const std::optional<std::string>& missing() const;
  // Empty when the node has the devices, else why not, in the words of kube-scheduler.
  std::string Against(const NodeObject& node) const;
  // The writes that give the pod its devices on `node`. REQUIRES: Against(node) is empty.
  std::vector<ClaimAllocation> Allocations(const NodeObject& node) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster::nodes
