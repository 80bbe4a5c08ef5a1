// SPDX-License-Identifier: Apache-2.0
// DraDriver: a simulated driver of dynamic resource allocation (resource.k8s.io/v1), dra.kcm.sim.
// Publishes a ResourceSlice with devices dev-0, dev-1, ... for each simulated node and makes the
// DeviceClass sim. The scheduler allocates them (device_choice.h). Each device has the attributes
// index (number) and model ("even" or "odd", by index), and 16Gi of the capacity memory.
//
// Annotation of nodes: sim/devices: "4"   number of devices, instead of the one for all nodes.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "devcluster/nodes/objects.h"
#include "devcluster/nodes/work_pool.h"

namespace kcm::devcluster::nodes {

inline constexpr char kDraDriver[] = "dra.kcm.sim";
inline constexpr int kMostDevicesOfANode = 128;  // of one slice, as the API has it

// Thread-safe. Makes its requests on the pool, which must be stopped before this is destroyed.
class DraDriver {
 public:
  // `devices`: of each node. `simulates`: whether a node is ours.
  DraDriver(WorkPool& pool, int devices, std::function<bool(const std::string& node)> simulates,
            std::function<void(const std::string&)> log);
  ~DraDriver();

  void Register();
  // From the reflector.
  void OnNodes(const std::vector<NodeObject>& all);
  void OnNode(Change change, const NodeObject& node);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster::nodes
