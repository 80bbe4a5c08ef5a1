// SPDX-License-Identifier: Apache-2.0
// The bodies that a simulated kubelet sends, as pure functions: node status, leases, pod status.
#pragma once
#include <string>
#include <vector>

#include "devcluster/nodes/objects.h"
#include "devcluster/nodes/pod_course.h"
#include "kcm/rules/time.h"

namespace kcm::devcluster::nodes {

// What the reports say of a pod on its node.
struct RunningPod {
  std::string uid, ns, name, ip, started;
  std::vector<Container> containers;
  std::vector<Container> init_containers = {};
  // Of the last restart; restarts 0: none yet.
  int restarts = 0;
  std::vector<ContainerEnd> ends = {};  // by container
  std::string ended = {}, restarted = {};
};

// Node `index` of the simulator's own: labels with hostname, zone and region.
std::string NodeBody(const std::string& name, int index, int zones);
// Status patch after creation: conditions, capacity, node info, address.
std::string NodeRegistration(int index, rules::WallTime now);
// Conditions with the values of annotation sim/conditions ("MemoryPressure=True,Ready=False") laid
// over; `full` adds capacity and node info.
std::string NodeReport(const std::string& forced, bool full, rules::WallTime now);

std::string LeaseRenewal(const std::string& node, rules::WallTime now);
// `uid`: of the node that owns the lease, empty for none.
std::string LeaseBody(const std::string& node, const std::string& uid, rules::WallTime now);

std::string RunningReport(const RunningPod& pod, bool ready, rules::WallTime now);
// Containers have ended and wait for their restart.
std::string BackOffReport(const RunningPod& pod, host::clock::Duration delay, rules::WallTime now);
// The pod has ended, Failed when one container's code is not 0. `ends` by container.
std::string ExitedReport(const RunningPod& pod, const std::vector<ContainerEnd>& ends,
                         rules::WallTime now);
std::string ExitedReport(const RunningPod& pod, int exit_code, rules::WallTime now);

}  // namespace kcm::devcluster::nodes
