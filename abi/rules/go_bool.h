// SPDX-License-Identifier: Apache-2.0
// ParseGoBool: the words for true and false that flags accept (spec/host.md 1.1).
#pragma once
#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace kcm::rules {

// 1 t T TRUE true True 0 f F FALSE false False; nullopt for anything else.
inline std::optional<bool> ParseGoBool(std::string_view text) {
  constexpr std::string_view kTrue[] = {"1", "t", "T", "TRUE", "true", "True"};
  constexpr std::string_view kFalse[] = {"0", "f", "F", "FALSE", "false", "False"};
  if (std::find(std::begin(kTrue), std::end(kTrue), text) != std::end(kTrue)) return true;
  if (std::find(std::begin(kFalse), std::end(kFalse), text) != std::end(kFalse)) return false;
  return std::nullopt;
}

}  // namespace kcm::rules
