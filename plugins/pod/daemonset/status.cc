// SPDX-License-Identifier: Apache-2.0
// Counting nodes.
#include "plugins/pod/daemonset/status.h"

#include <nlohmann/json.hpp>

#include "kcm/rules/pod.h"

namespace kcm::pod::daemonset {

using rules::Node;

Counts CountNodes(const Spec& set, const Fleet& fleet, std::string_view hash, rules::WallTime now) {
  Counts counts;
  for (const auto& [node, eligibility] : fleet.nodes) {
    const std::span<const size_t> here = fleet.PodsOn(node);
    if (!eligibility.should_run) {
      if (!here.empty()) ++counts.misscheduled;
      continue;
    }
    ++counts.desired;
    if (here.empty()) continue;
    ++counts.current;
    const Node pod = fleet.pods[here.front()];
    if (rules::IsPodReady(pod)) ++counts.ready;
    if (rules::IsPodAvailable(pod, set.min_ready_seconds, now)) ++counts.available;
    if (IsUpdated(set, pod, hash)) ++counts.updated;
  }
  counts.unavailable = counts.desired - counts.available;
  return counts;
}

Counts CountsInStatus(Node set) {
  const Node status = set.Get("status");
  return {.desired = status.Get("desiredNumberScheduled").Int(),
          .current = status.Get("currentNumberScheduled").Int(),
          .misscheduled = status.Get("numberMisscheduled").Int(),
          .ready = status.Get("numberReady").Int(),
          .updated = status.Get("updatedNumberScheduled").Int(),
          .available = status.Get("numberAvailable").Int(),
          .unavailable = status.Get("numberUnavailable").Int()};
}

void ApplyStatus(nlohmann::json& set, const Counts& counts,
                 std::optional<int64_t> observed_generation) {
  nlohmann::json& status = set["status"];
  if (observed_generation) status["observedGeneration"] = *observed_generation;
  status["desiredNumberScheduled"] = counts.desired;
  status["currentNumberScheduled"] = counts.current;
  status["numberMisscheduled"] = counts.misscheduled;
  status["numberReady"] = counts.ready;
  status["updatedNumberScheduled"] = counts.updated;
  status["numberAvailable"] = counts.available;
  status["numberUnavailable"] = counts.unavailable;
}

}  // namespace kcm::pod::daemonset
