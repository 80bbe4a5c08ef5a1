// SPDX-License-Identifier: Apache-2.0
// Counting pods and the ReplicaFailure condition.
#include "plugins/pod/replicaset/status.h"

#include <nlohmann/json.hpp>

#include "kcm/rules/condition.h"
#include "kcm/rules/pod.h"

namespace kcm::pod::replicaset {
namespace {

using rules::Node;

constexpr std::string_view kReplicaFailure = "ReplicaFailure";

// The pod has every label of the template.
bool IsFullyLabeled(Node pod_labels, Node template_labels) {
  for (const auto [name, value] : template_labels.Entries()) {
    const Node label = pod_labels.Get(name);
    if (!label.Has() || label.String() != value.String()) return false;
  }
  return true;
}

void RemoveCondition(nlohmann::json& status, std::string_view type) {
  const auto it = status.find("conditions");
  if (it == status.end() || !it->is_array()) return;
  nlohmann::json left = nlohmann::json::array();
  for (nlohmann::json& c : *it) {
    if (!c.is_object() || c.value("type", "") != type) left.push_back(std::move(c));
  }
  if (left.empty()) {
    status.erase(it);
  } else {
    *it = std::move(left);
  }
}

}  // namespace

Counts CountsInStatus(Node owner, bool with_terminating) {
  const Node status = owner.Get("status");
  Counts out{.replicas = status.Get("replicas").Int(),
             .fully_labeled = status.Get("fullyLabeledReplicas").Int(),
             .ready = status.Get("readyReplicas").Int(),
             .available = status.Get("availableReplicas").Int(),
             .observed_generation = status.Get("observedGeneration").Int()};
  const Node terminating = status.Get("terminatingReplicas");
  if (with_terminating && terminating.IsNumber()) out.terminating = terminating.Int();
  return out;
}

Counts CountPods(Node owner, std::span<const Node> active, std::optional<int64_t> terminating,
                 rules::WallTime now) {
  const Node spec = owner.Get("spec");
  const Node template_labels = spec.Path("template.metadata.labels");
  const int64_t min_ready_seconds = spec.Get("minReadySeconds").Int();
  Counts out{.replicas = static_cast<int64_t>(active.size()),
             .terminating = terminating,
             .observed_generation = owner.Path("metadata.generation").Int()};
  for (const Node pod : active) {
    if (IsFullyLabeled(pod.Path("metadata.labels"), template_labels)) ++out.fully_labeled;
    if (!rules::IsPodReady(pod)) continue;
    ++out.ready;
    if (rules::IsPodAvailable(pod, min_ready_seconds, now)) ++out.available;
  }
  return out;
}

FailureChange DecideFailure(Node owner, int64_t active, int64_t wanted, const Error* error) {
  const bool exists = rules::FindCondition(owner, kReplicaFailure).Has();
  if (error == nullptr) {
    return {.type = exists ? FailureChange::Type::kRemove : FailureChange::Type::kKeep};
  }
  if (exists) return {};
  return {.type = FailureChange::Type::kSet,
          .reason = active < wanted ? "FailedCreate" : "FailedDelete",
          .message = error->message};
}

void ApplyStatus(nlohmann::json& owner, const Counts& counts, const FailureChange& failure,
                 rules::WallTime now) {
  nlohmann::json& status = owner["status"];
  if (!status.is_object()) status = nlohmann::json::object();
  status["replicas"] = counts.replicas;
  status["fullyLabeledReplicas"] = counts.fully_labeled;
  status["readyReplicas"] = counts.ready;
  status["availableReplicas"] = counts.available;
  status["observedGeneration"] = counts.observed_generation;
  if (counts.terminating) {
    status["terminatingReplicas"] = *counts.terminating;
  } else {
    status.erase("terminatingReplicas");
  }
  if (failure.type == FailureChange::Type::kKeep) return;
  RemoveCondition(status, kReplicaFailure);
  if (failure.type == FailureChange::Type::kRemove) return;
  status["conditions"].push_back({{"type", kReplicaFailure},
                                  {"status", "True"},
                                  {"lastTransitionTime", rules::FormatTime(now)},
                                  {"reason", failure.reason},
                                  {"message", failure.message}});
}

}  // namespace kcm::pod::replicaset
