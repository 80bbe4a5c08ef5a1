// SPDX-License-Identifier: Apache-2.0
// Order of resourceVersions: decimal integers of any length (spec/pod-workloads.md 1.7.3).
#pragma once
#include <compare>
#include <optional>
#include <string_view>

namespace kcm::rules {

// nullopt unless both are comparable: digits only, not empty, no leading zero (so "" and "0", "any
// version", are not).
std::optional<std::strong_ordering> CompareResourceVersion(std::string_view x, std::string_view y);

// False only when both are comparable and `seen` is lower than `wanted`: what can not be judged
// counts as caught up.
bool HasCaughtUp(std::string_view seen, std::string_view wanted);

}  // namespace kcm::rules
