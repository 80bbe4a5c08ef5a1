// SPDX-License-Identifier: Apache-2.0
// Pod predicates.
#include "kcm/rules/pod.h"

#include <algorithm>

#include "kcm/rules/condition.h"

namespace kcm::rules {
namespace {

// `since` + seconds, saturated: minReadySeconds comes from a user.
WallTime After(WallTime since, int64_t seconds) {
  constexpr int64_t kMost = int64_t{1} << 31;  // the API's type is int32
  const std::chrono::nanoseconds d = std::chrono::seconds(std::clamp(seconds, int64_t{0}, kMost));
  return since > WallTime::max() - d ? WallTime::max() : since + d;
}

}  // namespace

std::string_view PodPhase(Node pod) { return pod.Get("status").Get("phase").String(); }

Node PodReadyCondition(Node pod) { return FindCondition(pod, "Ready"); }

bool IsPodReady(Node pod) { return PodReadyCondition(pod).Get("status").String() == "True"; }

std::optional<WallTime> PodReadySince(Node pod) {
  return TimeOf(PodReadyCondition(pod).Get("lastTransitionTime"));
}

bool IsPodAvailable(Node pod, int64_t min_ready_seconds, WallTime now) {
  if (!IsPodReady(pod)) return false;
  if (min_ready_seconds == 0) return true;
  const std::optional<WallTime> since = PodReadySince(pod);
  return since && After(*since, min_ready_seconds) <= now;
}

bool HasDeletionTimestamp(Node object) {
  return object.Get("metadata").Get("deletionTimestamp").Has();
}

bool IsPodTerminal(Node pod) {
  const std::string_view phase = PodPhase(pod);
  return phase == "Succeeded" || phase == "Failed";
}

bool IsPodActive(Node pod) { return !IsPodTerminal(pod) && !HasDeletionTimestamp(pod); }

bool IsPodTerminating(Node pod) { return !IsPodTerminal(pod) && HasDeletionTimestamp(pod); }

std::string_view PodNodeName(Node pod) { return pod.Get("spec").Get("nodeName").String(); }

int64_t MaxContainerRestarts(Node pod) {
  int64_t most = 0;
  for (const Node status : pod.Get("status").Get("containerStatuses").Items()) {
    most = std::max(most, status.Get("restartCount").Int());
  }
  return most;
}

bool IsSidecar(Node init_container) {
  return init_container.Get("restartPolicy").String() == "Always";
}

int64_t MaxSidecarRestarts(Node pod) {
  int64_t most = 0;
  const Node statuses = pod.Get("status").Get("initContainerStatuses");
  for (const Node container : pod.Get("spec").Get("initContainers").Items()) {
    if (!IsSidecar(container)) continue;
    const std::string_view name = container.Get("name").String();
    for (const Node status : statuses.Items()) {
      if (status.Get("name").String() == name) {
        most = std::max(most, status.Get("restartCount").Int());
      }
    }
  }
  return most;
}

std::optional<std::chrono::nanoseconds> NextAvailabilityCheck(std::span<const Node> pods,
                                                              int64_t min_ready_seconds,
                                                              WallTime now) {
  if (min_ready_seconds <= 0) return std::nullopt;
  std::optional<std::chrono::nanoseconds> next;
  for (const Node pod : pods) {
    if (!IsPodReady(pod)) continue;
    const std::optional<WallTime> since = PodReadySince(pod);
    if (!since) continue;
    const WallTime available = After(*since, min_ready_seconds);
    if (available <= now) continue;
    const std::chrono::nanoseconds wait = Elapsed(now, available);
    if (!next || wait < *next) next = wait;
  }
  return next;
}

}  // namespace kcm::rules
