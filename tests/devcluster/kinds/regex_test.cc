// SPDX-License-Identifier: Apache-2.0
// Patterns of policies and schemas.
#include "devcluster/kinds/regex.h"

#include <gtest/gtest.h>

namespace kcm::devcluster::kinds {
namespace {

TEST(Regex, MatchesAsRe2Does) {
  const struct {
    const char* pattern;
    const char* text;
    bool want;
  } rows[] = {
      {"b", "abc", true},
      {"^b", "abc", false},
      {"^abc$", "abc", true},
      {"c$", "abc", true},
      {"^$", "", true},
      {"a.c", "axc", true},
      {"a.c", "a\nc", false},
      {"(?s)a.c", "a\nc", true},
      {"^[a-z]([-a-z0-9]*[a-z0-9])?$", "my-name-1", true},
      {"^[a-z]([-a-z0-9]*[a-z0-9])?$", "my-name-", false},
      {"^[^/]+$", "a/b", false},
      {"^\\d{3}-\\d{4}$", "555-1234", true},
      {"^\\d{3}-\\d{4}$", "55-1234", false},
      {"^a{2,3}$", "aaaa", false},
      {"^a{2,}$", "aaaa", true},
      {"^(dev|prod)$", "prod", true},
      {"^(?:dev|prod)$", "test", false},
      {"(?i)HELLO", "say hello", true},
      {"^(?i:a)b$", "AB", false},
      {"\\bword\\b", "a word here", true},
      {"\\bword\\b", "swordfish", false},
      {"^[[:alpha:]]+$", "abc", true},
      {"^[\\w.-]+$", "a_b.c-d", true},
      {"^\\S+$", "a b", false},
      {"^.$", "\xc3\xa9", true},
      {"x*", "", true},
      {"(a*)*b", "aaaa", false},
      {"a|b|", "zzz", true},
      {"{", "{", true},
      {"a{,3}", "a{,3}", true},
      {"^(?m)b$", "b", true},
      {"\\.", "a.b", true},
      {"\\x41", "A", true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.pattern) + " on " + row.text);
    const Result<Regex> r = Regex::Compile(row.pattern);
    ASSERT_TRUE(r.ok()) << r.error().message;
    EXPECT_EQ(r->Matches(row.text), row.want);
  }
}

TEST(Regex, RefusesWhatRe2Refuses) {
  for (const char* pattern : {"(", ")", "[a", "*a", "a**", "a{2,1}", "a{1001}", "\\", "(?=a)",
                              "(?<!a)b", "\\1", "[z-a]", "(?P<n"}) {
    EXPECT_FALSE(Regex::Compile(pattern).ok()) << pattern;
  }
}

TEST(Regex, FindsTheLeftmostPreferredMatch) {
  const auto found = [](const char* pattern, std::string_view text) {
    const auto f = Regex::Compile(pattern)->Find(text, 0);
    return f ? std::string(text.substr(f->first, f->second - f->first)) : "nothing";
  };
  EXPECT_EQ(found("a+", "baaac"), "aaa");
  EXPECT_EQ(found("a+?", "baaac"), "a");
  EXPECT_EQ(found("a|ab", "ab"), "a");
  EXPECT_EQ(found("[0-9]+", "port 8080 and 90"), "8080");
  EXPECT_EQ(found("x", "abc"), "nothing");
}

TEST(Regex, StaysFastAndSmall) {
  // A backtracking matcher needs 2^n steps here.
  const Result<Regex> evil = Regex::Compile("^(a+)+$");
  ASSERT_TRUE(evil.ok());
  EXPECT_FALSE(evil->Matches(std::string(20'000, 'a') + "b"));
  EXPECT_FALSE(Regex::Compile("((((a{1000}){1000}){1000}){1000}){1000}").ok());
  EXPECT_FALSE(Regex::Compile("((((){1000}){1000}){1000}){1000}").ok());
  EXPECT_FALSE(Regex::Compile(std::string(5000, 'a')).ok());
  EXPECT_FALSE(Regex::Compile(std::string(2000, '(')).ok());
}

}  // namespace
}  // namespace kcm::devcluster::kinds
