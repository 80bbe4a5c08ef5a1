// SPDX-License-Identifier: Apache-2.0
// Which pods nobody else will delete, and what is said in their status first
// (spec/pod-batch.md 6.1). Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"

namespace kcm::pod::podgc {

// Places of the terminated pods beyond `threshold`, in the order of their deletion: evicted ones,
// then the oldest, then by name. None when the threshold is not positive.
std::vector<size_t> SurplusTerminated(const std::vector<rules::Node>& pods, int64_t threshold);

// The node was declared out of service and is not Ready: whatever terminates on it never ends.
bool IsOutOfService(rules::Node node);

enum class Disruption : uint8_t {
  kNone,
  kNodeGone,  // also the condition DisruptionTarget
};

// The strategic merge patch of a pod's status that makes it Failed; its uid inside is the
// precondition. REQUIRES: the pod is not terminal.
std::string FailPatch(rules::Node pod, Disruption disruption, rules::WallTime now);

}  // namespace kcm::pod::podgc
