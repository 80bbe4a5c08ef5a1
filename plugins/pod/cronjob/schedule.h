// SPDX-License-Identifier: Apache-2.0
// When a CronJob is due (spec/pod-batch.md 2.3). Pure.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kcm/rules/cron.h"
#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "kcm/rules/time.h"

namespace kcm::pod::cronjob {

// The schedule names a zone itself: tolerated in old objects, and spec.timeZone is then ignored.
bool NamesZone(std::string_view schedule);
// What is parsed: the schedule, in spec.timeZone where that exists.
Result<rules::CronSchedule> ScheduleOf(rules::Node cron_job, const rules::ZoneLookup& find_zone);

// What a CronJob missed since its last time (or its creation).
struct Missed {
  enum class Class : uint8_t { kNone, kFew, kMany };  // kMany: more than 100
  std::optional<rules::WallTime> time = {};           // the latest
  Class number = Class::kNone;
  rules::WallTime earliest = {};  // from when on times count
};
enum class Deadline : uint8_t {
  kIgnored,
  kCounts,  // nothing before now - startingDeadlineSeconds is looked at
};
// kInvalid: the schedule has no two times.
Result<Missed> MissedTimes(rules::Node cron_job, const rules::CronSchedule& schedule,
                           rules::WallTime now, Deadline deadline);

// Until the next look; not positive: now. nullopt: the schedule has no further time.
std::optional<std::chrono::nanoseconds> NextLook(rules::Node cron_job,
                                                 const rules::CronSchedule& schedule,
                                                 rules::WallTime now);

// The time is further back than startingDeadlineSeconds allows.
bool IsTooLate(rules::Node cron_job, rules::WallTime time, rules::WallTime now);

// `<CronJob>-<minutes since 1970>`: the same for the same time, which is what keeps a Job from
// being created twice.
std::string JobName(std::string_view cron_job, rules::WallTime time);

// `Thu, 19 May 2016 10:00:00 +0000`.
std::string MailTime(rules::WallTime t);

}  // namespace kcm::pod::cronjob
