// SPDX-License-Identifier: Apache-2.0
// Scaling one ReplicaSet, or several in proportion.
#include "plugins/pod/deployment/scale.h"

#include <algorithm>
#include <cmath>

#include "plugins/pod/deployment/revision.h"

namespace kcm::pod::deployment {
namespace {

bool IsSaturated(const Deployment& d, const ReplicaSet* fresh) {
  return fresh != nullptr && fresh->replicas == d.replicas && fresh->available == d.replicas &&
         SizeAnnotation(fresh->root, kDesiredReplicas) == d.replicas;
}

// By how much `set` would grow (shrink) to keep its part of the whole.
int64_t Fraction(const Deployment& d, const ReplicaSet& set, int64_t status_replicas) {
  if (d.replicas == 0) return -set.replicas;
  int64_t before = SizeAnnotation(set.root, kMaxReplicas).value_or(0);
  if (before == 0) before = status_replicas;
  if (before == 0) return 0;
  const double size = static_cast<double>(set.replicas) * static_cast<double>(d.MaxReplicas()) /
                      static_cast<double>(before);
  return static_cast<int64_t>(std::round(size)) - set.replicas;
}

// `active`: places, oldest first.
ScaleSteps Proportional(const Rollout& rollout, std::vector<size_t> active,
                        int64_t status_replicas) {
  const Deployment& d = rollout.deployment;
  int64_t to_add = d.replicas > 0 ? d.MaxReplicas() : 0;
  for (const size_t i : active) to_add -= rollout.sets[i].replicas;
  // Larger ones first; between equals the newest grows first and the oldest shrinks first.
  if (to_add > 0) std::reverse(active.begin(), active.end());
  std::stable_sort(active.begin(), active.end(), [&](size_t x, size_t y) {
    return rollout.sets[x].replicas > rollout.sets[y].replicas;
  });
  ScaleSteps out{.sizes = {}, .forced = true};
  int64_t added = 0;
  for (const size_t i : active) {
    const ReplicaSet& set = rollout.sets[i];
    int64_t part = 0;
    if (to_add != 0 && set.replicas != 0 && to_add != added) {
      part = Fraction(d, set, status_replicas);
      part = to_add > 0 ? std::min(part, to_add - added) : std::max(part, to_add - added);
    }
    added += part;
    out.sizes.push_back({i, set.replicas + part});
  }
  // What rounding left over goes to the first.
  if (!out.sizes.empty() && to_add != 0)
    out.sizes.front().to = std::max<int64_t>(0, out.sizes.front().to + to_add - added);
  return out;
}

}  // namespace

bool IsScalingEvent(const Rollout& rollout) {
  return std::any_of(rollout.sets.begin(), rollout.sets.end(), [&](const ReplicaSet& s) {
    const std::optional<int64_t> desired = SizeAnnotation(s.root, kDesiredReplicas);
    return s.Active() && desired && *desired != rollout.deployment.replicas;
  });
}

ScaleSteps PlanScaling(const Rollout& rollout, int64_t status_replicas) {
  const Deployment& d = rollout.deployment;
  std::vector<size_t> active;
  for (size_t i = 0; i < rollout.sets.size(); ++i) {
    if (rollout.sets[i].Active()) active.push_back(i);
  }
  if (active.size() <= 1) {
    std::optional<size_t> only = active.empty() ? rollout.new_set : std::optional(active.front());
    if (!only && !rollout.sets.empty()) only = rollout.sets.size() - 1;  // the newest
    if (!only) return {};
    const ReplicaSet& set = rollout.sets[*only];
    if (set.replicas != d.replicas) return {.sizes = {{*only, d.replicas}}};
    // The size fits, the annotation does not: without a write this would stay a scaling event for
    // ever (4.4.1).
    const std::optional<int64_t> desired = SizeAnnotation(set.root, kDesiredReplicas);
    if (set.Active() && desired && *desired != d.replicas)
      return {.sizes = {{*only, d.replicas}}, .forced = true};
    return {};
  }
  if (IsSaturated(d, rollout.New())) {
    ScaleSteps out;
    for (const size_t i : active) {
      if (rollout.IsOld(i)) out.sizes.push_back({i, 0});
    }
    return out;
  }
  if (!d.rolling) return {.sizes = {}, .recreate = true};
  return Proportional(rollout, std::move(active), status_replicas);
}

}  // namespace kcm::pod::deployment
