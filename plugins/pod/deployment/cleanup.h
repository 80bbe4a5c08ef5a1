// SPDX-License-Identifier: Apache-2.0
// Which old ReplicaSets the revision history does not need any more (spec/pod-workloads.md 4.8).
// Pure.
#pragma once
#include <cstddef>
#include <vector>

#include "plugins/pod/deployment/rollout.h"

namespace kcm::pod::deployment {

// Places of the ReplicaSets to delete, lowest revision first. Only the oldest ones beyond
// spec.revisionHistoryLimit are looked at; one that still has pods, or whose controller has not
// seen its last change, stays and nothing is deleted in its stead.
std::vector<size_t> SetsToDelete(const Rollout& rollout);

}  // namespace kcm::pod::deployment
