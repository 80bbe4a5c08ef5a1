// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/time.h"

#include <gtest/gtest.h>

#include "rules/parsed.h"

namespace kcm::rules {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(Time, ParsesRfc3339) {
  const struct {
    const char* text;
    int64_t want_seconds;
    int64_t want_nanos;
  } rows[] = {
      {"1970-01-01T00:00:00Z", 0, 0},
      {"2024-05-01T10:00:00Z", 1714557600, 0},
      {"2024-05-01T10:00:00.5Z", 1714557600, 500000000},
      {"2024-05-01T10:00:00.123456789999Z", 1714557600, 123456789},
      {"2024-05-01T12:00:00+02:00", 1714557600, 0},
      {"2024-05-01T05:30:00-04:30", 1714557600, 0},
      {"2024-02-29T00:00:00Z", 1709164800, 0},
      {"1969-12-31T23:59:59Z", -1, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const auto got = ParseTime(row.text);
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->time_since_epoch(), nanoseconds(row.want_seconds * 1000000000 + row.want_nanos));
  }
}

TEST(Time, RefusesWhatIsNotRfc3339) {
  for (const char* text :
       {"", "x", "2024-05-01", "2024-05-01 10:00:00Z", "2024-05-01t10:00:00Z",
        "2024-05-01T10:00:00z", "2024-05-01T10:00:00", "2024-13-01T10:00:00Z",
        "2024-00-01T10:00:00Z", "2023-02-29T10:00:00Z", "2024-05-01T24:00:00Z",
        "2024-05-01T10:60:00Z", "2024-05-01T10:00:60Z", "2024-05-01T10:00:00.Z",
        "2024-05-01T10:00:00+0200", "2024-05-01T10:00:00+24:00", "2024-05-01T10:00:00Zx",
        "+024-05-01T10:00:00Z", "2024-5-01T10:00:00Z"}) {
    EXPECT_FALSE(ParseTime(text).has_value()) << text;
  }
}

TEST(Time, SaturatesYearsOutsideTheClock) {
  EXPECT_EQ(*ParseTime("9999-12-31T23:59:59Z"), WallTime::max());
  EXPECT_EQ(*ParseTime("0001-01-01T00:00:00Z"), WallTime::min());
}

TEST(Time, TheEndsOfTheClockAreSafe) {
  EXPECT_EQ(Elapsed(WallTime::min(), WallTime::max()), nanoseconds::max());
  EXPECT_EQ(Elapsed(WallTime::max(), WallTime::min()), nanoseconds::min());
  EXPECT_EQ(Elapsed(WallTime(seconds(5)), WallTime(seconds(8))), seconds(3));
  EXPECT_EQ(FormatTime(WallTime::min()), "1677-09-21T00:12:43Z");
  EXPECT_EQ(FormatNanoTime(WallTime::max()), "2262-04-11T23:47:16.854775807Z");
  EXPECT_EQ(FormatTimeInZone(WallTime::max(), seconds(3600)), "2262-04-12T00:47:16+01:00");
  EXPECT_EQ(TruncateToSecond(WallTime::min()), WallTime::min());
}

TEST(Time, FormatsEveryPrecision) {
  const WallTime t(seconds(1714557600) + nanoseconds(120034000));
  EXPECT_EQ(FormatTime(t), "2024-05-01T10:00:00Z");
  EXPECT_EQ(FormatMicroTime(t), "2024-05-01T10:00:00.120034Z");
  EXPECT_EQ(FormatNanoTime(t), "2024-05-01T10:00:00.120034Z");
  EXPECT_EQ(FormatNanoTime(TruncateToSecond(t)), "2024-05-01T10:00:00Z");
  EXPECT_EQ(FormatMicroTime(TruncateToSecond(t)), "2024-05-01T10:00:00.000000Z");
  EXPECT_EQ(FormatTimeInZone(t, -seconds(4 * 3600)), "2024-05-01T06:00:00-04:00");
  EXPECT_EQ(FormatTimeInZone(t, seconds(5 * 3600 + 1800)), "2024-05-01T15:30:00+05:30");
  EXPECT_EQ(FormatTimeInZone(t, seconds(0)), "2024-05-01T10:00:00Z");
  EXPECT_EQ(FormatTime(WallTime(nanoseconds(-1))), "1969-12-31T23:59:59Z")
      << "cut towards the past";
}

TEST(Time, TextSurvivesParsing) {
  for (const char* text :
       {"2026-11-30T00:34:55Z", "1999-12-31T23:59:59Z", "2200-02-28T12:00:01Z"}) {
    EXPECT_EQ(FormatTime(*ParseTime(text)), text);
  }
}

TEST(Time, NodesThatHoldNoTime) {
  EXPECT_FALSE(TimeOf(Node()));
  EXPECT_FALSE(TimeOf(Parsed("null")));
  EXPECT_FALSE(TimeOf(Parsed("\"\"")));
  EXPECT_FALSE(TimeOf(Parsed("17")));
  EXPECT_TRUE(TimeOf(Parsed("\"1970-01-01T00:00:00Z\""))) << "1970 is an ordinary time";
}

}  // namespace
}  // namespace kcm::rules
