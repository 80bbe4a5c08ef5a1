// SPDX-License-Identifier: Apache-2.0
// Regex: RE2-style regular expressions whose matching time grows with text times pattern and never
// explodes, for patterns that users put into policies and schemas.
//
//   Result<Regex> r = Regex::Compile("^[a-z]+-(dev|prod)$");
//   if (r.ok() && r->Matches("web-prod")) ...
//
// Literals, `.`, classes ([a-z], [^x], [[:alpha:]], \d \w \s and their opposites), groups, `|`,
// * + ? {n,m} and their lazy forms, ^ $ \A \z \b \B, flags (?i) (?s) (?m). No back references and
// no look around, as in RE2. Works on code points of UTF-8; a broken byte is one code point.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::devcluster::kinds {

// Immutable, thread-safe.
class Regex {
 public:
  // Error kInvalid: what is wrong with the pattern. Patterns above 4 KiB, counts above 1000 and
  // programs above 20 000 steps are refused.
  static Result<Regex> Compile(std::string_view pattern);
  // Whether `text` contains a match.
  bool Matches(std::string_view text) const { return Find(text, 0).has_value(); }
  // Begin and end (bytes) of the leftmost match that starts at `from` or later; of those the one
  // that comes first in the order of alternatives and greediness.
  std::optional<std::pair<size_t, size_t>> Find(std::string_view text, size_t from) const;
  size_t size() const { return program_.size(); }  // steps: with the text's length the cost of Find

 private:
  friend class RegexCompiler;
  struct Step {
    enum class Op : uint8_t { kSet, kSplit, kJump, kAssert, kMatch } op = Op::kMatch;
    uint32_t a = 0,
             b = 0;  // kSet: index of the set; kSplit: preferred, other; kJump: to; kAssert: which
  };
  struct Set {
    std::vector<std::pair<char32_t, char32_t>> ranges;
    bool negated = false;
    bool Has(char32_t c) const;
  };
  Regex() = default;

  std::vector<Step> program_;
  std::vector<Set> sets_;
};

}  // namespace kcm::devcluster::kinds
