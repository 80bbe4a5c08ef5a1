// SPDX-License-Identifier: Apache-2.0
// Stabilization windows, rate limits and bounds.
#include "plugins/pod/hpa/normalization.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kcm::pod::hpa {

using rules::WallTime;

namespace {

// Without behavior: at most twice as many in one step, but a few at any rate.
constexpr int64_t kUpFactor = 2;
constexpr int64_t kUpAtLeast = 4;

constexpr int64_t kNoReplicas = std::numeric_limits<int32_t>::min();
constexpr int64_t kAllReplicas = std::numeric_limits<int32_t>::max();

WallTime Before(WallTime now, std::chrono::nanoseconds d) { return rules::Plus(now, -d); }

// Takes the place of the last entry that `is_old`, if there is one.
template <class T, class IsOld>
void Store(std::vector<T>& entries, const T& entry, IsOld is_old) {
  const auto old = std::find_if(entries.rbegin(), entries.rend(), is_old);
  if (old == entries.rend()) {
    entries.push_back(entry);
  } else {
    *old = entry;
  }
}

int64_t ChangeWithin(const std::vector<ScaleEvent>& events, std::chrono::seconds period,
                     WallTime now) {
  const WallTime start = Before(now, period);
  int64_t sum = 0;
  for (const ScaleEvent& event : events)
    if (event.at > start) sum += event.change;
  return sum;
}

// Replicas at the start of the period.
int64_t BaseOf(const History& history, const ScalingPolicy& policy, int64_t current, WallTime now) {
  return current - ChangeWithin(history.ups, policy.period, now) +
         ChangeWithin(history.downs, policy.period, now);
}

int64_t UpTo(const ScalingPolicy& policy, int64_t base) {
  if (!policy.percent) return base + policy.value;
  const double factor = 1 + static_cast<double>(policy.value) / 100;
  return CeilToInt32(static_cast<double>(base) * factor);
}

int64_t DownTo(const ScalingPolicy& policy, int64_t base) {
  if (!policy.percent) return base - policy.value;
  const double factor = 1 - static_cast<double>(policy.value) / 100;
  return static_cast<int64_t>(std::trunc(static_cast<double>(base) * factor));
}

int64_t UpLimit(const History& history, const ScalingRules& limits, int64_t current, WallTime now) {
  if (limits.select == ScalingRules::Select::kDisabled) return current;
  const bool smallest = limits.select == ScalingRules::Select::kMin;
  int64_t limit = smallest ? kAllReplicas : kNoReplicas;
  for (const ScalingPolicy& policy : limits.policies) {
    const int64_t up = UpTo(policy, BaseOf(history, policy, current, now));
    limit = smallest ? std::min(limit, up) : std::max(limit, up);
  }
  return std::max(limit, current);
}

int64_t DownLimit(const History& history, const ScalingRules& limits, int64_t current,
                  WallTime now) {
  if (limits.select == ScalingRules::Select::kDisabled) return current;
  const bool smallest = limits.select == ScalingRules::Select::kMin;
  int64_t limit = smallest ? kNoReplicas : kAllReplicas;
  for (const ScalingPolicy& policy : limits.policies) {
    const int64_t down = DownTo(policy, BaseOf(history, policy, current, now));
    limit = smallest ? std::max(limit, down) : std::min(limit, down);
  }
  return std::min(limit, current);
}

Normalized Limited(Normalized n, int64_t replicas, const Wording& why) {
  n.replicas = replicas;
  n.limit = why;
  n.limited = true;
  return n;
}

Normalized Stabilize(History& history, int64_t proposal, int64_t current, const Behavior& behavior,
                     WallTime now) {
  const WallTime up_start = Before(now, behavior.up.window);
  const WallTime down_start = Before(now, behavior.down.window);
  int64_t lowest = proposal, highest = proposal;
  for (const Recommendation& r : history.recommendations) {
    if (r.at > up_start) lowest = std::min(lowest, r.replicas);
    if (r.at > down_start) highest = std::max(highest, r.replicas);
  }
  int64_t stable = std::max(current, lowest);
  stable = std::min(stable, highest);
  Store(history.recommendations, Recommendation{proposal, now},
        [&](const Recommendation& r) { return r.at < up_start && r.at < down_start; });
  Normalized out{.replicas = stable, .able = kReadyForNewScale, .limit = kDesiredWithinRange};
  if (stable != proposal)
    out.able = proposal >= current ? kScaleUpStabilized : kScaleDownStabilized;
  return out;
}

}  // namespace

void History::Begin(int64_t current, WallTime now) {
  if (recommendations.empty()) recommendations.push_back({current, now});
}

Normalized Normalize(History& history, int64_t proposal, int64_t current, const Bounds& bounds,
                     std::chrono::nanoseconds window, WallTime now) {
  const WallTime start = Before(now, window);
  int64_t stable = proposal;
  for (const Recommendation& r : history.recommendations)
    if (r.at >= start) stable = std::max(stable, r.replicas);
  Store(history.recommendations, Recommendation{proposal, now},
        [&](const Recommendation& r) { return r.at < start; });

  const Normalized out{.replicas = stable,
                       .able = stable == proposal ? kReadyForNewScale : kScaleDownStabilized,
                       .limit = kDesiredWithinRange};
  const int64_t limit = std::max(kUpFactor * current, kUpAtLeast);
  const int64_t upper = std::min(bounds.max, limit);
  if (stable < bounds.min) return Limited(out, bounds.min, kTooFewReplicas);
  if (stable <= upper) return out;
  return Limited(out, upper, bounds.max > limit ? kScaleUpLimit : kTooManyReplicas);
}

Normalized NormalizeWithBehavior(History& history, int64_t proposal, int64_t current,
                                 const Bounds& bounds, const Behavior& behavior, WallTime now) {
  const Normalized out = Stabilize(history, proposal, current, behavior, now);
  if (out.replicas > current) {
    const int64_t limit = UpLimit(history, behavior.up, current, now);
    const int64_t upper = std::min(bounds.max, limit);
    if (out.replicas > upper)
      return Limited(out, upper, bounds.max > limit ? kScaleUpLimit : kTooManyReplicas);
  } else if (out.replicas < current) {
    const int64_t limit = DownLimit(history, behavior.down, current, now);
    const int64_t lower = std::max(bounds.min, limit);
    if (out.replicas < lower)
      return Limited(out, lower, bounds.min < limit ? kScaleDownLimit : kTooFewReplicas);
  }
  return out;
}

void RecordScaling(History& history, int64_t from, int64_t to, const Behavior& behavior,
                   WallTime now) {
  const bool up = to > from;
  const ScalingRules& direction = up ? behavior.up : behavior.down;
  const WallTime start = Before(now, direction.LongestPeriod());
  Store(up ? history.ups : history.downs, ScaleEvent{up ? to - from : from - to, now},
        [&](const ScaleEvent& event) { return event.at < start; });
}

}  // namespace kcm::pod::hpa
