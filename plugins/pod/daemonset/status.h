// SPDX-License-Identifier: Apache-2.0
// The status of a DaemonSet, counted and compared (spec/pod-workloads.md 6.5). Pure.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"
#include "plugins/pod/daemonset/fleet.h"
#include "plugins/pod/daemonset/spec.h"

namespace kcm::pod::daemonset {

struct Counts {
  int64_t desired = 0;
  int64_t current = 0;
  int64_t misscheduled = 0;
  int64_t ready = 0;
  int64_t updated = 0;
  int64_t available = 0;
  int64_t unavailable = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};
Counts CountNodes(const Spec& set, const Fleet& fleet, std::string_view hash, rules::WallTime now);
Counts CountsInStatus(rules::Node set);

// Puts the counts into a whole object; the generation too when one is given. The rest of the status
// stays.
void ApplyStatus(nlohmann::json& set, const Counts& counts,
                 std::optional<int64_t> observed_generation);

}  // namespace kcm::pod::daemonset
