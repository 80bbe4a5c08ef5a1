// SPDX-License-Identifier: Apache-2.0
// Reading Deployments and ReplicaSets into values.
#include "plugins/pod/deployment/rollout.h"

#include <algorithm>
#include <limits>

#include "kcm/rules/equality.h"
#include "kcm/rules/int_or_percent.h"

namespace kcm::pod::deployment {
namespace {

using rules::Node;

constexpr int64_t kNoDeadline = std::numeric_limits<int32_t>::max();

}  // namespace

ReplicaSet ReplicaSetOf(Node root) {
  const Node metadata = root.Get("metadata"), status = root.Get("status");
  return {.root = root,
          .name = metadata.Get("name").String(),
          .created = metadata.Get("creationTimestamp").String(),
          .replicas = root.Path("spec.replicas").Int(1),
          .status_replicas = status.Get("replicas").Int(),
          .ready = status.Get("readyReplicas").Int(),
          .available = status.Get("availableReplicas").Int()};
}

Result<Deployment> DeploymentOf(Node root) {
  const Node spec = root.Get("spec"), strategy = spec.Get("strategy");
  Deployment d{.root = root,
               .name = root.Path("metadata.name").String(),
               .replicas = spec.Get("replicas").Int(1),
               .rolling = strategy.Get("type").String() == "RollingUpdate",
               .paused = spec.Get("paused").Bool(),
               .deadline_seconds = std::nullopt};
  const Node deadline = spec.Get("progressDeadlineSeconds");
  if (deadline.IsNumber() && deadline.Int() != kNoDeadline) d.deadline_seconds = deadline.Int();
  if (!d.rolling) return d;
  const Node update = strategy.Get("rollingUpdate");
  const Result<rules::RollingLimits> limits =
      rules::DeploymentLimits(update.Get("maxSurge"), update.Get("maxUnavailable"), d.replicas);
  if (!limits.ok()) return limits.error();
  d.surge = limits->surge;
  d.unavailable = std::min(limits->unavailable, d.replicas);
  return d;
}

int64_t Rollout::TotalReplicas() const {
  int64_t n = 0;
  for (const ReplicaSet& s : sets) n += s.replicas;
  return n;
}

int64_t Rollout::TotalAvailable() const {
  int64_t n = 0;
  for (const ReplicaSet& s : sets) n += s.available;
  return n;
}

std::optional<size_t> FindNewReplicaSet(Node deployment, const std::vector<ReplicaSet>& sets) {
  const Node wanted = deployment.Path("spec.template");
  for (size_t i = 0; i < sets.size(); ++i) {
    if (rules::PodTemplatesEqual(sets[i].root.Path("spec.template"), wanted)) return i;
  }
  return std::nullopt;
}

}  // namespace kcm::pod::deployment
