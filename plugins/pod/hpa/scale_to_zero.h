// SPDX-License-Identifier: Apache-2.0
// Targets without replicas (spec/pod-batch.md 4.9). Pure.
#pragma once
#include <cstdint>

#include "kcm/rules/node.h"
#include "plugins/pod/hpa/normalization.h"

namespace kcm::pod::hpa {

// `metrics`: spec.metrics.

// Whether a target without replicas may get some: only one that its autoscaler took them from
// (`scaled_to_zero`: its condition says so); somebody else's zero stays.
bool MayLeaveZero(bool scaled_to_zero, const Bounds& bounds, rules::Node metrics);

// Whether this change of replicas makes it such a target.
bool GoesToZero(int64_t from, int64_t to, const Bounds& bounds, rules::Node metrics);

}  // namespace kcm::pod::hpa
