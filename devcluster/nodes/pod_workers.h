// SPDX-License-Identifier: Apache-2.0
// PodWorkers: runs the pods bound to simulated nodes (Pending, Running, Ready, restarts, end,
// deletion) as their annotations say (kubelets.h lists them).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "devcluster/nodes/objects.h"
#include "devcluster/nodes/work_pool.h"
#include "host/clock/clock.h"
#include "kcm/rules/time.h"

namespace kcm::devcluster::nodes {

// A running pod, for metrics.
struct MeteredPod {
  std::string uid, ns, name, node, owner_uid;
  Strings labels, annotations;
  std::vector<std::string> containers;
  rules::WallTime started;
};

// Thread-safe. Makes its requests on the pool, which must outlive it or be stopped first.
class PodWorkers {
 public:
  // `node_runs`: whether pods of this node are ours to run now. Called with the pods' lock held.
  PodWorkers(host::clock::Clock& clock, WorkPool& pool,
             std::function<bool(const std::string& node)> node_runs,
             std::function<void(const std::string&)> log);
  ~PodWorkers();

  // From the reflector; calls come in order.
  void OnPods(const std::vector<Pod>& all);
  void OnPod(Change change, const Pod& pod);
  // A pod as a list of one node has shown it.
  void See(const Pod& pod);
  // The node is back: what should have happened to its pods while it was away happens now.
  void Recover(const std::string& node);

  // Running pods of nodes that run, in the order of their names; of one namespace unless it is "".
  std::vector<MeteredPod> Running(const std::string& ns) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster::nodes
