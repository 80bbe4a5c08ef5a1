// SPDX-License-Identifier: Apache-2.0
// Offsets of zones.
#include "kcm/rules/time_zone.h"

#include <gtest/gtest.h>

#include "kcm/rules/time.h"
#include "rules/tzif.h"

namespace kcm::rules {
namespace {

using std::chrono::seconds;

TimeZone::Time At(const char* text) { return std::chrono::floor<seconds>(*ParseTime(text)); }
TimeZone Zone(const std::string& rule) {
  Result<TimeZone> zone = TimeZone::FromTzif(Tzif({0}, {}, rule));
  if (zone.ok()) return *std::move(zone);
  ADD_FAILURE() << rule << ": " << zone.error().message;
  return TimeZone::Utc();
}

TEST(TimeZone, FollowsTheRuleForTheFuture) {
  const struct {
    const char* rule;
    const char* time;
    int64_t offset;
    const char* until;  // "": for ever
  } rows[] = {
      {"UTC0", "2024-05-01T00:00:00Z", 0, ""},
      {"<+0530>-5:30", "2024-05-01T00:00:00Z", 19800, ""},
      {"EST5EDT,M3.2.0,M11.1.0", "2024-01-01T00:00:00Z", -18000, "2024-03-10T07:00:00Z"},
      {"EST5EDT,M3.2.0,M11.1.0", "2024-03-10T06:59:59Z", -18000, "2024-03-10T07:00:00Z"},
      {"EST5EDT,M3.2.0,M11.1.0", "2024-03-10T07:00:00Z", -14400, "2024-11-03T06:00:00Z"},
      {"EST5EDT,M3.2.0,M11.1.0", "2024-11-03T06:00:00Z", -18000, "2025-03-09T07:00:00Z"},
      {"CET-1CEST,M3.5.0,M10.5.0/3", "2031-07-01T00:00:00Z", 7200, "2031-10-26T01:00:00Z"},
      // Summer over the turn of the year.
      {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2024-01-01T00:00:00Z", 39600, "2024-04-06T16:00:00Z"},
      {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2024-12-31T23:00:00Z", 39600, "2025-04-05T16:00:00Z"},
      // Half an hour.
      {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2024-12-01T00:00:00Z", 39600,
       "2025-04-05T15:00:00Z"},
      // A change on the day before.
      {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2024-03-31T01:00:00Z", -3600, "2024-10-27T01:00:00Z"},
      // Days of the year: 1 March, with and without 29 February.
      {"X0Y,J60/0,J365/0", "2024-02-29T12:00:00Z", 0, "2024-03-01T00:00:00Z"},
      {"X0Y,59/0,364/0", "2024-02-28T12:00:00Z", 0, "2024-02-29T00:00:00Z"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.rule) + " at " + row.time);
    const TimeZone::Period got = Zone(row.rule).At(At(row.time));
    EXPECT_EQ(got.offset.count(), row.offset);
    EXPECT_EQ(got.until == TimeZone::Time::max() ? "" : FormatTime(got.until), row.until);
  }
}

TEST(TimeZone, ChangesComeBeforeTheRule) {
  const Result<TimeZone> zone =
      TimeZone::FromTzif(Tzif({-100, 3600, 7200}, {{1000, 1}, {2000, 2}, {3000, 1}}, "CET-1"));
  ASSERT_TRUE(zone.ok());
  const struct {
    int64_t at, offset, until;
  } rows[] = {{0, -100, 1000},    {999, -100, 1000},  {1000, 3600, 2000},
              {1999, 3600, 2000}, {2000, 7200, 3000}, {2999, 7200, 3000}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.at);
    const TimeZone::Period got = zone->At(TimeZone::Time(seconds(row.at)));
    EXPECT_EQ(got.offset.count(), row.offset);
    EXPECT_EQ(got.until.time_since_epoch().count(), row.until);
  }
  EXPECT_EQ(zone->At(TimeZone::Time(seconds(3000))).offset.count(), 3600);
  EXPECT_EQ(zone->At(TimeZone::Time(seconds(3000))).until, TimeZone::Time::max());
  EXPECT_EQ(TimeZone::Utc().At(TimeZone::Time(seconds(5))).offset.count(), 0);
}

TEST(TimeZone, RefusesWhatItDoesNotUnderstand) {
  const std::string good = Tzif({0, 3600}, {{1000, 1}}, "CET-1CEST,M3.5.0,M10.5.0/3");
  ASSERT_TRUE(TimeZone::FromTzif(good).ok());
  for (size_t size = 0; size + 1 < good.size() - 27; ++size)
    EXPECT_FALSE(TimeZone::FromTzif(good.substr(0, size)).ok()) << size;
  std::string many = good;
  many[44 + 32] = '\x7f';  // changes by the million
  EXPECT_FALSE(TimeZone::FromTzif(many).ok());
  EXPECT_FALSE(TimeZone::FromTzif(Tzif({0}, {{1000, 1}}, "")).ok()) << "no such offset";
  EXPECT_FALSE(TimeZone::FromTzif(Tzif({0}, {{1000, 0}, {1000, 0}}, "")).ok()) << "order";
  EXPECT_FALSE(TimeZone::FromTzif(Tzif({900000}, {}, "")).ok()) << "offset";
  EXPECT_FALSE(TimeZone::FromTzif(Tzif({}, {}, "")).ok()) << "nothing";
  for (const char* rule :
       {"5", "EST", "EST5EDT", "EST5EDT,M13.1.0,M11.1.0", "EST5EDT,M3.0.0,M1.1.0",
        "EST5EDT,M3.2.7,M11.1.0", "EST5EDT,M3.2.0", "EST5EDT,M3.2.0,M11.1.0,", "<EST5", "EST5x",
        "EST999", "X0Y,J0,J3", "X0Y,366,3"}) {
    EXPECT_FALSE(TimeZone::FromTzif(Tzif({0}, {}, rule)).ok()) << rule;
  }
}

}  // namespace
}  // namespace kcm::rules
