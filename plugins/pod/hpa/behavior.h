// SPDX-License-Identifier: Apache-2.0
// spec.behavior of an autoscaler (spec/pod-batch.md 4.7).
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "kcm/rules/node.h"
#include "plugins/pod/hpa/replica_count.h"

namespace kcm::pod::hpa {

struct ScalingPolicy {
  bool percent = false;  // of the replicas at the start of the period; else a number of them
  int64_t value = 0;
  std::chrono::seconds period{0};
};

struct ScalingRules {
  enum class Select { kMax, kMin, kDisabled };  // the policy with the largest or smallest change
  std::chrono::nanoseconds window{0};           // of stabilization
  Select select = Select::kMax;
  std::vector<ScalingPolicy> policies;

  std::chrono::seconds LongestPeriod() const;
};

struct Behavior {
  ScalingRules up, down;
};

// `behavior`: spec.behavior; what is absent is as the API server would fill it in. `down_window`:
// where no window is given for scaling down.
Behavior BehaviorOf(rules::Node behavior, std::chrono::nanoseconds down_window);

// `otherwise`: where spec.behavior names none. `configurable`: it may name some.
Tolerances TolerancesOf(rules::Node behavior, double otherwise, bool configurable);

}  // namespace kcm::pod::hpa
