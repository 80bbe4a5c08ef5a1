// SPDX-License-Identifier: Apache-2.0
// Comparing decimal texts without converting them.
#include "kcm/rules/resource_version.h"

#include <algorithm>

namespace kcm::rules {
namespace {

bool IsComparable(std::string_view s) {
  return !s.empty() && s.front() != '0' &&
         std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<std::strong_ordering> CompareResourceVersion(std::string_view x, std::string_view y) {
  if (!IsComparable(x) || !IsComparable(y)) return std::nullopt;
  if (x.size() != y.size()) return x.size() <=> y.size();
  return x.compare(y) <=> 0;
}

bool HasCaughtUp(std::string_view seen, std::string_view wanted) {
  const auto order = CompareResourceVersion(seen, wanted);
  return !order || *order >= 0;
}

}  // namespace kcm::rules
