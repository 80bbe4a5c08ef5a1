// SPDX-License-Identifier: Apache-2.0
// Reading, computing and writing a Deployment's status.
#include "plugins/pod/deployment/status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kcm::pod::deployment {
namespace {

using rules::Node;

// nullopt: one ReplicaSet does not say.
std::optional<int64_t> TotalTerminating(const Rollout& rollout) {
  int64_t total = 0;
  for (const ReplicaSet& s : rollout.sets) {
    const Node status = s.root.Get("status"), own = status.Get("terminatingReplicas");
    if (own.IsNumber()) {
      total += own.Int();
    } else if (status.Get("observedGeneration").Int() != 0) {
      return std::nullopt;
    }
  }
  return total;
}

Condition Availability(const Deployment& d, int64_t available, rules::WallTime now) {
  if (available >= d.MinAvailable()) {
    return MakeCondition(kAvailable, "True", "MinimumReplicasAvailable",
                         "Deployment has minimum availability.", now);
  }
  return MakeCondition(kAvailable, "False", "MinimumReplicasUnavailable",
                       "Deployment does not have minimum availability.", now);
}

void PutNumber(nlohmann::json& status, const char* name, std::optional<int64_t> value) {
  if (value) {
    status[name] = *value;
  } else {
    status.erase(name);
  }
}

nlohmann::json JsonOf(const Condition& c) {
  nlohmann::json out{{"type", c.type}, {"status", c.status}};
  if (!c.last_update.empty()) out["lastUpdateTime"] = c.last_update;
  if (!c.last_transition.empty()) out["lastTransitionTime"] = c.last_transition;
  if (!c.reason.empty()) out["reason"] = c.reason;
  if (!c.message.empty()) out["message"] = c.message;
  return out;
}

}  // namespace

Condition MakeCondition(std::string_view type, std::string_view status, std::string_view reason,
                        std::string message, rules::WallTime now) {
  const std::string time = rules::FormatTime(now);
  return {.type = std::string(type),
          .status = std::string(status),
          .reason = std::string(reason),
          .message = std::move(message),
          .last_update = time,
          .last_transition = time};
}

const Condition* DeploymentStatus::Find(std::string_view type) const {
  const auto it = std::find_if(conditions.begin(), conditions.end(),
                               [type](const Condition& c) { return c.type == type; });
  return it == conditions.end() ? nullptr : &*it;
}

void DeploymentStatus::Set(Condition c) {
  if (const Condition* current = Find(c.type)) {
    if (current->status == c.status && current->reason == c.reason) return;
    if (current->status == c.status) c.last_transition = current->last_transition;
  }
  Remove(c.type);
  conditions.push_back(std::move(c));
}

void DeploymentStatus::Remove(std::string_view type) {
  std::erase_if(conditions, [type](const Condition& c) { return c.type == type; });
}

DeploymentStatus StatusOf(Node deployment, bool with_terminating) {
  const Node s = deployment.Get("status");
  DeploymentStatus out{.observed_generation = s.Get("observedGeneration").Int(),
                       .replicas = s.Get("replicas").Int(),
                       .updated = s.Get("updatedReplicas").Int(),
                       .ready = s.Get("readyReplicas").Int(),
                       .available = s.Get("availableReplicas").Int(),
                       .unavailable = s.Get("unavailableReplicas").Int()};
  if (const Node n = s.Get("terminatingReplicas"); with_terminating && n.IsNumber())
    out.terminating = n.Int();
  if (const Node n = s.Get("collisionCount"); n.IsNumber()) out.collisions = n.Int();
  for (const Node c : s.Get("conditions").Items()) {
    out.conditions.push_back(
        {.type = std::string(c.Get("type").String()),
         .status = std::string(c.Get("status").String()),
         .reason = std::string(c.Get("reason").String()),
         .message = std::string(c.Get("message").String()),
         .last_update = std::string(c.Get("lastUpdateTime").String()),
         .last_transition = std::string(c.Get("lastTransitionTime").String())});
  }
  return out;
}

DeploymentStatus PlainStatus(const Rollout& rollout, const DeploymentStatus& current,
                             bool with_terminating, rules::WallTime now) {
  DeploymentStatus out{
      .observed_generation = rollout.deployment.root.Path("metadata.generation").Int(),
      .collisions = current.collisions,
      .conditions = current.conditions};
  for (const ReplicaSet& s : rollout.sets) {
    out.replicas += s.status_replicas;
    out.ready += s.ready;
    out.available += s.available;
  }
  if (const ReplicaSet* fresh = rollout.New()) out.updated = fresh->status_replicas;
  out.unavailable = std::max<int64_t>(0, rollout.TotalReplicas() - out.available);
  if (with_terminating) out.terminating = TotalTerminating(rollout);
  out.Set(Availability(rollout.deployment, out.available, now));
  return out;
}

void ApplyStatus(nlohmann::json& deployment, const DeploymentStatus& s) {
  nlohmann::json& status = deployment["status"];
  if (!status.is_object()) status = nlohmann::json::object();
  status["observedGeneration"] = s.observed_generation;
  status["replicas"] = s.replicas;
  status["updatedReplicas"] = s.updated;
  status["readyReplicas"] = s.ready;
  status["availableReplicas"] = s.available;
  status["unavailableReplicas"] = s.unavailable;
  PutNumber(status, "terminatingReplicas", s.terminating);
  PutNumber(status, "collisionCount", s.collisions);
  nlohmann::json conditions = nlohmann::json::array();
  for (const Condition& c : s.conditions) conditions.push_back(JsonOf(c));
  status["conditions"] = std::move(conditions);
}

}  // namespace kcm::pod::deployment
