// SPDX-License-Identifier: Apache-2.0
// How many pods to create or delete, and which (spec/pod-workloads.md 1.9 and 2, Reconcile 5).
// Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"

namespace kcm::pod::replicaset {

// At most this many creates or deletes in one reconcile; the rest follows when the watch has shown
// them.
inline constexpr int64_t kBurst = 500;

struct ScalePlan {
  int64_t creates = 0;
  int64_t deletes = 0;
};
ScalePlan PlanScale(int64_t active, int64_t wanted);

// Places in `active` of the `count` pods to delete first. `related`: pods of sibling ReplicaSets,
// for the co-location rank. Nothing is sorted when all are deleted.
std::vector<size_t> PodsToDelete(std::span<const rules::Node> active,
                                 std::span<const rules::Node> related, int64_t count,
                                 rules::WallTime now);

// For each chosen Ready pod its age over the age of the youngest Ready pod, in whole numbers, for
// replicaset_controller_sorting_deletion_age_ratio. Pods of an unknown age and a youngest of no age
// give nothing.
std::vector<double> DeletionAgeRatios(std::span<const rules::Node> active,
                                      std::span<const size_t> chosen, rules::WallTime now);

}  // namespace kcm::pod::replicaset
