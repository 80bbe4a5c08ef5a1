// SPDX-License-Identifier: Apache-2.0
// Int-or-percent arithmetic and the rolling update limits made of it (spec/pod-workloads.md 1.13).
//
//   Result<RollingLimits> limits = DeploymentLimits(ru.Get("maxSurge"), ru.Get("maxUnavailable"),
//   replicas);
#pragma once
#include <cstdint>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"

namespace kcm::rules {

enum class Rounding : uint8_t { kUp, kDown };

// An integer as it is; `"<integer>%"` of `total`. Absent and null: 0. Any other text: kInvalid,
// `invalid value for IntOrString: ...`.
Result<int64_t> IntOrPercent(Node value, int64_t total, Rounding rounding);

struct RollingLimits {
  int64_t surge = 0;
  int64_t unavailable = 0;
};

// Surge up, unavailable down; both 0: unavailable 1.
Result<RollingLimits> DeploymentLimits(Node max_surge, Node max_unavailable, int64_t desired);
// Both up; both 0 and something desired: unavailable 1.
Result<RollingLimits> DaemonSetLimits(Node max_surge, Node max_unavailable, int64_t desired);
// Down, at least 1; absent: 1.
Result<int64_t> StatefulSetMaxUnavailable(Node max_unavailable, int64_t replicas);

}  // namespace kcm::rules
