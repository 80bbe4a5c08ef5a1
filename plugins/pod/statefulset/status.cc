// SPDX-License-Identifier: Apache-2.0
// Counting a StatefulSet's pods.
#include "plugins/pod/statefulset/status.h"

#include <nlohmann/json.hpp>
#include <tuple>

#include "kcm/rules/pod.h"
#include "plugins/pod/statefulset/slots.h"

namespace kcm::pod::statefulset {

using rules::Node;

SetStatus StatusOf(Node set) {
  const Node status = set.Get("status");
  return {.observed_generation = status.Get("observedGeneration").Int(),
          .replicas = status.Get("replicas").Int(),
          .ready = status.Get("readyReplicas").Int(),
          .available = status.Get("availableReplicas").Int(),
          .current = status.Get("currentReplicas").Int(),
          .updated = status.Get("updatedReplicas").Int(),
          .current_revision = std::string(status.Get("currentRevision").String()),
          .update_revision = std::string(status.Get("updateRevision").String()),
          .collision_count = status.Get("collisionCount").Int()};
}

void CountPods(const Spec& set, std::span<const Node> pods, rules::WallTime now,
               SetStatus& status) {
  status.replicas = status.ready = status.available = status.current = status.updated = 0;
  for (const Node pod : pods) {
    if (rules::PodPhase(pod).empty()) continue;
    ++status.replicas;
    if (IsRunningAndReady(pod)) {
      ++status.ready;
      if (rules::IsPodAvailable(pod, set.min_ready_seconds, now)) ++status.available;
    }
    if (rules::HasDeletionTimestamp(pod)) continue;
    const std::string_view revision = RevisionOf(pod);
    if (revision == status.current_revision) ++status.current;
    if (revision == status.update_revision) ++status.updated;
  }
}

void CompleteUpdate(const Spec& set, SetStatus& status) {
  if (!set.rolls || status.updated != set.replicas || status.ready != set.replicas ||
      status.replicas != set.replicas) {
    return;
  }
  status.current_revision = status.update_revision;
  status.current = status.updated;
}

bool NeedsWrite(const SetStatus& stored, const SetStatus& next) {
  const auto shown = [](const SetStatus& s) {
    return std::tie(s.replicas, s.ready, s.available, s.current, s.updated, s.current_revision,
                    s.update_revision);
  };
  return next.observed_generation > stored.observed_generation || shown(stored) != shown(next);
}

void ApplyStatus(nlohmann::json& set, const SetStatus& s) {
  set["status"] = {{"observedGeneration", s.observed_generation},
                   {"replicas", s.replicas},
                   {"readyReplicas", s.ready},
                   {"availableReplicas", s.available},
                   {"currentReplicas", s.current},
                   {"updatedReplicas", s.updated},
                   {"currentRevision", s.current_revision},
                   {"updateRevision", s.update_revision},
                   {"collisionCount", s.collision_count}};
}

}  // namespace kcm::pod::statefulset
