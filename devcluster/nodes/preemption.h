// SPDX-License-Identifier: Apache-2.0
// Preemption: which pods of lower priority must go from a node so that another fits. Pure.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "devcluster/nodes/objects.h"
#include "devcluster/nodes/placement.h"

namespace kcm::devcluster::nodes {

struct Eviction {
  std::string node;
  std::vector<const Pod*> victims;  // highest priority first
};

// Whether the pod fits into a room that the pods of `gone` have left.
using FitsWithout = std::function<bool(const Room& room, const std::vector<const Pod*>& gone)>;

// The fewest important pods of `lower` (all on the room's node, all of lower priority) without
// which the pod fits; none when it does not fit without all of them.
std::vector<const Pod*> VictimsOn(const Room& room, std::vector<const Pod*> lower,
                                  const FitsWithout& fits);

// Whether `x` hurts less than `y`: lower highest priority, lower sum, fewer victims.
bool HurtsLess(const Eviction& x, const Eviction& y);

}  // namespace kcm::devcluster::nodes
