// SPDX-License-Identifier: Apache-2.0
// Ages as tables show them. No clock: "now" is always given.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace kcm::devcluster::kinds {

// `5s`, `3m10s`, `2d3h`, `6y335d`: the short form kubectl prints.
std::string HumanDuration(int64_t seconds);
// Time between two RFC 3339 texts in that form: `<unknown>` without a start, `<invalid>` when it
// lies after `now`.
std::string Age(std::string_view since, std::string_view now);

}  // namespace kcm::devcluster::kinds
