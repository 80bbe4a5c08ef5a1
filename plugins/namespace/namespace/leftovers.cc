// SPDX-License-Identifier: Apache-2.0
// Leftovers of a namespace.
#include "plugins/namespace/namespace/leftovers.h"

#include <algorithm>
#include <string_view>

namespace kcm::ns::namespaces {
namespace {

// Grace periods are the user's: a century keeps every later sum inside int64 nanoseconds.
constexpr int64_t kLongestEstimate = 100LL * 365 * 24 * 3600;

}  // namespace

Leftovers CountLeftovers(rules::Node list) {
  Leftovers out;
  for (const rules::Node item : list.Get("items").Items()) {
    ++out.count;
    for (const rules::Node finalizer : item.Path("metadata.finalizers").Items()) {
      ++out.finalizers[std::string(finalizer.String())];
    }
  }
  return out;
}

int64_t LongestGracePeriod(rules::Node pod_list) {
  int64_t longest = 0;
  for (const rules::Node pod : pod_list.Get("items").Items()) {
    const std::string_view phase = pod.Path("status.phase").String();
    if (phase == "Succeeded" || phase == "Failed") continue;
    longest = std::max(longest, pod.Path("spec.terminationGracePeriodSeconds").Int());
  }
  return std::min(longest, kLongestEstimate);
}

int64_t StillToWait(int64_t estimate, rules::WallTime deleted, rules::WallTime now) {
  return rules::Elapsed(deleted, now) >= std::chrono::seconds(estimate) ? 0 : estimate;
}

Wait WaitFor(const Leftovers& left, int64_t estimate) {
  if (left.count == 0) return {};
  if (estimate != 0) return {estimate, false};
  if (!left.finalizers.empty()) return {kFinalizerEstimate, false};
  return {0, true};
}

}  // namespace kcm::ns::namespaces
