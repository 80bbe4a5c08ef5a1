// SPDX-License-Identifier: Apache-2.0
// Times that were missed, and the next one.
#include "plugins/pod/cronjob/schedule.h"

#include <algorithm>
#include <cstdio>

namespace kcm::pod::cronjob {

using rules::CronSchedule;
using rules::Node;
using rules::WallTime;
using std::chrono::nanoseconds;
using std::chrono::seconds;

namespace {

// A little after the time itself: clocks of API servers differ.
constexpr std::chrono::milliseconds kAfter{100};
constexpr int64_t kMany = 100;
// More seconds than nanoseconds can hold are as good as for ever.
constexpr int64_t kLongestSeconds = 9000000000;

nanoseconds SecondsOf(int64_t count) {
  return seconds(std::clamp(count, -kLongestSeconds, kLongestSeconds));
}

WallTime EarliestOf(Node cron_job, WallTime now, Deadline deadline) {
  const std::optional<WallTime> last = rules::TimeOf(cron_job.Path("status.lastScheduleTime"));
  WallTime earliest =
      last ? *last
           : rules::TimeOf(cron_job.Path("metadata.creationTimestamp")).value_or(WallTime());
  const Node limit = cron_job.Path("spec.startingDeadlineSeconds");
  if (deadline == Deadline::kCounts && limit.IsNumber())
    earliest = std::max(earliest, rules::Plus(now, -SecondsOf(limit.Int())));
  return earliest;
}

// The last time that is not after `now`, of those after `start`.
std::optional<WallTime> LastTime(const CronSchedule& schedule, WallTime start, WallTime now) {
  std::optional<WallTime> last;
  for (std::optional<WallTime> t = schedule.Next(start); t && *t <= now; t = schedule.Next(*t))
    last = t;
  return last;
}

}  // namespace

bool NamesZone(std::string_view schedule) { return schedule.find("TZ") != std::string_view::npos; }

Result<CronSchedule> ScheduleOf(Node cron_job, const rules::ZoneLookup& find_zone) {
  const Node zone = cron_job.Path("spec.timeZone");
  std::string schedule(cron_job.Path("spec.schedule").String());
  if (!NamesZone(schedule) && zone.Has() && find_zone(zone.String()).ok())
    schedule = "TZ=" + std::string(zone.String()) + " " + schedule;
  return CronSchedule::Parse(schedule, find_zone);
}

Result<Missed> MissedTimes(Node cron_job, const CronSchedule& schedule, WallTime now,
                           Deadline deadline) {
  Missed out{.earliest = EarliestOf(cron_job, now, deadline)};
  const std::optional<WallTime> first = schedule.Next(out.earliest);
  if (first && now < *first) return out;
  const std::optional<WallTime> second = first ? schedule.Next(*first) : std::nullopt;
  if (second && now < *second) {
    out.time = first;
    return out;
  }
  const int64_t gap =
      second ? std::chrono::round<seconds>(rules::Elapsed(*first, *second)).count() : 0;
  if (gap < 1) {
    return MakeError(Code::kInvalid, "time difference between two schedules is less than 1 second");
  }
  const int64_t passed = std::chrono::duration_cast<seconds>(rules::Elapsed(*first, now)).count();
  const int64_t missed = passed / gap + 1;
  // Not from the beginning: the schedule is taken to be regular, and one gap is kept in reserve for
  // one that is not.
  const WallTime start = rules::Plus(*first, SecondsOf((missed - 2) * gap));
  out.time = LastTime(schedule, start, now);
  out.number = missed > kMany ? Missed::Class::kMany : Missed::Class::kFew;
  return out;
}

std::optional<nanoseconds> NextLook(Node cron_job, const CronSchedule& schedule, WallTime now) {
  const Result<Missed> missed = MissedTimes(cron_job, schedule, now, Deadline::kIgnored);
  WallTime base = now;
  if (missed.ok() && missed->time) {
    base = *missed->time;
  } else if (missed.ok() && missed->number == Missed::Class::kNone) {
    base = missed->earliest;
  }
  const std::optional<WallTime> next = schedule.Next(base);
  if (!next) return std::nullopt;
  return rules::Elapsed(now, rules::Plus(*next, kAfter));
}

bool IsTooLate(Node cron_job, WallTime time, WallTime now) {
  const Node limit = cron_job.Path("spec.startingDeadlineSeconds");
  return limit.IsNumber() && rules::Plus(time, SecondsOf(limit.Int())) < now;
}

std::string JobName(std::string_view cron_job, WallTime time) {
  const int64_t since = std::chrono::floor<seconds>(time).time_since_epoch().count();
  return std::string(cron_job) + "-" + std::to_string(since / 60);
}

std::string MailTime(WallTime t) {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(t);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<seconds>(t - day));
  char out[64];
  const int n = std::snprintf(
      out, sizeof(out), "%s, %02u %s %04d %02d:%02d:%02d +0000",
      kDays[std::chrono::weekday(day).c_encoding()], static_cast<unsigned>(date.day()),
      kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  return std::string(out, static_cast<size_t>(n));
}

}  // namespace kcm::pod::cronjob
