// SPDX-License-Identifier: Apache-2.0
// Percentages of replica counts.
#include "kcm/rules/int_or_percent.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "kcm/rules/decimal_int64.h"
#include "kcm/rules/go_quote.h"

namespace kcm::rules {
namespace {

Error InvalidIntOrPercent(const std::string& cause) {
  return MakeError(Code::kInvalid, "invalid value for IntOrString: " + cause);
}

Result<RollingLimits> Limits(Node max_surge, Node max_unavailable, int64_t desired,
                             Rounding unavailable_rounding) {
  const Result<int64_t> surge = IntOrPercent(max_surge, desired, Rounding::kUp);
  if (!surge.ok()) return surge.error();
  const Result<int64_t> unavailable = IntOrPercent(max_unavailable, desired, unavailable_rounding);
  if (!unavailable.ok()) return unavailable.error();
  return RollingLimits{*surge, *unavailable};
}

}  // namespace

Result<int64_t> IntOrPercent(Node value, int64_t total, Rounding rounding) {
  if (!value.Has()) return int64_t{0};
  if (value.IsNumber()) return value.Int();
  std::string_view text = value.String();
  if (!value.IsString() || !text.ends_with('%')) {
    return InvalidIntOrPercent("invalid type: string is not a percentage");
  }
  text.remove_suffix(1);
  const std::optional<int64_t> percent = ParseInt64(text);
  if (!percent) return InvalidIntOrPercent("invalid value " + GoQuote(value.String()));
  const double exact = static_cast<double>(*percent) * static_cast<double>(total) / 100;
  // The API's counts are int32; beyond that a user's number must not become undefined behaviour.
  constexpr double kMost = 2147483647;
  const double rounded = rounding == Rounding::kUp ? std::ceil(exact) : std::floor(exact);
  return static_cast<int64_t>(std::clamp(rounded, -kMost, kMost));
}

Result<RollingLimits> DeploymentLimits(Node max_surge, Node max_unavailable, int64_t desired) {
  Result<RollingLimits> limits = Limits(max_surge, max_unavailable, desired, Rounding::kDown);
  // Validation refuses 0 and 0, but two percentages may still both come out as 0: the rollout would
  // stand still.
  if (limits.ok() && limits->surge == 0 && limits->unavailable == 0) limits->unavailable = 1;
  return limits;
}

Result<RollingLimits> DaemonSetLimits(Node max_surge, Node max_unavailable, int64_t desired) {
  Result<RollingLimits> limits = Limits(max_surge, max_unavailable, desired, Rounding::kUp);
  if (limits.ok() && desired > 0 && limits->surge == 0 && limits->unavailable == 0) {
    limits->unavailable = 1;
  }
  return limits;
}

Result<int64_t> StatefulSetMaxUnavailable(Node max_unavailable, int64_t replicas) {
  const Result<int64_t> value = IntOrPercent(max_unavailable, replicas, Rounding::kDown);
  if (!value.ok()) return value.error();
  return std::max<int64_t>(*value, 1);
}

}  // namespace kcm::rules
