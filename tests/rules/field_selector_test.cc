// SPDX-License-Identifier: Apache-2.0
#include "kcm/rules/field_selector.h"

#include <gtest/gtest.h>

#include <map>

namespace kcm::rules {
namespace {

using Fields = std::map<std::string, std::string, std::less<>>;

bool Matches(std::string_view text, const Fields& fields) {
  const Result<FieldSelector> s = FieldSelector::Parse(text);
  EXPECT_TRUE(s.ok()) << text;
  return s.ok() && s->MatchesWith([&](std::string_view key) {
    const auto it = fields.find(key);
    return it == fields.end() ? std::string_view() : std::string_view(it->second);
  });
}

TEST(FieldSelector, Matches) {
  const Fields pod = {{"metadata.name", "p1"}, {"status.phase", "Running"}, {"odd", "a,b=c\\d"}};
  const struct {
    const char* text;
    bool want;
  } rows[] = {
      {"", true},
      {"metadata.name=p1", true},
      {"metadata.name==p1", true},
      {"metadata.name=p2", false},
      {"metadata.name!=p1", false},
      {"metadata.name!=p2", true},
      {"metadata.name=p1,status.phase!=Failed", true},
      {"metadata.name=p1,status.phase=Failed", false},
      {"spec.nodeName=", true},
      {"spec.nodeName!=", false},
      {",metadata.name=p1,", true},
      {R"(odd=a\,b\=c\\d)", true},
      {R"(odd!=a\,b\=c\\d)", false},
  };
  for (const auto& row : rows) EXPECT_EQ(Matches(row.text, pod), row.want) << row.text;
}

TEST(FieldSelector, RefusesAsTheServerDoes) {
  const struct {
    const char* text;
    const char* want;
  } rows[] = {
      {"status.phase in (Running)",
       "invalid selector: 'status.phase in (Running)'; can't understand 'status.phase in "
       "(Running)'"},
      {"status.phase", "invalid selector: 'status.phase'; can't understand 'status.phase'"},
      {"a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"},
      {"a=b=c", "invalid field selector: unescaped character in value: ="},
      {R"(a=\x)", R"(invalid field selector: invalid escape sequence: \x)"},
      {R"(a=b\)", R"(invalid field selector: invalid escape sequence: \)"},
  };
  for (const auto& row : rows) {
    const Result<FieldSelector> s = FieldSelector::Parse(row.text);
    ASSERT_FALSE(s.ok()) << row.text;
    EXPECT_EQ(s.error().message, row.want);
  }
}

TEST(FieldSelector, PrintsEscaped) {
  EXPECT_EQ(FieldSelector::Parse(R"(b==x\,y,a!=1)")->Text(), R"(a!=1,b=x\,y)");
  EXPECT_EQ(EscapeFieldValue("a,b=c\\"), R"(a\,b\=c\\)");
}

TEST(FieldSelector, TellsTheRequiredValue) {
  const Result<FieldSelector> s = FieldSelector::Parse("spec.nodeName=n1,status.phase!=Failed");
  EXPECT_EQ(s->RequiredValue("spec.nodeName"), "n1");
  EXPECT_FALSE(s->RequiredValue("status.phase").has_value());
}

}  // namespace
}  // namespace kcm::rules
