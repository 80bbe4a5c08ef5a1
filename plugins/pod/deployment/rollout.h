// SPDX-License-Identifier: Apache-2.0
// The values that all decisions about a Deployment are made of (spec/pod-workloads.md section 4,
// Terms).
//
//   Rollout rollout = RolloutOf(deployment.Root(), roots_of_owned_replica_sets);
//   if (const ReplicaSet* fresh = rollout.New()) ...
//
// All of it borrows from the objects it was made from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"

namespace kcm::pod::deployment {

struct ReplicaSet {
  rules::Node root;
  std::string_view name;
  std::string_view created;  // RFC 3339 in UTC: ordered as text
  int64_t replicas = 0;      // spec
  int64_t status_replicas = 0;
  int64_t ready = 0;
  int64_t available = 0;

  bool Active() const { return replicas > 0; }
  // Created before `other`; the name decides between equals.
  bool OlderThan(const ReplicaSet& other) const {
    return created != other.created ? created < other.created : name < other.name;
  }
};
ReplicaSet ReplicaSetOf(rules::Node root);

struct Deployment {
  rules::Node root;
  std::string_view name;
  int64_t replicas = 0;
  bool rolling = false;     // strategy RollingUpdate
  int64_t surge = 0;        // resolved; 0 for other strategies
  int64_t unavailable = 0;  // resolved, at most `replicas`; 0 for other strategies
  bool paused = false;
  std::optional<int64_t> deadline_seconds;  // nullopt: progress is not watched

  int64_t MaxReplicas() const { return replicas + surge; }
  int64_t MinAvailable() const { return replicas - unavailable; }
};
// Fails when maxSurge or maxUnavailable can not be read.
Result<Deployment> DeploymentOf(rules::Node root);

struct Rollout {
  Deployment deployment;
  std::vector<ReplicaSet> sets;        // all that it owns, oldest first
  std::optional<size_t> new_set = {};  // place of the one with the Deployment's template

  const ReplicaSet* New() const { return new_set ? &sets[*new_set] : nullptr; }
  bool IsOld(size_t place) const { return place != new_set; }
  int64_t TotalReplicas() const;  // spec
  int64_t TotalAvailable() const;
};

// The oldest of `sets` (oldest first) whose template equals the Deployment's (1.12).
std::optional<size_t> FindNewReplicaSet(rules::Node deployment,
                                        const std::vector<ReplicaSet>& sets);

// A size that one ReplicaSet is to get.
struct Resize {
  size_t set = 0;
  int64_t to = 0;
  friend bool operator==(const Resize&, const Resize&) = default;
};

}  // namespace kcm::pod::deployment
