// SPDX-License-Identifier: Apache-2.0
// From the replicas that metrics propose to those that are set: stabilization, rates, bounds
// (spec/pod-batch.md 4.6, 4.7). Pure but for the history, which grows by what is decided.
#pragma once
#include <chrono>
#include <cstdint>
#include <vector>

#include "kcm/rules/time.h"
#include "plugins/pod/hpa/behavior.h"
#include "plugins/pod/hpa/conditions.h"

namespace kcm::pod::hpa {

struct Recommendation {
  int64_t replicas = 0;
  rules::WallTime at{};
  friend bool operator==(const Recommendation&, const Recommendation&) = default;
};

struct ScaleEvent {
  int64_t change = 0;  // of the replicas, without sign
  rules::WallTime at{};
  friend bool operator==(const ScaleEvent&, const ScaleEvent&) = default;
};

// What is remembered of one autoscaler. An entry that is too old to count is overwritten by the
// next, so the lists do not grow beyond the longest window and period ever asked for.
struct History {
  std::vector<Recommendation> recommendations;
  std::vector<ScaleEvent> ups, downs;

  // The first reconcile counts as having recommended what is there: a restart is no reason to
  // scale down early.
  void Begin(int64_t current, rules::WallTime now);
};

struct Bounds {
  int64_t min = 1;
  int64_t max = 1;
};

struct Normalized {
  int64_t replicas = 0;
  Wording able;          // AbleToScale, True
  Wording limit;         // ScalingLimited
  bool limited = false;  // its status
};

// Without spec.behavior. `window`: the highest recommendation of that time counts.
Normalized Normalize(History& history, int64_t proposal, int64_t current, const Bounds& bounds,
                     std::chrono::nanoseconds window, rules::WallTime now);

// REQUIRES: `current` is within the bounds (or 0).
Normalized NormalizeWithBehavior(History& history, int64_t proposal, int64_t current,
                                 const Bounds& bounds, const Behavior& behavior,
                                 rules::WallTime now);

// After the replicas were set, when there is a spec.behavior.
void RecordScaling(History& history, int64_t from, int64_t to, const Behavior& behavior,
                   rules::WallTime now);

}  // namespace kcm::pod::hpa
