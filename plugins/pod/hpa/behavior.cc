// SPDX-License-Identifier: Apache-2.0
// Reads spec.behavior.
#include "plugins/pod/hpa/behavior.h"

#include <algorithm>
#include <string_view>

#include "kcm/rules/quantity.h"

namespace kcm::pod::hpa {

using rules::Node;

namespace {

constexpr std::chrono::seconds kDefaultPeriod{15};
constexpr int64_t kDefaultPods = 4;
constexpr int64_t kDefaultPercent = 100;

ScalingRules RulesOf(Node node, std::vector<ScalingPolicy> default_policies,
                     std::chrono::nanoseconds default_window) {
  ScalingRules out;
  const Node window = node.Get("stabilizationWindowSeconds");
  out.window = window.IsNumber() ? std::chrono::seconds(window.Int()) : default_window;
  const std::string_view select = node.Get("selectPolicy").String();
  if (select == "Min") out.select = ScalingRules::Select::kMin;
  if (select == "Disabled") out.select = ScalingRules::Select::kDisabled;
  for (const Node policy : node.Get("policies").Items()) {
    out.policies.push_back({.percent = policy.Get("type").String() == "Percent",
                            .value = policy.Get("value").Int(),
                            .period = std::chrono::seconds(policy.Get("periodSeconds").Int())});
  }
  if (out.policies.empty()) out.policies = std::move(default_policies);
  return out;
}

}  // namespace

std::chrono::seconds ScalingRules::LongestPeriod() const {
  std::chrono::seconds longest{0};
  for (const ScalingPolicy& policy : policies) longest = std::max(longest, policy.period);
  return longest;
}

Behavior BehaviorOf(Node behavior, std::chrono::nanoseconds down_window) {
  const ScalingPolicy percent{.percent = true, .value = kDefaultPercent, .period = kDefaultPeriod};
  const ScalingPolicy pods{.percent = false, .value = kDefaultPods, .period = kDefaultPeriod};
  return {.up = RulesOf(behavior.Get("scaleUp"), {pods, percent}, std::chrono::nanoseconds(0)),
          .down = RulesOf(behavior.Get("scaleDown"), {percent}, down_window)};
}

Tolerances TolerancesOf(Node behavior, double otherwise, bool configurable) {
  const auto of = [&](std::string_view direction) {
    const Node tolerance = behavior.Get(direction).Get("tolerance");
    return configurable && tolerance.Has() ? rules::Quantity::Of(tolerance).ToDouble() : otherwise;
  };
  return {.down = of("scaleDown"), .up = of("scaleUp")};
}

}  // namespace kcm::pod::hpa
