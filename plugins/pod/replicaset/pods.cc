// SPDX-License-Identifier: Apache-2.0
// Scale plan and choice of victims.
#include "plugins/pod/replicaset/pods.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "kcm/rules/pod.h"
#include "kcm/rules/pod_deletion_order.h"

namespace kcm::pod::replicaset {
namespace {

using rules::Node;
using rules::WallTime;

std::optional<WallTime> CreatedAt(Node pod) {
  return rules::TimeOf(pod.Path("metadata.creationTimestamp"));
}

int64_t Milliseconds(WallTime from, WallTime to) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(rules::Elapsed(from, to)).count();
}

}  // namespace

ScalePlan PlanScale(int64_t active, int64_t wanted) {
  wanted = std::max<int64_t>(wanted, 0);
  if (active < wanted) return {.creates = std::min(wanted - active, kBurst)};
  return {.deletes = std::min(active - wanted, kBurst)};
}

std::vector<size_t> PodsToDelete(std::span<const Node> active, std::span<const Node> related,
                                 int64_t count, WallTime now) {
  const size_t wanted = static_cast<size_t>(std::max<int64_t>(count, 0));
  if (wanted >= active.size()) {
    std::vector<size_t> all(active.size());
    std::iota(all.begin(), all.end(), size_t{0});
    return all;
  }
  std::vector<int64_t> ranks;
  if (!related.empty()) ranks = rules::DeletionRanks(active, related);
  std::vector<size_t> order = rules::PodDeletionOrder(active, ranks, now);
  order.resize(wanted);
  return order;
}

std::vector<double> DeletionAgeRatios(std::span<const Node> active, std::span<const size_t> chosen,
                                      WallTime now) {
  std::optional<WallTime> youngest;
  for (const Node pod : active) {
    if (!rules::IsPodReady(pod)) continue;
    const std::optional<WallTime> created = CreatedAt(pod);
    if (created && (!youngest || *created > *youngest)) youngest = created;
  }
  std::vector<double> ratios;
  if (!youngest) return ratios;
  const int64_t youngest_age = Milliseconds(*youngest, now);
  if (youngest_age == 0) return ratios;
  for (const size_t place : chosen) {
    const Node pod = active[place];
    const std::optional<WallTime> created = CreatedAt(pod);
    if (!created || !rules::IsPodReady(pod)) continue;
    ratios.push_back(static_cast<double>(Milliseconds(*created, now) / youngest_age));
  }
  return ratios;
}

}  // namespace kcm::pod::replicaset
