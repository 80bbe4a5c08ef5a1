// SPDX-License-Identifier: Apache-2.0
// Which pods of a ReplicaSet or ReplicationController are deleted first
// (spec/pod-workloads.md 1.9).
//
//   std::vector<int64_t> ranks = DeletionRanks(active, related);
//   std::vector<size_t> order = PodDeletionOrder(active, ranks, now);   // delete active[order[0]],
//   active[order[1]], ...
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"

namespace kcm::rules {

// The annotation controller.kubernetes.io/pod-deletion-cost; 0 when absent or not a legal int32
// (step 4).
int32_t PodDeletionCost(Node pod);

// For each pod the number of active pods among `related` on the same node (step 5).
std::vector<int64_t> DeletionRanks(std::span<const Node> pods, std::span<const Node> related);

// Indexes into `pods`, first to delete first. `ranks`: one per pod, or empty for all 0. Pods that
// the rules do not tell apart keep their order. Always a permutation, also where the rules
// contradict themselves (they are not transitive).
std::vector<size_t> PodDeletionOrder(std::span<const Node> pods, std::span<const int64_t> ranks,
                                     WallTime now);

}  // namespace kcm::rules
