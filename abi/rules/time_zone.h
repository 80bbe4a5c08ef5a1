// SPDX-License-Identifier: Apache-2.0
// TimeZone: the offsets of a place over time, read from a file of the zone database (TZif, RFC
// 8536). Pure: who reads the file is the caller's business.
//
//   Result<TimeZone> zone = TimeZone::FromTzif(bytes_of("/usr/share/zoneinfo/Europe/Berlin"));
//   zone->At(now).offset     // 2 h in summer
//   zone->At(now).until      // when that ends
//
// A value type, immutable, thread-safe.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::rules {

class TimeZone {
 public:
  using Time = std::chrono::sys_seconds;

  // A stretch of time with one offset.
  struct Period {
    std::chrono::seconds offset{0};  // east of UTC
    Time until = Time::max();        // the first moment that is not in it any more
  };

  static TimeZone Utc() { return TimeZone(); }
  // kInvalid: not a TZif file, cut short, or its rule for the future is not understood.
  static Result<TimeZone> FromTzif(std::string_view bytes);

  Period At(Time t) const;

 private:
  // Two changes a year, for ever: the rule at the end of the file.
  struct Rule {
    // The day of a change, and the seconds after its local midnight.
    struct Day {
      enum class Form : uint8_t { kMonthWeekDay, kJulian, kDayOfYear } form = Form::kMonthWeekDay;
      int month = 1, week = 1, day = 0;
      int seconds = 2 * 3600;
      int64_t SecondsInto(int year) const;
    };
    std::chrono::seconds standard{0};
    std::optional<std::chrono::seconds> summer = {};
    Day summer_begins = {}, summer_ends = {};
    Period At(Time t) const;
  };
  friend class RuleText;

  std::vector<int64_t> changes_;   // seconds since 1970, ascending
  std::vector<int32_t> offsets_;   // offsets_[i]: from changes_[i] on
  int32_t first_offset_ = 0;       // before the first change
  std::optional<Rule> rule_ = {};  // after the last change
};

}  // namespace kcm::rules
