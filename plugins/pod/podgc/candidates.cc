// SPDX-License-Identifier: Apache-2.0
// Choosing pods to force-delete.
#include "plugins/pod/podgc/candidates.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>

#include "kcm/rules/condition.h"
#include "kcm/rules/pod.h"
#include "kcm/sdk/object.h"

namespace kcm::pod::podgc {
namespace {

using rules::Node;

constexpr std::string_view kOutOfServiceTaint = "node.kubernetes.io/out-of-service";
constexpr std::string_view kDisruptionTarget = "DisruptionTarget";

// A phase that no pod ever leaves again; an unknown word counts.
bool IsTerminated(Node pod) {
  const std::string_view phase = rules::PodPhase(pod);
  return phase != "Pending" && phase != "Running" && phase != "Unknown";
}

bool IsEvicted(Node pod) {
  return rules::PodPhase(pod) == "Failed" && pod.Path("status.reason").String() == "Evicted";
}

nlohmann::json NodeGoneCondition(Node pod, int64_t generation, rules::WallTime now) {
  const Node current = rules::FindCondition(pod, kDisruptionTarget);
  std::string since = rules::FormatTime(now);
  if (const Node t = current.Get("lastTransitionTime");
      t.Has() && current.Get("status").String() == "True") {
    since = std::string(t.String());
  }
  nlohmann::json out{{"type", kDisruptionTarget},
                     {"status", "True"},
                     {"reason", "DeletionByPodGC"},
                     {"message", "PodGC: node no longer exists"},
                     {"lastTransitionTime", since}};
  if (generation > 0) out["observedGeneration"] = generation;
  return out;
}

}  // namespace

std::vector<size_t> SurplusTerminated(const std::vector<Node>& pods, int64_t threshold) {
  if (threshold <= 0) return {};
  // Read once, not in every comparison.
  struct Candidate {
    bool kept_longer;  // not evicted
    std::optional<rules::WallTime> created;
    std::string_view name;
    size_t place;
    auto Order() const { return std::tie(kept_longer, created, name, place); }
  };
  std::vector<Candidate> terminated;
  for (size_t i = 0; i < pods.size(); ++i) {
    const Node pod = pods[i];
    if (!IsTerminated(pod)) continue;
    terminated.push_back({.kept_longer = !IsEvicted(pod),
                          .created = rules::TimeOf(pod.Path("metadata.creationTimestamp")),
                          .name = pod.Path("metadata.name").String(),
                          .place = i});
  }
  const int64_t surplus = static_cast<int64_t>(terminated.size()) - threshold;
  if (surplus <= 0) return {};
  std::sort(terminated.begin(), terminated.end(),
            [](const Candidate& x, const Candidate& y) { return x.Order() < y.Order(); });
  std::vector<size_t> out;
  for (size_t i = 0; i < static_cast<size_t>(surplus); ++i) out.push_back(terminated[i].place);
  return out;
}

bool IsOutOfService(Node node) {
  if (rules::IsConditionTrue(node, "Ready")) return false;
  for (const Node taint : node.Path("spec.taints").Items())
    if (taint.Get("key").String() == kOutOfServiceTaint) return true;
  return false;
}

std::string FailPatch(Node pod, Disruption disruption, rules::WallTime now) {
  const int64_t generation = pod.Path("metadata.generation").Int();
  nlohmann::json status{{"phase", "Failed"}};
  // Servers that do not count generations of pods drop the field.
  if (generation > 0 && pod.Path("status.observedGeneration").Int() != generation)
    status["observedGeneration"] = generation;
  if (disruption == Disruption::kNodeGone)
    status["conditions"] = nlohmann::json::array({NodeGoneCondition(pod, generation, now)});
  const nlohmann::json patch{{"metadata", {{"uid", pod.Path("metadata.uid").String()}}},
                             {"status", std::move(status)}};
  return patch.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace kcm::pod::podgc
