// SPDX-License-Identifier: Apache-2.0
// What is left in a namespace after its content was asked to go, and when to look again
// (spec/namespace.md, "Delete one resource").
//
// Pure; thread-safe. Estimates are whole seconds.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"

namespace kcm::ns::namespaces {

struct Leftovers {
  int64_t count = 0;
  std::map<std::string, int64_t> finalizers;  // finalizer -> occurrences
};
Leftovers CountLeftovers(rules::Node list);

// The longest terminationGracePeriodSeconds of the pods that are not Succeeded or Failed.
int64_t LongestGracePeriod(rules::Node pod_list);

// 0 once so many seconds have passed since the namespace's deletion: measured from there and not
// from each pod's own (trap 4).
int64_t StillToWait(int64_t estimate, rules::WallTime deleted, rules::WallTime now);

// Nobody knows how long a finalizer takes.
inline constexpr int64_t kFinalizerEstimate = 15;

// How long `left` may take to go, given the estimate before it was counted.
struct Wait {
  int64_t estimate = 0;
  bool unexpected = false;  // nothing explains that these objects are still there
};
Wait WaitFor(const Leftovers& left, int64_t estimate);

// When a namespace with this estimate is looked at again.
inline std::chrono::seconds RequeueDelay(int64_t estimate) {
  return std::chrono::seconds(estimate / 2 + 1);
}

}  // namespace kcm::ns::namespaces
