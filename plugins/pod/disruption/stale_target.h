// SPDX-License-Identifier: Apache-2.0
// Pods that were to be disrupted and were not (spec/pod-batch.md 5.6). Pure.
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"

namespace kcm::pod::disruption {

// In what time the pod's condition DisruptionTarget becomes stale, 0 when it is by now; nullopt
// when it never does as the pod is.
std::optional<std::chrono::nanoseconds> TargetIsStaleIn(rules::Node pod, rules::WallTime now);

// The strategic merge patch of the pod's status that takes it back; uid and resourceVersion inside
// are preconditions.
std::string TakeBackPatch(rules::Node pod, rules::WallTime now);

}  // namespace kcm::pod::disruption
