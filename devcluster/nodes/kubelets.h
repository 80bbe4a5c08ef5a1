// SPDX-License-Identifier: Apache-2.0
// Kubelets: the simulated kubelets of all nodes. Registers nodes, renews their leases, runs the
// pods bound to them (Pending, Running, Ready, terminated), completes deletions, and obeys
// annotations.
//
// Annotations of pods
//   sim/ready-after: "5"      seconds before Ready (default 0)     sim/never-ready: "true"
//   sim/exit-after: "2"       seconds until the containers terminate and the pod with them
//   sim/exit-code: "1"        (default 0)   sim/exit-code.CONTAINER: "3"   of one container
//   sim/exit-code-by-index: "1=3,2=0"   of an Indexed Job's pods (others: sim/exit-code)
//   sim/exit-reason: "OOMKilled"   (default Completed or Error; code 137 unless one is given)
//   sim/exit-reason.CONTAINER      of one container
//   sim/restart-after: "5"    seconds until the containers terminate and are started again, with a
//                             back-off, as often as sim/restarts: "3" says (default: always). Where
//                             the restart policy allows no restart the pod ends instead
//   sim/delete-after: "3"     seconds a deletion takes (default 0), or "grace": the whole grace
//                             period
//   sim/run-forever: "true"   keeps a Job's pod running            sim/ignore: "true"  the pod is
//   left alone, deletion too
// A pod of a Job exits with code 0 after one second unless annotated otherwise.
//
// Nodes made by others are simulated too once they carry the label sim/kubelet=true. On those and
// our own the annotation sim/fail=true stops the node (no lease, no status, no pods), removing it
// brings the node back; sim/conditions="MemoryPressure=True,Ready=False" sets condition values.
// What was to happen to a failed node's pods happens when the node is back.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "devcluster/nodes/objects.h"
#include "devcluster/nodes/work_pool.h"
#include "host/clock/clock.h"
#include "kcm/rules/result.h"

namespace kcm::devcluster::nodes {

class PodWorkers;

struct KubeletOptions {
  int count = 3;
  int zones = 3;
  std::string prefix = "sim-";
  host::clock::Duration heartbeat = std::chrono::seconds(10);
  std::function<void(const std::string&)> log;  // failures, one line each; may be empty
};

// Thread-safe. Makes its requests on the pool, which must outlive it or be stopped first.
class Kubelets {
 public:
  Kubelets(host::clock::Clock& clock, WorkPool& pool, KubeletOptions options);
  ~Kubelets();

  // Creates the nodes (existing ones are taken over), posts their status and first lease. Blocks
  // until done.
  Status Register();
  // Starts lease renewals and the status report of every minute.
  void StartHeartbeats();

  // From the reflectors; calls for one resource come in order.
  void OnNodes(std::vector<NodeObject> all);
  void OnNode(Change change, NodeObject node);
  void OnPods(const std::vector<Pod>& all);
  void OnPod(Change change, const Pod& pod);
  PodWorkers& pods();
  // Whether the node is simulated here, also while it has failed.
  bool Simulates(const std::string& node) const;
  // Nodes that have not failed, with their labels, in the order of their names.
  std::map<std::string, Strings> RunningNodes() const;

  // A node of ours fails or comes back, as the annotation sim/fail does it. Error: there is no such
  // node.
  Status Fail(const std::string& node);
  Status Resume(const std::string& node);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster::nodes
