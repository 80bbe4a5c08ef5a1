// SPDX-License-Identifier: Apache-2.0
// What a change of a pod means to the workloads around it (spec/pod-workloads.md 1.6 and 2,
// Triggers).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "kcm/rules/node.h"

namespace kcm::pod::replicaset {

enum class ChangeType : uint8_t { kAdded, kUpdated, kDeleted };

// One controller reference that the change concerns. It still has to be resolved.
struct OwnerWake {
  rules::Node reference;
  bool created = false;       // a creation has been observed
  bool deleted = false;       // a deletion has been observed
  bool became_ready = false;  // also look after minReadySeconds
};

struct PodWakes {
  std::array<OwnerWake, 2> owners{};
  size_t count = 0;
  bool orphan = false;  // every workload whose selector matches the pod's labels
};

// `was`: the state before, absent unless it is an update. The result borrows from both.
PodWakes WakesOf(ChangeType type, rules::Node was, rules::Node now);

}  // namespace kcm::pod::replicaset
