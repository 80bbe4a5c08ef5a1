// SPDX-License-Identifier: Apache-2.0
// Rolling update of a DaemonSet: which old pods go and which nodes get a new one beside the old
// (spec/pod-workloads.md 6.3). Pure.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"
#include "kcm/rules/time.h"
#include "plugins/pod/daemonset/fleet.h"
#include "plugins/pod/daemonset/spec.h"

namespace kcm::pod::daemonset {

struct RollingPlan {
  std::vector<size_t> deleted = {};            // places in the fleet's pods
  std::vector<std::string_view> created = {};  // on these nodes
};

// With surge an error when an old pod's node does not exist (yet): whether the pod belongs there
// can not be told.
Result<RollingPlan> PlanRollingUpdate(const Spec& set, const Fleet& fleet, std::string_view hash,
                                      rules::WallTime now);

}  // namespace kcm::pod::daemonset
