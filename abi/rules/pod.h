// SPDX-License-Identifier: Apache-2.0
// Pod predicates and clock rules (spec/pod-workloads.md 1.8). `now` is taken once per reconcile and
// used for every pod in it.
//
//   if (IsPodActive(pod) && IsPodAvailable(pod, rs.Path("spec.minReadySeconds").Int(), now))
//   ++available;
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"

namespace kcm::rules {

// status.phase; empty when the server has set none.
std::string_view PodPhase(Node pod);
// The first Ready condition, absent Node when there is none.
Node PodReadyCondition(Node pod);
bool IsPodReady(Node pod);
// Ready's lastTransitionTime; nullopt when not set.
std::optional<WallTime> PodReadySince(Node pod);
// Ready for at least `min_ready_seconds`, to the second: ready at exactly T + min is available.
bool IsPodAvailable(Node pod, int64_t min_ready_seconds, WallTime now);

bool HasDeletionTimestamp(Node object);
// Phase Succeeded or Failed.
bool IsPodTerminal(Node pod);
// Not terminal, not being deleted.
bool IsPodActive(Node pod);
// Not terminal, but being deleted.
bool IsPodTerminating(Node pod);
// spec.nodeName, empty while unscheduled.
std::string_view PodNodeName(Node pod);

// An init container that runs as long as the pod: restartPolicy Always.
bool IsSidecar(Node init_container);

// The highest restartCount over status.containerStatuses; over sidecars.
int64_t MaxContainerRestarts(Node pod);
int64_t MaxSidecarRestarts(Node pod);

// When the next of these pods becomes available by time alone: the smallest positive
// lastTransitionTime + minReadySeconds
// - now over Ready pods; nullopt when there is none. `now` is the reconcile's. When the result has
// passed on the clock at the time of the requeue, use 0 (1.8).
std::optional<std::chrono::nanoseconds> NextAvailabilityCheck(std::span<const Node> pods,
                                                              int64_t min_ready_seconds,
                                                              WallTime now);

}  // namespace kcm::rules
