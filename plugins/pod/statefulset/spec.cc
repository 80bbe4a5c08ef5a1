// SPDX-License-Identifier: Apache-2.0
// Reading a StatefulSet.
#include "plugins/pod/statefulset/spec.h"

#include <algorithm>

#include "kcm/rules/pod.h"

namespace kcm::pod::statefulset {

Spec SpecOf(rules::Node set) {
  const rules::Node metadata = set.Get("metadata"), spec = set.Get("spec");
  const rules::Node strategy = spec.Get("updateStrategy"), rolling = strategy.Get("rollingUpdate");
  const rules::Node retention = spec.Get("persistentVolumeClaimRetentionPolicy");
  Spec out{.root = set,
           .name = metadata.Get("name").String(),
           .ns = metadata.Get("namespace").String(),
           .uid = metadata.Get("uid").String()};
  out.replicas = std::max<int64_t>(spec.Get("replicas").Int(1), 0);
  out.start = std::max<int64_t>(spec.Path("ordinals.start").Int(), 0);
  out.min_ready_seconds = spec.Get("minReadySeconds").Int();
  out.history_limit = spec.Get("revisionHistoryLimit").Int(10);
  out.deleting = rules::HasDeletionTimestamp(set);
  out.monotonic = spec.Get("podManagementPolicy").String() != "Parallel";
  out.rolls = !strategy.Get("type").Has() || strategy.Get("type").String() == "RollingUpdate";
  out.has_partition = rolling.Has();
  out.partition = std::max<int64_t>(rolling.Get("partition").Int(), 0);
  out.max_unavailable = rolling.Get("maxUnavailable");
  out.current_replicas = set.Path("status.currentReplicas").Int();
  out.claims_go_when_scaled = retention.Get("whenScaled").String() == "Delete";
  out.claims_go_when_deleted = retention.Get("whenDeleted").String() == "Delete";
  return out;
}

}  // namespace kcm::pod::statefulset
