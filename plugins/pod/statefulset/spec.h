// SPDX-License-Identifier: Apache-2.0
// Spec: what the decisions read of a StatefulSet, with the API's defaults for what is not there.
#pragma once
#include <cstdint>
#include <string_view>

#include "kcm/rules/node.h"

namespace kcm::pod::statefulset {

// Views live as long as the object.
struct Spec {
  rules::Node root;
  std::string_view name, ns, uid;
  int64_t replicas = 1;
  int64_t start = 0;  // the first ordinal
  int64_t min_ready_seconds = 0;
  int64_t history_limit = 10;  // negative: no limit
  bool deleting = false;
  bool monotonic = true;       // one pod after the other (OrderedReady)
  bool rolls = true;           // update strategy RollingUpdate
  bool has_partition = false;  // rollingUpdate is there; it says what is updated at all
  int64_t partition = 0;       // counts slots, not ordinals
  rules::Node max_unavailable = {};
  int64_t current_replicas = 0;  // as the status was last written
  bool claims_go_when_scaled = false;
  bool claims_go_when_deleted = false;

  rules::Node Template() const { return root.Path("spec.template"); }
  rules::Node ClaimTemplates() const { return root.Path("spec.volumeClaimTemplates"); }
  bool HasRetention() const { return claims_go_when_scaled || claims_go_when_deleted; }
  // Whether a pod of this ordinal is wanted.
  bool InRange(int64_t ordinal) const { return ordinal >= start && ordinal - start < replicas; }
};
Spec SpecOf(rules::Node set);

}  // namespace kcm::pod::statefulset
