// SPDX-License-Identifier: Apache-2.0
// Sizes during a rolling update (spec/pod-workloads.md 4.2). Pure.
#pragma once
#include <vector>

#include "plugins/pod/deployment/rollout.h"

namespace kcm::pod::deployment {

// The size of a new ReplicaSet that has `current` replicas now, while all ReplicaSets together have
// `total` (4.2.2). Also for one that is about to be created: current 0. Strategies other than
// RollingUpdate: the Deployment's size.
int64_t NewReplicaSetSize(const Deployment& deployment, int64_t current, int64_t total);

// The steps by which old ReplicaSets shrink, in order: unhealthy replicas first, then healthy ones
// within the budget (4.2.3). A ReplicaSet may appear twice.
struct ScaleDown {
  std::vector<Resize> steps;
  // A ReplicaSet reports more available pods than it wants: what is to happen after `steps` can not
  // be known yet.
  bool aborted = false;
};
// REQUIRES: rollout.New()
ScaleDown ScaleDownOld(const Rollout& rollout);

}  // namespace kcm::pod::deployment
