// SPDX-License-Identifier: Apache-2.0
// Which name rule a kind has (spec C7); the rules themselves are in kcm/rules/name_validation.h.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kcm::devcluster::kinds {

using Faults = std::vector<std::string>;

enum class NameRule : uint8_t { kSubdomain, kLabel, kPathSegment, kNone };

// What is wrong with a name; empty when nothing is.
Faults CheckName(NameRule rule, std::string_view name);
// The same of a generateName, to which characters are appended.
Faults CheckNamePrefix(NameRule rule, std::string_view prefix);
// IANA service names of container and service ports.
Faults CheckPortName(std::string_view name);

}  // namespace kcm::devcluster::kinds
