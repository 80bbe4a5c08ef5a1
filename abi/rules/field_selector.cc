// SPDX-License-Identifier: Apache-2.0
// Parsing and printing field selectors.
#include "kcm/rules/field_selector.h"

#include <algorithm>

namespace kcm::rules {
namespace {

// Cuts at commas that no backslash precedes.
std::vector<std::string_view> SplitTerms(std::string_view text) {
  std::vector<std::string_view> terms;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;  // whatever follows is not a separator
    } else if (text[i] == ',') {
      terms.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  terms.push_back(text.substr(std::min(begin, text.size())));
  return terms;
}

struct Term {
  std::string_view key, value;
  bool negated;
};

// The first operator that no backslash precedes.
std::optional<Term> SplitTerm(std::string_view term) {
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '\\') {
      ++i;
      continue;
    }
    const std::string_view rest = term.substr(i);
    if (rest.starts_with("!=")) return Term{term.substr(0, i), rest.substr(2), true};
    if (rest.starts_with("==")) return Term{term.substr(0, i), rest.substr(2), false};
    if (rest.starts_with("=")) return Term{term.substr(0, i), rest.substr(1), false};
  }
  return std::nullopt;
}

Result<std::string> Unescape(std::string_view value) {
  std::string out;
  for (size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (c == ',' || c == '=') {
      return MakeError(Code::kInvalid,
                       std::string("invalid field selector: unescaped character in value: ") + c);
    }
    if (c != '\\') {
      out += c;
      continue;
    }
    const std::string_view sequence = value.substr(i, 2);
    if (sequence.size() < 2 || (sequence[1] != '\\' && sequence[1] != ',' && sequence[1] != '=')) {
      return MakeError(Code::kInvalid,
                       "invalid field selector: invalid escape sequence: " + std::string(sequence));
    }
    out += sequence[1];
    ++i;
  }
  return out;
}

}  // namespace

Result<FieldSelector> FieldSelector::Parse(std::string_view text) {
  FieldSelector selector;
  std::vector<std::string_view> terms = SplitTerms(text);
  // The server reads terms in sorted order, so with several bad ones it names the smallest.
  std::sort(terms.begin(), terms.end());
  for (const std::string_view term : terms) {
    if (term.empty()) continue;
    const std::optional<Term> split = SplitTerm(term);
    if (!split) {
      return MakeError(Code::kInvalid, "invalid selector: '" + std::string(text) +
                                           "'; can't understand '" + std::string(term) + "'");
    }
    Result<std::string> value = Unescape(split->value);
    if (!value.ok()) return value.error();
    selector.requirements_.push_back({std::string(split->key), std::move(*value), split->negated});
  }
  return selector;
}

std::optional<std::string_view> FieldSelector::RequiredValue(std::string_view key) const {
  for (const FieldRequirement& r : requirements_) {
    if (!r.negated && r.key == key) return r.value;
  }
  return std::nullopt;
}

std::string FieldSelector::Text() const {
  std::string out;
  for (const FieldRequirement& r : requirements_) {
    if (!out.empty()) out += ",";
    out += r.key + (r.negated ? "!=" : "=") + EscapeFieldValue(r.value);
  }
  return out;
}

std::string EscapeFieldValue(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == ',' || c == '=') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace kcm::rules
