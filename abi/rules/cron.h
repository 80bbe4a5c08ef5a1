// SPDX-License-Identifier: Apache-2.0
// CronSchedule: the times that a CronJob's schedule names (spec/pod-batch.md 2.3.1, 2.3.2).
//
//   Result<CronSchedule> s = CronSchedule::Parse("CRON_TZ=Europe/Berlin 30 6-16/4 * * mon-fri",
//                                                find_zone);
//   std::optional<WallTime> t = s->Next(now);
//
// A value type, immutable, thread-safe.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "kcm/rules/result.h"
#include "kcm/rules/time.h"
#include "kcm/rules/time_zone.h"

namespace kcm::rules {

// Finds a zone by name: "Europe/Berlin", "UTC", "" (UTC) and "Local" (the process' own).
using ZoneLookup = std::function<Result<std::shared_ptr<const TimeZone>>(std::string_view name)>;

class CronSchedule {
 public:
  // Five fields or a descriptor (`@hourly`, `@every 1h30m`), behind `TZ=zone ` or `CRON_TZ=zone `
  // if need be; without that the zone is "Local". kInvalid: says what is wrong where.
  static Result<CronSchedule> Parse(std::string_view text, const ZoneLookup& find_zone);

  // The first time strictly after `t`; nullopt when there is none within five years. A local time
  // that does not exist is left out, one that comes twice counts twice.
  std::optional<WallTime> Next(WallTime t) const;

 private:
  // One bit per value, and whether the field was written as `*` or `?`.
  struct Field {
    uint64_t values = 0;
    bool star = false;
    bool Has(unsigned value) const { return (values >> value & 1u) != 0; }
  };
  class Reader;

  std::optional<WallTime> NextMatch(WallTime t) const;
  bool DayMatches(const std::chrono::year_month_day& date) const;

  std::chrono::seconds every_{0};  // not 0: @every, and the fields are not used
  Field minute_, hour_, day_of_month_, month_, day_of_week_;
  std::shared_ptr<const TimeZone> zone_;
};

}  // namespace kcm::rules
