// SPDX-License-Identifier: Apache-2.0
// Progress of a rollout: complete, progressing, timed out, paused (spec/pod-workloads.md 4.5).
// Pure.
#pragma once
#include <chrono>
#include <optional>

#include "plugins/pod/deployment/rollout.h"
#include "plugins/pod/deployment/status.h"

namespace kcm::pod::deployment {

// Every wanted replica is updated and available, none is left over, and this generation is
// observed.
bool IsComplete(const Deployment& deployment, const DeploymentStatus& status);

// The plain status plus progress and the failure that a ReplicaSet reports.
DeploymentStatus RolloutStatus(const Rollout& rollout, const DeploymentStatus& current,
                               bool with_terminating, rules::WallTime now);

// When to look again whether the rollout has timed out, if nothing else happens before; nullopt: no
// need to. REQUIRES: the status is up to date, so that the deadline has not passed.
std::optional<std::chrono::nanoseconds> NextProgressCheck(const Deployment& deployment,
                                                          const DeploymentStatus& status,
                                                          rules::WallTime now);

// The Progressing condition by which a pause or its end is noted; nullopt: nothing to note.
std::optional<Condition> PauseCondition(const Deployment& deployment,
                                        const DeploymentStatus& status, rules::WallTime now);

}  // namespace kcm::pod::deployment
