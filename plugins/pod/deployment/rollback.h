// SPDX-License-Identifier: Apache-2.0
// The annotation by which old clients ask for a rollback (spec/pod-workloads.md 4.7). Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/pod/deployment/rollout.h"

namespace kcm::pod::deployment {

// The revision asked for, 0 for the one before; nullopt: nothing is asked for, or nothing legal.
std::optional<int64_t> RollbackTarget(rules::Node deployment);

struct RollbackPlan {
  std::optional<size_t> set;  // whose template to take
  bool warning = false;
  std::string_view reason;  // of the event
  std::string message;
};
RollbackPlan PlanRollback(const Rollout& rollout, int64_t target);

}  // namespace kcm::pod::deployment
