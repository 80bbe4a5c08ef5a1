// SPDX-License-Identifier: Apache-2.0
// Who may have no replicas.
#include "plugins/pod/hpa/scale_to_zero.h"

#include <string_view>

namespace kcm::pod::hpa {
namespace {

// Metrics that go on without pods.
bool HasValueMetric(rules::Node metrics) {
  for (const rules::Node metric : metrics.Items()) {
    const std::string_view type = metric.Get("type").String();
    if (type == "Object" || type == "External") return true;
  }
  return false;
}

}  // namespace

bool MayLeaveZero(bool scaled_to_zero, const Bounds& bounds, rules::Node metrics) {
  return scaled_to_zero && (bounds.min != 0 || HasValueMetric(metrics));
}

bool GoesToZero(int64_t from, int64_t to, const Bounds& bounds, rules::Node metrics) {
  return from > 0 && to == 0 && bounds.min == 0 && HasValueMetric(metrics);
}

}  // namespace kcm::pod::hpa
