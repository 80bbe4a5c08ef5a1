// SPDX-License-Identifier: Apache-2.0
// The arithmetic of rolling updates.
#include "plugins/pod/deployment/rolling_update.h"

#include <algorithm>

namespace kcm::pod::deployment {

int64_t NewReplicaSetSize(const Deployment& deployment, int64_t current, int64_t total) {
  if (!deployment.rolling || current >= deployment.replicas) return deployment.replicas;
  if (total >= deployment.MaxReplicas()) return current;
  return current + std::min(deployment.MaxReplicas() - total, deployment.replicas - current);
}

ScaleDown ScaleDownOld(const Rollout& rollout) {
  ScaleDown out;
  const ReplicaSet& fresh = *rollout.New();
  int64_t old_total = 0;
  for (size_t i = 0; i < rollout.sets.size(); ++i) {
    if (rollout.IsOld(i)) old_total += rollout.sets[i].replicas;
  }
  if (old_total == 0) return out;
  const int64_t min_available = rollout.deployment.MinAvailable();
  // Pods of the new set that are not available yet take from the budget.
  int64_t left = rollout.TotalReplicas() - min_available - (fresh.replicas - fresh.available);
  if (left <= 0) return out;

  std::vector<int64_t> sizes;
  for (const ReplicaSet& s : rollout.sets) sizes.push_back(s.replicas);
  for (size_t i = 0; i < sizes.size() && left > 0; ++i) {
    const int64_t available = rollout.sets[i].available;
    if (!rollout.IsOld(i) || sizes[i] == 0 || sizes[i] == available) continue;
    const int64_t down = std::min(left, sizes[i] - available);
    if (down < 0) {
      out.aborted = true;
      return out;
    }
    left -= down;
    sizes[i] -= down;
    out.steps.push_back({i, sizes[i]});
  }

  int64_t budget = rollout.TotalAvailable() - min_available;
  for (size_t i = 0; i < sizes.size() && budget > 0; ++i) {
    if (!rollout.IsOld(i) || sizes[i] == 0) continue;
    const int64_t down = std::min(sizes[i], budget);
    budget -= down;
    sizes[i] -= down;
    out.steps.push_back({i, sizes[i]});
  }
  return out;
}

}  // namespace kcm::pod::deployment
