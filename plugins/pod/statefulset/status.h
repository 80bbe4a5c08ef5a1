// SPDX-License-Identifier: Apache-2.0
// The status of a StatefulSet, computed and compared (spec/pod-workloads.md 5.7). Pure.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"
#include "plugins/pod/statefulset/spec.h"

namespace kcm::pod::statefulset {

struct SetStatus {
  int64_t observed_generation = 0;
  int64_t replicas = 0;
  int64_t ready = 0;
  int64_t available = 0;
  int64_t current = 0;
  int64_t updated = 0;
  std::string current_revision = {}, update_revision = {};
  int64_t collision_count = 0;
};

SetStatus StatusOf(rules::Node set);

// Sets the five counts of `status` from pods that exist; the revisions are those of `status`.
void CountPods(const Spec& set, std::span<const rules::Node> pods, rules::WallTime now,
               SetStatus& status);
// When every pod is of the update revision and ready, that is the current revision from now on.
void CompleteUpdate(const Spec& set, SetStatus& status);

// Whether `next` is worth a write. collisionCount alone is not.
bool NeedsWrite(const SetStatus& stored, const SetStatus& next);
// Puts it in the place of the whole status of a whole object.
void ApplyStatus(nlohmann::json& set, const SetStatus& status);

}  // namespace kcm::pod::statefulset
