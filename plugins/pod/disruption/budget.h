// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a PodDisruptionBudget and its status (spec/pod-batch.md 5.4, 5.5, 5.7). Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "kcm/rules/time.h"

namespace kcm::pod::disruption {

// The number of expected pods is the sum of what their controllers want; else it is the number of
// pods that match.
bool CountsControllers(rules::Node budget);

struct Expected {
  int64_t pods = 0;
  int64_t healthy = 0;
  friend bool operator==(const Expected&, const Expected&) = default;
};
// `count`: of whichever of the two. kInvalid: neither a number nor a percentage.
Result<Expected> ExpectedOf(rules::Node budget, int64_t count);

// Pods that the eviction endpoint has let go and that are not deleted yet. Their time ends two
// minutes after the eviction.
struct DisruptedPods {
  struct Entry {
    std::string since;  // as the eviction endpoint wrote it
    rules::WallTime deadline;
  };
  std::map<std::string, Entry, std::less<>> kept;
  std::vector<size_t> not_deleted;         // places of pods whose time is over
  std::optional<rules::WallTime> recheck;  // the earliest deadline of the kept ones
};
DisruptedPods DisruptedPodsOf(rules::Node budget, std::span<const rules::Node> pods,
                              rules::WallTime now);

// Ready pods that are neither being deleted nor about to be.
int64_t CountHealthy(std::span<const rules::Node> pods, const DisruptedPods& disrupted,
                     rules::WallTime now);

struct BudgetStatus {
  int64_t healthy = 0;
  Expected expected;
  DisruptedPods disrupted;

  int64_t Allowed() const;
};

// The object says all of it already.
bool IsUpToDate(rules::Node budget, const BudgetStatus& status);
// Puts it into a whole budget. Foreign conditions stay.
void ApplyStatus(nlohmann::json& budget, const BudgetStatus& status, rules::WallTime now);
// No disruption is allowed, because of `error`; whatever else the status says stays. False: it said
// so already.
bool ApplyFailure(nlohmann::json& budget, std::string_view error, rules::WallTime now);

}  // namespace kcm::pod::disruption
