// SPDX-License-Identifier: Apache-2.0
// Human durations.
#include "devcluster/kinds/times.h"

#include "kcm/rules/time.h"

namespace kcm::devcluster::kinds {

std::string HumanDuration(int64_t s) {
  const auto text = [](int64_t n, const char* unit) { return std::to_string(n) + unit; };
  const auto two = [&](int64_t a, const char* ua, int64_t b, const char* ub) {
    return b == 0 ? text(a, ua) : text(a, ua) + text(b, ub);
  };
  const int64_t minutes = s / 60, hours = s / 3600, days = s / 86400, years = days / 365;
  if (s < 0) return "<invalid>";
  if (s < 120) return text(s, "s");
  if (minutes < 10) return two(minutes, "m", s % 60, "s");
  if (minutes < 180) return text(minutes, "m");
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return text(hours, "h");
  if (hours < 192) return two(days, "d", hours % 24, "h");
  if (days < 730) return text(days, "d");
  if (days < 2920) return two(years, "y", days % 365, "d");
  return text(years, "y");
}

std::string Age(std::string_view since, std::string_view now) {
  const std::optional<rules::WallTime> from = rules::ParseTime(since), to = rules::ParseTime(now);
  if (!from || !to) return "<unknown>";
  return HumanDuration(std::chrono::floor<std::chrono::seconds>(*to - *from).count());
}

}  // namespace kcm::devcluster::kinds
