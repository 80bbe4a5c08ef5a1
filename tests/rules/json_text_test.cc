// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/json_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "kcm/rules/go_quote.h"
#include "kcm/rules/resource_version.h"
#include "rules/parsed.h"

namespace kcm::rules {
namespace {

TEST(JsonText, WritesValuesCompactly) {
  const char* text = R"({"b":[1,true,null,"x"],"a":{},"c":-1.5,"d":[]})";
  EXPECT_EQ(JsonText(Parsed(text)), text) << "members in the holder's order";
  EXPECT_EQ(JsonText(Parsed(text), JsonForm::kSorted),
            R"({"a":{},"b":[1,true,null,"x"],"c":-1.5,"d":[]})");
  EXPECT_EQ(JsonText(Node()), "null");
}

TEST(JsonText, EscapesAsGo) {
  const struct {
    const char* text;
    const char* want;
  } rows[] = {
      {"plain", R"("plain")"},
      {"a\"b\\c", R"("a\"b\\c")"},
      {"<a>&", R"("\u003ca\u003e\u0026")"},
      {"\n\r\t\b\f", R"("\n\r\t\b\f")"},
      {"\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\""},
      {"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80", "\"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80\""},
      {"\xE2\x80\xA8\xE2\x80\xA9", R"("\u2028\u2029")"},
      {"a\xFFz", R"("a\ufffdz")"},
      {"\xC3", R"("\ufffd")"},
      {"\xED\xA0\x80", R"("\ufffd\ufffd\ufffd")"},
  };
  for (const auto& row : rows) {
    std::string out;
    AppendJsonString(out, row.text);
    EXPECT_EQ(out, row.want);
  }
}

TEST(JsonText, WritesDoublesAsGo) {
  const struct {
    double value;
    const char* want;
  } rows[] = {
      {0, "0"},
      {1, "1"},
      {-1.5, "-1.5"},
      {0.1, "0.1"},
      {100, "100"},
      {1e20, "100000000000000000000"},
      {1e21, "1e+21"},
      {1e-6, "0.000001"},
      {1e-7, "1e-7"},
      {1.5e-9, "1.5e-9"},
      {123456.789, "123456.789"},
      {1e100, "1e+100"},
      {-0.0, "-0"},
      {1234567890123456789.0, "1234567890123456800"},
      {std::numeric_limits<double>::infinity(), "null"},
      {std::numeric_limits<double>::quiet_NaN(), "null"},
  };
  for (const auto& row : rows) {
    std::string out;
    AppendJsonDouble(out, row.value);
    EXPECT_EQ(out, row.want);
  }
}

TEST(JsonText, CanonicalFormRoundsHugeIntegers) {
  const Parsed value(
      R"([9007199254740992,9007199254740993,1234567890123456789,-1234567890123456789])");
  EXPECT_EQ(JsonText(value),
            "[9007199254740992,9007199254740993,1234567890123456789,-1234567890123456789]");
  EXPECT_EQ(JsonText(value, JsonForm::kCanonical),
            "[9007199254740992,9007199254740992,1234567890123456800,-1234567890123456800]");
}

TEST(GoQuote, EscapesForMessages) {
  EXPECT_EQ(GoQuote("a\"b\\\n\t\x01\x7f\xFF\xC3\xA4"),
            "\"a\\\"b\\\\\\n\\t\\x01\\x7f\\xff\xC3\xA4\"");
}

TEST(ResourceVersion, ComparesDecimalsOfAnyLength) {
  EXPECT_EQ(CompareResourceVersion("9", "10"), std::strong_ordering::less);
  EXPECT_EQ(CompareResourceVersion("10", "10"), std::strong_ordering::equal);
  EXPECT_EQ(CompareResourceVersion("99999999999999999999999", "99999999999999999999998"),
            std::strong_ordering::greater);
  for (const char* odd : {"", "0", "01", "a", "1a", "-1", " 1"}) {
    EXPECT_EQ(CompareResourceVersion(odd, "1"), std::nullopt) << odd;
    EXPECT_TRUE(HasCaughtUp(odd, "1")) << "what can not be judged counts as ready";
    EXPECT_TRUE(HasCaughtUp("1", odd));
  }
  EXPECT_FALSE(HasCaughtUp("9", "10"));
  EXPECT_TRUE(HasCaughtUp("10", "9"));
}

}  // namespace
}  // namespace kcm::rules
