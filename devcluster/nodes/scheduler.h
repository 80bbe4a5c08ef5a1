// SPDX-License-Identifier: Apache-2.0
// Scheduler: binds pending pods of the default scheduler to nodes that may run them, the least
// loaded first.
//
// Respects taints, spec.unschedulable, nodeSelector, required node affinity, cpu, memory and pod
// count, scheduling gates, and waits for volume claims to be bound. The taint not-ready is ignored
// on a node that is ready: without a node-lifecycle-controller nobody would remove it. Not done:
// preemption, pod affinity, topology spread, preferences, devices, choice of volumes
// (WaitForFirstConsumer claims get their selected-node annotation from nobody). A pod that fits
// nowhere gets the condition PodScheduled=False, reason Unschedulable, and an event
// FailedScheduling; it is tried again when nodes, claims or other pods change.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "devcluster/nodes/objects.h"
#include "devcluster/nodes/work_pool.h"
#include "host/clock/clock.h"

namespace kcm::devcluster::nodes {

// Thread-safe. Decides on the calling thread (microseconds), binds on the pool, which must be
// stopped before this is destroyed.
class Scheduler {
 public:
  Scheduler(host::clock::Clock& clock, WorkPool& pool, std::function<void(const std::string&)> log);
  ~Scheduler();

  // From the reflectors. Nothing is scheduled before all three resources have been listed.
  void OnNodes(std::vector<NodeObject> all);
  void OnNode(Change change, NodeObject node);
  void OnClaims(std::vector<Claim> all);
  void OnClaim(Change change, const Claim& claim);
  void OnPods(std::vector<Pod> all);
  void OnPod(Change change, Pod pod);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster::nodes
