// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/go_duration.h"

#include <gtest/gtest.h>

#include <limits>

namespace kcm::rules {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(GoDuration, ParsesAndPrintsCanonically) {
  const struct {
    const char* text;
    nanoseconds want;
    const char* canonical;
  } rows[] = {
      {"0", 0ns, "0s"},
      {"0s", 0ns, "0s"},
      {"15s", 15s, "15s"},
      {"1h2m3.5s", 1h + 2min + 3500ms, "1h2m3.5s"},
      {"1h", 1h, "1h0m0s"},
      {"90m", 90min, "1h30m0s"},
      {"12h0m0s", 12h, "12h0m0s"},
      {"300ms", 300ms, "300ms"},
      {"1.5h", 90min, "1h30m0s"},
      {"100us", 100us, "100\xC2\xB5s"},
      {"100\xC2\xB5s", 100us, "100\xC2\xB5s"},
      {"100\xCE\xBCs", 100us, "100\xC2\xB5s"},
      {"1ns", 1ns, "1ns"},
      {"1500us", 1500us, "1.5ms"},
      {"-1m", -1min, "-1m0s"},
      {"+5s", 5s, "5s"},
      {".5s", 500ms, "500ms"},
      {"1.s", 1s, "1s"},
      {"1s1s", 2s, "2s"},
      {"1.0000000001s", 1s, "1s"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const auto got = ParseDuration(row.text);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(*got, row.want);
    EXPECT_EQ(FormatDuration(*got), row.canonical);
  }
}

TEST(GoDuration, RefusesWithGosTexts) {
  const struct {
    const char* text;
    const char* want;
  } rows[] = {
      {"", "time: invalid duration \"\""},
      {"x", "time: invalid duration \"x\""},
      {"-", "time: invalid duration \"-\""},
      {".s", "time: invalid duration \".s\""},
      {"5", "time: missing unit in duration \"5\""},
      {"1h5", "time: missing unit in duration \"1h5\""},
      {"5d", "time: unknown unit \"d\" in duration \"5d\""},
      {"1h 5m", "time: unknown unit \"h \" in duration \"1h 5m\""},
      {"9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""},
      {"-9223372036854775808ns9223372036854775808ns",
       "time: invalid duration \"-9223372036854775808ns9223372036854775808ns\""},
      {"99999999999999999999h", "time: invalid duration \"99999999999999999999h\""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const auto got = ParseDuration(row.text);
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().message, row.want);
    EXPECT_EQ(got.code(), Code::kInvalid);
  }
}

TEST(GoDuration, HoldsTheWholeRange) {
  const nanoseconds least = nanoseconds::min();
  EXPECT_EQ(FormatDuration(least), "-2562047h47m16.854775808s");
  EXPECT_EQ(*ParseDuration(FormatDuration(least)), least);
  EXPECT_EQ(*ParseDuration(FormatDuration(nanoseconds::max())), nanoseconds::max());
}

TEST(ShortAge, LooksLikeKubectls) {
  const struct {
    nanoseconds age;
    const char* want;
  } rows[] = {
      {-3s, "<invalid>"},
      {-1500ms, "0s"},
      {0s, "0s"},
      {5s, "5s"},
      {119s, "119s"},
      {120s, "2m"},
      {190s, "3m10s"},
      {599s, "9m59s"},
      {10min, "10m"},
      {179min, "179m"},
      {3h, "3h"},
      {3h + 5min, "3h5m"},
      {8h + 5min, "8h"},
      {47h, "47h"},
      {48h, "2d"},
      {51h, "2d3h"},
      {24h * 8, "8d"},
      {24h * 400, "400d"},
      {24h * 730, "2y"},
      {24h * (365 * 3 + 10), "3y10d"},
      {24h * 365 * 9, "9y"},
  };
  for (const auto& row : rows) EXPECT_EQ(ShortAge(row.age), row.want);
}

}  // namespace
}  // namespace kcm::rules
