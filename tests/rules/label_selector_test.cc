// SPDX-License-Identifier: Apache-2.0
// Texts and answers of the text form are those of a real server (recorded, d-02).
#include "kcm/rules/label_selector.h"

#include <gtest/gtest.h>

#include "rules/parsed.h"

namespace kcm::rules {
namespace {

LabelSelector Compiled(const char* json) {
  const Parsed parsed(json);
  Result<LabelSelector> s = LabelSelector::FromObject(parsed);
  EXPECT_TRUE(s.ok()) << json;
  return s.ok() ? *s : LabelSelector::Nothing();
}

TEST(LabelSelector, MatchesObjects) {
  const struct {
    const char* labels;
    const char* selector;
    bool want;
  } rows[] = {
      {"{}", "{}", true},
      {"{}", "null", false},
      {R"({"a":"1","b":"2"})", R"({"matchLabels":{"a":"1"}})", true},
      {R"({"a":"1"})", R"({"matchLabels":{"a":"1","b":"2"}})", false},
      {"{}", R"({"matchExpressions":[{"key":"a","operator":"NotIn","values":["1"]}]})", true},
      {R"({"a":""})", R"({"matchExpressions":[{"key":"a","operator":"Exists"}]})", true},
      {R"({"a":""})", R"({"matchExpressions":[{"key":"a","operator":"In","values":[""]}]})", true},
      {"{}", R"({"matchExpressions":[{"key":"a","operator":"In","values":[""]}]})", false},
      {R"({"a":"1"})", R"({"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]})", false},
      {R"({"a":"1"})",
       R"({"matchExpressions":[{"key":"a","operator":"In","values":["1","2"]},{"key":"a","operator":"NotIn","values":["2"]}]})",
       true},
      {R"({"A":"1"})", R"({"matchExpressions":[{"key":"a","operator":"Exists"}]})", false},
      {R"({"a":"1"})",
       R"({"matchLabels":{"a":"1"},"matchExpressions":[{"key":"a","operator":"In","values":["2"]}]})",
       false},
      {"null", "{}", true},
      {R"({"a":null})", R"({"matchExpressions":[{"key":"a","operator":"Exists"}]})", true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.labels) + " " + row.selector);
    EXPECT_EQ(Compiled(row.selector).Matches(Parsed(row.labels)), row.want);
  }
}

TEST(LabelSelector, AbsentObjectSelectsNothing) {
  const Result<LabelSelector> s = LabelSelector::FromObject(Node());
  ASSERT_TRUE(s.ok());
  EXPECT_TRUE(s->SelectsNothing());
  EXPECT_FALSE(s->CanSearch());
  EXPECT_FALSE(Compiled("{}").CanSearch())
      << "an empty selector never claims an orphan that searches";
  EXPECT_TRUE(Compiled("{}").SelectsEverything());
  EXPECT_TRUE(Compiled(R"({"matchLabels":{"a":"1"}})").CanSearch());
}

TEST(LabelSelector, PlainMapsNeedAllPairs) {
  const Parsed map(R"({"b":"2","a":"1"})");
  const LabelSelector s = LabelSelector::FromMap(map);
  EXPECT_TRUE(s.Matches(Parsed(R"({"a":"1","b":"2","c":"3"})")));
  EXPECT_FALSE(s.Matches(Parsed(R"({"a":"1"})")));
  EXPECT_EQ(s.Text(), "a=1,b=2");
  EXPECT_TRUE(LabelSelector::FromMap(Node()).SelectsEverything());
}

TEST(LabelSelector, RefusesBadObjects) {
  const struct {
    const char* selector;
    const char* want;
  } rows[] = {
      {R"({"matchExpressions":[{"key":"a","operator":"in","values":["1"]}]})",
       "\"in\" is not a valid label selector operator"},
      {R"({"matchExpressions":[{"key":"a","operator":"In","values":[]}]})",
       "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"},
      {R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]})",
       "values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist"},
      {R"({"matchLabels":{"a b":"1"}})",
       "key: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' "
       "or '.', and must start "
       "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
       "used for validation "
       "is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
      {R"({"matchLabels":{"a":"-"}})",
       "values[0][a]: Invalid value: \"-\": a valid label must be an empty string or consist of "
       "alphanumeric "
       "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
       "'MyValue',  or "
       "'my_value',  or '12345', regex used for validation is "
       "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.selector);
    const Parsed parsed(row.selector);
    const Result<LabelSelector> s = LabelSelector::FromObject(parsed);
    ASSERT_FALSE(s.ok());
    EXPECT_EQ(s.error().message, row.want);
    EXPECT_EQ(s.code(), Code::kInvalid);
  }
}

TEST(LabelSelector, ParsesTheTextForm) {
  const Parsed objects(R"([
    {"name":"a","labels":{"app":"web","tier":"fe"}}, {"name":"b","labels":{"app":"web","tier":"be"}},
    {"name":"c","labels":{"app":"db","n":"5"}}, {"name":"d","labels":{"n":"10"}}, {"name":"e"},
    {"name":"f","labels":{"empty":"","example.com/x":"1"}}])");
  const struct {
    const char* text;
    const char* matched;
    const char* printed;
  } rows[] = {
      {"app=web", "ab", "app=web"},
      {"app==web", "ab", "app==web"},
      {"app!=web", "cdef", "app!=web"},
      {"app in (web,db)", "abc", "app in (db,web)"},
      {"app notin (web)", "cdef", "app notin (web)"},
      {"app", "abc", "app"},
      {"!app", "def", "!app"},
      {"n>5", "d", "n>5"},
      {"n<10", "c", "n<10"},
      {"tier>1", "", "tier>1"},
      {"app=web,tier=be", "b", "app=web,tier=be"},
      {"tier=be,app=web", "b", "app=web,tier=be"},
      {"empty=", "f", "empty="},
      {"empty", "f", "empty"},
      {"example.com/x=1", "f", "example.com/x=1"},
      {"app in ()", "", "app in ()"},
      {"empty in ()", "f", "empty in ()"},
      {"empty in (,a)", "f", "empty in (,a)"},
      {"app in (web,)", "ab", "app in (,web)"},
      {"app=", "", "app="},
      {"tier notin (fe),app", "bc", "app,tier notin (fe)"},
      {"", "abcdef", ""},
      {"!app,!n", "ef", "!app,!n"},
      {"  app  =  web  ", "ab", "app=web"},
      {"x in (in,notin)", "", "x in (in,notin)"},
      {"in in (in)", "", "in in (in)"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const Result<LabelSelector> s = LabelSelector::Parse(row.text);
    ASSERT_TRUE(s.ok()) << s.error().message;
    std::string matched;
    for (const Node o : objects.node().Items()) {
      if (s->Matches(o.Get("labels"))) matched += o.Get("name").String();
    }
    EXPECT_EQ(matched, row.matched);
    EXPECT_EQ(s->Text(), row.printed);
  }
}

TEST(LabelSelector, RefusesTextsAsTheServerDoes) {
  const struct {
    const char* text;
    const char* want;
  } rows[] = {
      {"n>abc",
       "unable to parse requirement: values[0]: Invalid value: \"abc\": for 'Gt', 'Lt' operators, "
       "the value must be an "
       "integer"},
      {"app in (web", "unable to parse requirement: found '', expected: ',' or ')'"},
      {"a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
      {"=x", "found '=', expected: !, identifier, or 'end of string'"},
      {"app=web,", "found '', expected: identifier after ','"},
      {"app=web,,x", "found ',', expected: identifier after ','"},
      {"app in web", "unable to parse requirement: found 'web' expected: '('"},
      {"app in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"},
      {"app=web tier=fe", "found 'tier', expected: ',' or 'end of string'"},
      {"!", "unable to parse requirement: found '', expected: identifier"},
      {"!a=b", "found '=', expected: ',' or 'end of string'"},
      {"a=(", "unable to parse requirement: found '(', expected: identifier"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const Result<LabelSelector> s = LabelSelector::Parse(row.text);
    ASSERT_FALSE(s.ok());
    EXPECT_EQ(s.error().message, row.want);
  }
}

TEST(LabelSelector, RefusesBadKeysInTexts) {
  const Result<LabelSelector> s = LabelSelector::Parse("a:b=c");
  ASSERT_FALSE(s.ok());
  EXPECT_TRUE(s.error().message.starts_with(
      "unable to parse requirement: <nil>: Invalid value: \"a:b\": name part must consist of"))
      << s.error().message;
}

TEST(LabelSelector, EqualityIsByText) {
  EXPECT_EQ(Compiled(R"({"matchLabels":{"b":"2","a":"1"}})"),
            Compiled(R"({"matchLabels":{"a":"1","b":"2"}})"));
  EXPECT_EQ(
      Compiled(R"({"matchExpressions":[{"key":"a","operator":"In","values":["2","1","1"]}]})"),
      Compiled(R"({"matchExpressions":[{"key":"a","operator":"In","values":["1","2"]}]})"));
  EXPECT_FALSE(LabelSelector::Everything() == LabelSelector::Nothing());
}

TEST(LabelSelector, TellsTheRequiredValue) {
  EXPECT_EQ(LabelSelector::Parse("a=1,b in (x,y)")->RequiredValue("a"), "1");
  EXPECT_EQ(LabelSelector::Parse("b in (x)")->RequiredValue("b"), "x");
  EXPECT_FALSE(LabelSelector::Parse("b in (x,y)")->RequiredValue("b").has_value());
  EXPECT_FALSE(LabelSelector::Parse("b!=x")->RequiredValue("b").has_value());
}

}  // namespace
}  // namespace kcm::rules
