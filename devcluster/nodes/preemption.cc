// SPDX-License-Identifier: Apache-2.0
// Chooses victims.
#include "devcluster/nodes/preemption.h"

#include <algorithm>
#include <tuple>

namespace kcm::devcluster::nodes {
namespace {

// More important first; among equals the one that started first stays.
bool MoreImportant(const Pod* x, const Pod* y) {
  if (x->priority != y->priority) return x->priority > y->priority;
  return std::tie(x->start_time, x->ns, x->name) < std::tie(y->start_time, y->ns, y->name);
}

// Makes every priority count as something: a sum of negative ones must not shrink with its number.
constexpr int64_t kOffset = int64_t{1} << 31;

}  // namespace

std::vector<const Pod*> VictimsOn(const Room& room, std::vector<const Pod*> lower,
                                  const FitsWithout& fits) {
  if (lower.empty()) return {};
  std::sort(lower.begin(), lower.end(), MoreImportant);
  Room left = room;
  for (const Pod* pod : lower) left.Give(*pod);
  std::vector<const Pod*> gone = lower;
  if (!fits(left, gone)) return {};
  // The most important are let stay as long as it fits all the same.
  for (const Pod* pod : lower) {
    std::vector<const Pod*> fewer = gone;
    std::erase(fewer, pod);
    left.Take(*pod);
    if (fits(left, fewer)) {
      gone = std::move(fewer);
    } else {
      left.Give(*pod);
    }
  }
  return gone;
}

bool HurtsLess(const Eviction& x, const Eviction& y) {
  const auto measure = [](const Eviction& e) {
    int64_t sum = 0;
    for (const Pod* pod : e.victims) sum += pod->priority + kOffset;
    const int64_t highest = e.victims.empty() ? INT64_MIN : e.victims.front()->priority;
    return std::tuple(highest, sum, e.victims.size(), e.node);
  };
  return measure(x) < measure(y);
}

}  // namespace kcm::devcluster::nodes
