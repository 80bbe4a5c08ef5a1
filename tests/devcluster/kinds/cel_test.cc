// SPDX-License-Identifier: Apache-2.0
// The expression language of admission policies.
#include "devcluster/kinds/cel.h"

#include <gtest/gtest.h>

#include <random>

namespace kcm::devcluster::kinds::cel {
namespace {

const Json& Sample() {
  static const Json* const kSample = new Json(Json::parse(R"({
      "metadata": {"name": "web", "labels": {"app": "web", "a.b/c": "x"}, "creationTimestamp": "2026-01-02T03:04:05Z"},
      "spec": {"replicas": 3, "ratio": 1.5, "paused": false, "nothing": null,
               "containers": [{"name": "a", "image": "reg/a:1", "limits": {"memory": "1Gi"}}, {"name": "b", "image": "reg/b:2"}]}})"));
  return *kSample;
}

// The result as text: `true`, `7`, `"x"`, `error: ...`.
std::string Show(const Value& v) {
  switch (v.type()) {
    case Value::Type::kError:
      return "error: " + v.text();
    case Value::Type::kNull:
      return "null";
    case Value::Type::kBool:
      return v.truth() ? "true" : "false";
    case Value::Type::kInt:
      return std::to_string(v.whole());
    case Value::Type::kUint:
      return std::to_string(v.natural()) + "u";
    case Value::Type::kDouble:
      return std::to_string(v.real());
    case Value::Type::kString:
      return "\"" + v.text() + "\"";
    case Value::Type::kList: {
      std::string out = "[";
      for (size_t i = 0; i < v.size(); ++i) out += (i > 0 ? ", " : "") + Show(v.At(i));
      return out + "]";
    }
    default:
      return v.TypeName();
  }
}

std::string Evaluate(const std::string& text, uint64_t budget_units = 1'000'000) {
  const Result<Program> p = Program::Compile(text, {"object", "oldObject"});
  if (!p.ok()) return "compile: " + p.error().message;
  Budget budget(budget_units);
  return Show(p->Run({{"object", Value::OfJson(Sample())}, {"oldObject", Value::Null()}}, budget));
}

TEST(Cel, Evaluates) {
  const struct {
    const char* text;
    const char* want;
  } rows[] = {
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3 - -1", "10"},
      {"7 / 2", "3"},
      {"-7 % 3", "-1"},
      {"7.0 / 2.0", "3.500000"},
      {"1 / 0", "error: division by zero"},
      {"9223372036854775807 + 1", "error: integer overflow"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"1u - 2u", "error: unsigned integer overflow"},
      {"1 + 1.0", "error: no such overload"},
      {"1 == 1.0 && 1u == 1", "true"},
      {"1 < 1.5 && 2u > 1", "true"},
      {"'a' + \"b\"", "\"ab\""},
      {"'a' < 'b'", "true"},
      {"'a' < 1", "error: no such overload"},
      {"[1, 2] + [3]", "[1, 2, 3]"},
      {"2 in [1, 2]", "true"},
      {"'app' in object.metadata.labels", "true"},
      {"!('zzz' in object.metadata.labels)", "true"},
      {"{'a': 1, 'b': 2}['b']", "2"},
      {"{'a': 1}.a", "1"},
      {"{'a': 1, 'a': 2}", "error: insert failed: key a already exists"},
      {"object.metadata.labels['a.b/c']", "\"x\""},
      {"object.spec.replicas <= 5 ? 'few' : 'many'", "\"few\""},
      {"object.spec.missing", "error: no such key: missing"},
      {"has(object.spec.missing)", "false"},
      {"has(object.spec.replicas)", "true"},
      {"has(object.spec.missing.deeper)", "error: no such key: missing"},
      {"object.spec.nothing == null", "true"},
      {"oldObject == null", "true"},
      // The side that decides wins over the error.
      {"object.spec.missing == 1 || true", "true"},
      {"true || object.spec.missing == 1", "true"},
      {"object.spec.missing == 1 && false", "false"},
      {"object.spec.missing == 1 || false", "error: no such key: missing"},
      {"object.spec.containers.all(c, c.image.startsWith('reg/'))", "true"},
      {"object.spec.containers.exists(c, c.name == 'b')", "true"},
      {"object.spec.containers.exists_one(c, c.name.size() == 1)", "false"},
      {"object.spec.containers.map(c, c.name)", "[\"a\", \"b\"]"},
      {"object.spec.containers.map(c, c.name == 'b', c.image)", "[\"reg/b:2\"]"},
      {"object.spec.containers.filter(c, has(c.limits)).size()", "1"},
      {"object.metadata.labels.all(k, k != '')", "true"},
      // exists goes on after an error, an error remains when nothing decides.
      {"object.spec.containers.exists(c, c.limits.memory == '1Gi')", "true"},
      {"object.spec.containers.all(c, c.limits.memory == '1Gi')", "error: no such key: limits"},
      {"[[1, 2], [3]].all(l, l.all(i, i > 0))", "true"},
      {"size('h\xc3\xa9llo')", "5"},
      {"'hello'.contains('ell') && 'hello'.endsWith('lo')", "true"},
      {"'web-7'.matches('^[a-z]+-[0-9]$')", "true"},
      {"'a-b-c'.split('-')", "[\"a\", \"b\", \"c\"]"},
      {"'a-b-c'.split('-', 2)", "[\"a\", \"b-c\"]"},
      {"['a', 'b'].join('+')", "\"a+b\""},
      {"'abcabc'.replace('b', 'x')", "\"axcaxc\""},
      {"'abcabc'.replace('b', 'x', 1)", "\"axcabc\""},
      {"'hello'.substring(1, 3)", "\"el\""},
      {"'hello'.substring(4, 9)", "error: index out of range: 9"},
      {"'hello'.indexOf('l')", "2"},
      {"'hello'.lastIndexOf('l')", "3"},
      {"'  x '.trim() + 'Y'.lowerAscii() + 'z'.upperAscii()", "\"xyZ\""},
      {"'port 80 and 90'.find('[0-9]+')", "\"80\""},
      {"'port 80 and 90'.findAll('[0-9]+')", "[\"80\", \"90\"]"},
      {"int('42') + int(2.9) + int(true ? 1u : 2u)", "45"},
      {"string(7) + string(true) + string(1.5)", "\"7true1.5\""},
      {"double('1.5') == 1.5 && bool('true')", "true"},
      {"int('x')", "error: type conversion error from 'string' to 'int': x"},
      {"type(1) == int && type('') == string && type([]) == list", "true"},
      {"timestamp(object.metadata.creationTimestamp).getFullYear()", "2026"},
      {"timestamp('2026-01-02T03:04:05Z') + duration('1h30m') == timestamp('2026-01-02T04:34:05Z')",
       "true"},
      {"timestamp('2026-01-02T03:04:05Z').getHours('+02:00')", "5"},
      {"timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') == duration('24h')",
       "true"},
      {"duration('90s').getMinutes()", "1"},
      {"quantity('1Gi').isGreaterThan(quantity('500Mi'))", "true"},
      {"quantity(object.spec.containers[0].limits.memory).compareTo(quantity('1024Mi'))", "0"},
      {"object.?spec.?replicas.orValue(1)", "3"},
      {"object.?spec.?missing.orValue(1)", "1"},
      {"object.?spec.missing.hasValue()", "false"},
      {"object.spec.containers[?9].hasValue()", "false"},
      {"object.spec.containers[9]", "error: index out of bounds: 9"},
      {"optional.of(1).value()", "1"},
      {"[3, 1, 2].min() + [3, 1, 2].max() + [1, 2].sum()", "7"},
      {"[1, 2, 2].isSorted()", "true"},
      {"b'ab'.size() == 2 && r'\\d' == '\\\\d'", "true"},
      {"'''two\nlines'''.size()", "9"},
      {"0x1F", "31"},
      {"1e3 == 1000.0 // a comment", "true"},
      {"true ? (false ? 1 : 2) : 3", "2"},
      {"!!true", "true"},
      {"object.spec.paused ? 1 : 2", "2"},
      {"object.spec.replicas ? 1 : 2", "error: no such overload"},
  };
  for (const auto& row : rows) EXPECT_EQ(Evaluate(row.text), row.want) << row.text;
}

TEST(Cel, SaysWhatDoesNotCompileAndWhere) {
  EXPECT_EQ(Evaluate("foo.bar == 1"),
            "compile: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | "
            "foo.bar == 1\n | ^");
  EXPECT_EQ(Evaluate("object.x.shout()"),
            "compile: ERROR: <input>:1:9: undeclared reference to 'shout' (in container '')\n | "
            "object.x.shout()\n | ........^");
  const struct {
    const char* text;
    const char* want;
  } rows[] = {
      {"1 +", "mismatched input '<EOF>'"},
      {"(1", "mismatched input '<EOF>'"},
      {"1 2", "unexpected input '2'"},
      {"'open", "the text is not closed"},
      {"'\\q'", "invalid escape"},
      {"a#b", "token recognition error"},
      {"99999999999999999999", "invalid int literal"},
      {"size()", "found no matching overload for 'size' applied to 0 arguments"},
      {"'a'.matches('(')", "invalid matches argument"},
      {"1 && true", "no matching overload for '_&&_'"},
      {"!1", "no matching overload for '!_'"},
      {"[1].all(x.y, true)", "argument must be a simple name"},
      {"[1].all(x)", "all() takes a variable"},
      {"has(object)", "invalid argument to has() macro"},
      {"for == 1", "reserved identifier: for"},
      {"authorizer.group('')", "undeclared reference to 'authorizer'"},
      {"", "mismatched input '<EOF>'"},
  };
  for (const auto& row : rows) {
    const std::string got = Evaluate(row.text);
    EXPECT_NE(got.find(row.want), std::string::npos) << row.text << ": " << got;
    EXPECT_EQ(got.substr(0, 9), "compile: ") << row.text;
  }
}

TEST(Cel, KnowsTheResultTypeWhereItIsCertain) {
  const auto type = [](const char* text) {
    return Program::Compile(text, {"object"})->ResultType();
  };
  EXPECT_EQ(type("object.a == 1"), Value::Type::kBool);
  EXPECT_EQ(type("'a' + 'b'"), Value::Type::kString);
  EXPECT_EQ(type("object.a"), std::nullopt);
  EXPECT_EQ(type("object.a ? 1 : 2"), Value::Type::kInt);
}

TEST(Cel, IsBounded) {
  const std::string list = "[1,2,3,4,5,6,7,8,9,10]";
  std::string deep = "true";
  for (const char* v : {"a", "b", "c", "d", "e", "f", "g"})
    deep = list + ".all(" + v + ", " + deep + ")";
  EXPECT_EQ(Evaluate(deep), "error: operation cancelled: actual cost limit exceeded");
  std::string growing = "'xxxxxxxxxxxxxxxxxxxx'";
  for (int i = 0; i < 20; ++i) growing += ".replace('x', 'xxxxxxxxxx')";
  EXPECT_EQ(Evaluate(growing), "error: operation cancelled: actual cost limit exceeded");
  EXPECT_NE(
      Evaluate(std::string(5000, '(') + "1" + std::string(5000, ')')).find("nested too deeply"),
      std::string::npos);
  std::string sum = "1";
  for (int i = 0; i < 5000; ++i) sum += "+1";
  EXPECT_NE(Evaluate(sum).find("nested too deeply"), std::string::npos);
  EXPECT_NE(Evaluate(std::string(5000, '[')).find("nested too deeply"), std::string::npos);
  EXPECT_EQ(Evaluate(std::string(5001, '!') + "true"), "false");
  EXPECT_NE(Evaluate(std::string(100'000, ' ')).find("longer than"), std::string::npos);
}

// Any text compiles or is refused, and what compiles ends: pieces of the language in random order.
TEST(Cel, SurvivesRandomExpressions) {
  const char* const pieces[] = {
      "object",     ".spec",   ".replicas", "[0]",     "(",          ")",  "[",    "]",
      "{",          "}",       ",",         ":",       "?",          "+",  "-",    "*",
      "/",          "%",       "==",        "!=",      "<",          ">",  "&&",   "||",
      "!",          "in",      "'a'",       "\"",      "1",          "2u", "1.5",  "true",
      "null",       "has",     ".all(x,",   ".map(x,", ".filter(x,", "x",  "size", ".matches('a+')",
      ".split('')", "string(", "duration(", ".?",      ".orValue(",  "\\", "\xff", " ",
      "\n",         "//"};
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const int n = 1 + static_cast<int>(random() % 14);
    for (int i = 0; i < n; ++i) text += pieces[random() % std::size(pieces)];
    (void)Evaluate(text, 10'000);
  }
}

}  // namespace
}  // namespace kcm::devcluster::kinds::cel
