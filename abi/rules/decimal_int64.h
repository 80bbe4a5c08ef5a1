// SPDX-License-Identifier: Apache-2.0
// ParseInt64: the integers that selectors, taints and annotations compare ("signed 64-bit decimal"
// in the specifications).
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kcm::rules {

// `[+-]digits` within int64; nullopt for anything else (blanks, empty, overflow). Leading zeros are
// legal.
inline std::optional<int64_t> ParseInt64(std::string_view text) {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (text.empty() || text.front() == '-') return std::nullopt;
  }
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace kcm::rules
