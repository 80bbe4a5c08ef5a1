// SPDX-License-Identifier: Apache-2.0
// Quoting of log values (spec/host.md 12).
#include "host/log/quote.h"

#include <gtest/gtest.h>

#include <limits>

namespace kcm::host::log {
namespace {

template <class Append, class Value>
std::string With(Append append, Value value) {
  std::string out;
  append(out, value);
  return out;
}

TEST(QuotedText, EscapesWhatATerminalWouldNotShow) {
  const struct {
    const char* name;
    std::string_view text;
    std::string_view want;
  } rows[] = {
      {"empty", "", R"("")"},
      {"plain", "a b", R"("a b")"},
      {"quote and backslash", R"(a"b\c)", R"("a\"b\\c")"},
      {"named controls", "\a\b\f\n\r\t\v", R"("\a\b\f\n\r\t\v")"},
      {"other controls", std::string_view("\0\x1b\x7f", 3), R"("\x00\x1b\x7f")"},
      {"letters of all kinds", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
       "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\""},
      {"zero width space", "\xe2\x80\x8b", R"("\u200b")"},
      {"direction override", "\xe2\x80\xae", R"("\u202e")"},
      {"byte order mark", "\xef\xbb\xbf", R"("\ufeff")"},
      {"private plane", "\xf3\xb0\x80\x80", R"("\U000f0000")"},
      {"lone byte", "a\xff", R"("a\xff")"},
      {"cut sequence", "\xe2\x82", R"("\xe2\x82")"},
      {"overlong", "\xc0\xaf", R"("\xc0\xaf")"},
      {"overlong of three", "\xe0\x80\xaf", R"("\xe0\x80\xaf")"},
      {"surrogate", "\xed\xa0\x80", R"("\xed\xa0\x80")"},
      {"too large", "\xf4\x90\x80\x80", R"("\xf4\x90\x80\x80")"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(With(AppendQuoted, row.text), row.want);
  }
}

TEST(TextValue, LinesAreIndented) {
  EXPECT_EQ(With(AppendTextValue, "one"), "=\"one\"");
  EXPECT_EQ(With(AppendTextValue, "one\ntwo"), "=<\n\tone\n\ttwo\n >");
  EXPECT_EQ(With(AppendTextValue, "one\n"), "=<\n\tone\n >");
  EXPECT_EQ(With(AppendTextValue, "\n\n"), "=<\n\t\n\t\n >");
}

TEST(JsonString, IsAlwaysValid) {
  EXPECT_EQ(With(AppendJsonString, "a\"\\\n\r\t"), R"("a\"\\\n\r\t")");
  EXPECT_EQ(With(AppendJsonString, std::string_view("\0\x1f", 2)), R"("\u0000\u001f")");
  EXPECT_EQ(With(AppendJsonString, "\xff\xc3\xbc"), "\"\\ufffd\xc3\xbc\"");
}

TEST(Doubles, AreShort) {
  EXPECT_EQ(With(AppendTextDouble, 0.1), "0.1");
  EXPECT_EQ(With(AppendTextDouble, 3.0), "3");
  EXPECT_EQ(With(AppendTextDouble, 1e21), "1e+21");
  EXPECT_EQ(With(AppendTextDouble, 1e-7), "1e-07");
  EXPECT_EQ(With(AppendTextDouble, -std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(With(AppendJsonDouble, 1580306777041.8477), "1580306777041.8477");
  EXPECT_EQ(With(AppendJsonDouble, std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
  EXPECT_EQ(With(AppendJsonDouble, std::numeric_limits<double>::max()).size(), 309U);
}

}  // namespace
}  // namespace kcm::host::log
