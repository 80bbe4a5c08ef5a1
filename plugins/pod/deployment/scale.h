// SPDX-License-Identifier: Apache-2.0
// What a changed spec.replicas does to the ReplicaSets (spec/pod-workloads.md 4.4). Pure.
#pragma once
#include <vector>

#include "plugins/pod/deployment/rollout.h"

namespace kcm::pod::deployment {

// An active ReplicaSet was last scaled for another size of the Deployment (Reconcile 7).
bool IsScalingEvent(const Rollout& rollout);

struct ScaleSteps {
  std::vector<Resize> sizes;
  // Also ReplicaSets that have their size already are written, for their two size annotations.
  bool forced = false;
  // Nothing is for scaling to do: several are active and the strategy is Recreate, which goes on
  // with its own steps.
  bool recreate = false;
};
// `status_replicas`: status.replicas of the Deployment.
ScaleSteps PlanScaling(const Rollout& rollout, int64_t status_replicas);

}  // namespace kcm::pod::deployment
