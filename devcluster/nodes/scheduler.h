// SPDX-License-Identifier: Apache-2.0
// Scheduler: binds pending pods of the default scheduler to nodes that may run them, the least
// loaded and best liked first.
//
// Respects taints, spec.unschedulable, node selector and affinity, all resources, host ports, pod
// affinity and anti-affinity, topology spread, scheduling gates, volumes (their node affinity;
// WaitForFirstConsumer claims get a volume or their selected-node annotation) and devices
// (ResourceClaims are allocated and reserved). The taint not-ready is ignored on a node that is
// ready: without a node-lifecycle-controller nobody would remove it.
// A pod that fits nowhere gets the condition PodScheduled=False, reason Unschedulable, and an event
// FailedScheduling; it is tried again when something that may matter changes. Where eviction of
// pods of lower priority makes room, they are evicted (PodDisruptionBudgets are not looked at) and
// the room is kept for the pod (status.nominatedNodeName).
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "devcluster/nodes/objects.h"
#include "devcluster/nodes/work_pool.h"
#include "host/clock/clock.h"

namespace kcm::devcluster::nodes {

// Kinds that the scheduler reads beside nodes, pods and claims.
enum class Book { kVolumes, kStorageClasses, kDeviceClaims, kDeviceClasses, kDeviceSlices };

// Thread-safe. Decides on the calling thread (microseconds), binds on the pool, which must be
// stopped before this is destroyed.
class Scheduler {
 public:
  // `devices`: the server serves resource.k8s.io/v1, the books of devices will come.
  Scheduler(host::clock::Clock& clock, WorkPool& pool, bool devices,
            std::function<void(const std::string&)> log);
  ~Scheduler();

  // From the reflectors. Nothing is scheduled before all resources have been listed.
  void OnNodes(std::vector<NodeObject> all);
  void OnNode(Change change, NodeObject node);
  void OnClaims(std::vector<Claim> all);
  void OnClaim(Change change, const Claim& claim);
  void OnPods(std::vector<Pod> all);
  void OnPod(Change change, Pod pod);
  void OnObjects(Book book, std::vector<JsonObject> all);
  void OnObject(Book book, Change change, JsonObject object);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster::nodes
