// SPDX-License-Identifier: Apache-2.0
// The status of a ReplicaSet or ReplicationController, computed and compared (spec/pod-workloads.md
// 2, Reconcile 6-7). Pure.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "kcm/rules/time.h"

namespace kcm::pod::replicaset {

struct Counts {
  int64_t replicas = 0;
  int64_t fully_labeled = 0;
  int64_t ready = 0;
  int64_t available = 0;
  std::optional<int64_t> terminating =
      std::nullopt;  // nullopt: the server does not know the field, or RC
  int64_t observed_generation = 0;

  friend bool operator==(const Counts&, const Counts&) = default;
};

// What the object's status says. `with_terminating` false: terminatingReplicas is not looked at.
Counts CountsInStatus(rules::Node owner, bool with_terminating);
// What it is to say. `terminating`: number of terminating pods, nullopt when not to be reported.
Counts CountPods(rules::Node owner, std::span<const rules::Node> active,
                 std::optional<int64_t> terminating, rules::WallTime now);

// What happens to the condition ReplicaFailure. While it exists it is not touched: message and time
// stay.
struct FailureChange {
  enum class Type : uint8_t { kKeep, kSet, kRemove };
  Type type = Type::kKeep;
  std::string_view reason = {};
  std::string message = {};
};
// `error`: what creating or deleting came to in this reconcile; nullptr: all went well, or nothing
// was done.
FailureChange DecideFailure(rules::Node owner, int64_t active, int64_t wanted, const Error* error);

// Puts both into the status of a whole object; everything else in it stays.
void ApplyStatus(nlohmann::json& owner, const Counts& counts, const FailureChange& failure,
                 rules::WallTime now);

}  // namespace kcm::pod::replicaset
