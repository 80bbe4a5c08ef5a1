// SPDX-License-Identifier: Apache-2.0
// The status of a Deployment as a value (spec/pod-workloads.md 4.6). Pure.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"
#include "plugins/pod/deployment/rollout.h"

namespace kcm::pod::deployment {

inline constexpr std::string_view kAvailable = "Available";
inline constexpr std::string_view kProgressing = "Progressing";
inline constexpr std::string_view kReplicaFailure = "ReplicaFailure";

struct Condition {
  std::string type, status, reason, message;
  std::string last_update, last_transition;  // RFC 3339
  friend bool operator==(const Condition&, const Condition&) = default;
};
Condition MakeCondition(std::string_view type, std::string_view status, std::string_view reason,
                        std::string message, rules::WallTime now);

struct DeploymentStatus {
  int64_t observed_generation = 0;
  int64_t replicas = 0;
  int64_t updated = 0;
  int64_t ready = 0;
  int64_t available = 0;
  int64_t unavailable = 0;
  std::optional<int64_t> terminating = {};
  std::optional<int64_t> collisions = {};
  std::vector<Condition> conditions = {};

  const Condition* Find(std::string_view type) const;
  // Puts `c` in place of the condition of its type. One with the same status and reason stays as it
  // is, message included; the time of the last transition is kept while the status stays.
  void Set(Condition c);
  void Remove(std::string_view type);
  friend bool operator==(const DeploymentStatus&, const DeploymentStatus&) = default;
};

// What the object says. `with_terminating` false: terminatingReplicas is not looked at (1.18).
DeploymentStatus StatusOf(rules::Node deployment, bool with_terminating);

// Plain status: sums over the ReplicaSets and the condition Available; the other conditions as in
// `current`.
DeploymentStatus PlainStatus(const Rollout& rollout, const DeploymentStatus& current,
                             bool with_terminating, rules::WallTime now);

// Puts it into a whole Deployment.
void ApplyStatus(nlohmann::json& deployment, const DeploymentStatus& status);

}  // namespace kcm::pod::deployment
