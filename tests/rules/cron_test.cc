// SPDX-License-Identifier: Apache-2.0
// Schedules: what is legal, and which times they name.
#include "kcm/rules/cron.h"

#include <gtest/gtest.h>

#include "rules/tzif.h"

namespace kcm::rules {
namespace {

Result<std::shared_ptr<const TimeZone>> FindZone(std::string_view name) {
  std::string rule = "UTC0";
  if (name == "New_York") rule = "EST5EDT,M3.2.0,M11.1.0";
  if (name == "Sao_Paulo") rule = "<-03>3<-02>,M11.1.0/0,M2.3.0/0";  // no midnight in November
  if (name == "Lord_Howe") rule = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";
  if (name == "Mars/X") return MakeError(Code::kNotFound, "unknown time zone Mars/X");
  Result<TimeZone> zone = TimeZone::FromTzif(Tzif({0}, {}, rule));
  if (!zone.ok()) return zone.error();
  return std::make_shared<const TimeZone>(*std::move(zone));
}

TEST(CronSchedule, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* want;  // "": legal
  } rows[] = {
      {"* * * * *", ""},
      {"? ? ? ? ?", ""},
      {"*/5 1-3,7,20/2 1 JAN-mar Sun,6", ""},
      {" 0  0\t1 1 * ", ""},
      {"05 +6 1 1 0", ""},
      {",1,,2, * * * *", ""},
      {"TZ=New_York 0 0 * * *", ""},
      {"CRON_TZ=New_York   @daily", ""},
      {"@every 1h30m", ""},
      {"", "empty spec string"},
      {"nope", "expected exactly 5 fields, found 1: [nope]"},
      {"* * * *", "expected exactly 5 fields, found 4: [* * * *]"},
      {"* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"},
      {"60 * * * *", "end of range (60) above maximum (59): 60"},
      {"* 24 * * *", "end of range (24) above maximum (23): 24"},
      {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
      {"* * * 13 *", "end of range (13) above maximum (12): 13"},
      {"* * * * 7", "end of range (7) above maximum (6): 7"},
      {"* * * * fri-mon", "beginning of range (5) beyond end of range (1): fri-mon"},
      {"*/0 * * * *", "step of range should be a positive number: */0"},
      {"1-2-3 * * * *", "too many hyphens: 1-2-3"},
      {"1/2/3 * * * *", "too many slashes: 1/2/3"},
      {"x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"},
      {"-5 * * * *", "failed to parse int from : strconv.Atoi: parsing \"\": invalid syntax"},
      {"* * * january *",
       "failed to parse int from january: strconv.Atoi: parsing \"january\": invalid syntax"},
      {"* * L * *", "failed to parse int from L: strconv.Atoi: parsing \"L\": invalid syntax"},
      {"1/x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"},
      {"99999999999999999999 * * * *",
       "end of range (1000000000) above maximum (59): 99999999999999999999"},
      {"@Hourly", "unrecognized descriptor: @Hourly"},
      {"@every x", "failed to parse duration @every x: time: invalid duration \"x\""},
      {"TZ=Mars/X * * * * *", "provided bad location Mars/X: unknown time zone Mars/X"},
      {"TZ=UTC", "invalid schedule format: no blank after the time zone: TZ=UTC"},
      {"* * * * * TZ=UTC", "expected exactly 5 fields, found 6: [* * * * * TZ=UTC]"},
  };
  for (const auto& row : rows) {
    const Result<CronSchedule> got = CronSchedule::Parse(row.text, FindZone);
    EXPECT_EQ(got.ok() ? "" : got.error().message, row.want) << row.text;
  }
}

TEST(CronSchedule, NamesTimes) {
  const struct {
    const char* schedule;
    const char* from;
    std::vector<std::string> want;
  } rows[] = {
      {"* * * * *", "2024-05-01T12:00:00Z", {"2024-05-01T12:01:00Z", "2024-05-01T12:02:00Z"}},
      {"* * * * *", "2024-05-01T12:00:59.5Z", {"2024-05-01T12:01:00Z"}},
      {"5/15 * * * *",
       "2024-05-01T12:00:00Z",
       {"2024-05-01T12:05:00Z", "2024-05-01T12:20:00Z", "2024-05-01T12:35:00Z",
        "2024-05-01T12:50:00Z", "2024-05-01T13:05:00Z"}},
      {"10-20/5 3 * * *",
       "2024-05-01T12:00:00Z",
       {"2024-05-02T03:10:00Z", "2024-05-02T03:15:00Z", "2024-05-02T03:20:00Z",
        "2024-05-03T03:10:00Z"}},
      {"0 0 1 1 *", "2024-05-01T12:00:00Z", {"2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"}},
      {"0 0 29 2 *", "2024-05-01T12:00:00Z", {"2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"}},
      // Either of two days, unless one is a star.
      {"0 0 13 * 5", "2024-09-01T00:00:00Z", {"2024-09-06T00:00:00Z", "2024-09-13T00:00:00Z"}},
      {"0 0 13 * *", "2024-09-01T00:00:00Z", {"2024-09-13T00:00:00Z", "2024-10-13T00:00:00Z"}},
      {"0 0 * * 5", "2024-09-01T00:00:00Z", {"2024-09-06T00:00:00Z", "2024-09-13T00:00:00Z"}},
      {"0 0 ? * mon", "2024-09-01T00:00:00Z", {"2024-09-02T00:00:00Z"}},
      // A step takes the star away, but not the step 1: odd days or Mondays; Mondays.
      {"0 0 */2 * 1",
       "2024-09-01T00:00:00Z",
       {"2024-09-02T00:00:00Z", "2024-09-03T00:00:00Z", "2024-09-05T00:00:00Z"}},
      {"0 0 */1 * 1", "2024-09-01T00:00:00Z", {"2024-09-02T00:00:00Z", "2024-09-09T00:00:00Z"}},
      {"@weekly", "2024-09-02T00:00:00Z", {"2024-09-08T00:00:00Z"}},
      {"@monthly", "2024-09-02T00:00:00Z", {"2024-10-01T00:00:00Z"}},
      {"@annually", "2024-09-02T00:00:00Z", {"2025-01-01T00:00:00Z"}},
      {"@midnight", "2024-09-02T00:00:00Z", {"2024-09-03T00:00:00Z"}},
      {"@hourly", "2024-09-02T00:00:00Z", {"2024-09-02T01:00:00Z"}},
      // Seconds stay, their fractions do not; less than one is one.
      {"@every 1h30m", "2024-09-02T00:00:17.9Z", {"2024-09-02T01:30:17Z"}},
      {"@every 1.9s", "2024-09-02T00:00:17Z", {"2024-09-02T00:00:18Z"}},
      {"@every -5m", "2024-09-02T00:00:17Z", {"2024-09-02T00:00:18Z"}},
      // Never, and not within five years.
      {"59 23 31 2 *", "2024-05-01T12:00:00Z", {}},
      {", * * * *", "2024-05-01T12:00:00Z", {}},
      {"0 0 29 2 *", "2096-03-01T00:00:00Z", {}},
      // Local time.
      {"TZ=New_York 30 6 * * *", "2024-01-01T12:00:00Z", {"2024-01-02T11:30:00Z"}},
      {"TZ=New_York 30 6 * * *", "2024-07-01T12:00:00Z", {"2024-07-02T10:30:00Z"}},
      {"TZ=New_York 0 22 31 12 *", "2024-06-01T00:00:00Z", {"2025-01-01T03:00:00Z"}},
      // An hour that does not exist on 10 March, and one that comes twice on 3 November.
      {"TZ=New_York 30 2 * * *",
       "2024-03-09T12:00:00Z",
       {"2024-03-11T06:30:00Z", "2024-03-12T06:30:00Z"}},
      {"TZ=New_York 30 1 * * *",
       "2024-11-03T00:00:00Z",
       {"2024-11-03T05:30:00Z", "2024-11-03T06:30:00Z", "2024-11-04T06:30:00Z"}},
      {"TZ=New_York 0 * * * *",
       "2024-03-10T06:00:00Z",
       {"2024-03-10T07:00:00Z", "2024-03-10T08:00:00Z"}},
      // A day without midnight begins at one.
      {"TZ=Sao_Paulo 0 * 3 11 *", "2024-11-02T12:00:00Z", {"2024-11-03T03:00:00Z"}},
      {"TZ=Sao_Paulo 0 0 * * *",
       "2024-11-02T12:00:00Z",
       {"2024-11-04T02:00:00Z", "2024-11-05T02:00:00Z"}},
      // Half an hour twice.
      {"TZ=Lord_Howe 45 1 * * *",
       "2024-04-06T12:00:00Z",
       {"2024-04-06T14:45:00Z", "2024-04-06T15:15:00Z", "2024-04-07T15:15:00Z"}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.schedule) + " from " + row.from);
    const Result<CronSchedule> schedule = CronSchedule::Parse(row.schedule, FindZone);
    ASSERT_TRUE(schedule.ok()) << schedule.error().message;
    std::optional<WallTime> t = ParseTime(row.from);
    std::vector<std::string> got;
    for (size_t i = 0; i < std::max<size_t>(1, row.want.size()); ++i) {
      t = schedule->Next(*t);
      if (!t) break;
      got.push_back(FormatTime(*t));
    }
    EXPECT_EQ(got, row.want);
  }
}

}  // namespace
}  // namespace kcm::rules
