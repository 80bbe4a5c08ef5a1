// SPDX-License-Identifier: Apache-2.0
// The condition DisruptionTarget.
#include "plugins/pod/disruption/stale_target.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "kcm/rules/condition.h"
#include "kcm/rules/pod.h"

namespace kcm::pod::disruption {
namespace {

using nlohmann::json;
using rules::Node;
using std::chrono::nanoseconds;

constexpr std::string_view kDisruptionTarget = "DisruptionTarget";
constexpr std::chrono::minutes kTimeout{2};

}  // namespace

std::optional<nanoseconds> TargetIsStaleIn(Node pod, rules::WallTime now) {
  if (!rules::IsPodActive(pod)) return std::nullopt;
  const Node target = rules::FindCondition(pod, kDisruptionTarget);
  // A kubelet may take any time to end what it is about to end.
  if (target.Get("status").String() != "True" ||
      target.Get("reason").String() == "TerminationByKubelet") {
    return std::nullopt;
  }
  const std::optional<rules::WallTime> since = rules::TimeOf(target.Get("lastTransitionTime"));
  if (!since) return nanoseconds(0);
  return std::max(nanoseconds(0), rules::Elapsed(now, rules::Plus(*since, kTimeout)));
}

std::string TakeBackPatch(Node pod, rules::WallTime now) {
  json condition{{"type", kDisruptionTarget},
                 {"status", "False"},
                 {"lastTransitionTime", rules::FormatTime(now)},
                 {"lastProbeTime", nullptr},
                 {"reason", nullptr},
                 {"message", nullptr}};
  // Servers that do not count generations of pods have none.
  if (const int64_t generation = pod.Path("metadata.generation").Int(); generation > 0)
    condition["observedGeneration"] = generation;
  const json patch{{"metadata",
                    {{"uid", pod.Path("metadata.uid").String()},
                     {"resourceVersion", pod.Path("metadata.resourceVersion").String()}}},
                   {"status", {{"conditions", json::array({std::move(condition)})}}}};
  return patch.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace kcm::pod::disruption
