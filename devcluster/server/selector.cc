// SPDX-License-Identifier: Apache-2.0
// Selectors (selector.h).
#include "devcluster/server/selector.h"

#include <algorithm>
#include <charconv>

#include "devcluster/server/convert.h"
#include "devcluster/server/failure.h"

namespace kcm::devcluster {

using host::wire::Object;
using host::wire::Value;

namespace {

std::optional<int64_t> WholeNumber(std::string_view text) {
  int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

}  // namespace

class LabelSelector::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { Next(); }

  std::vector<Requirement> Run() {
    std::vector<Requirement> out;
    if (Is(Token::kEnd)) return out;
    for (;;) {
      if (!Is(Token::kWord) && !(Is(Token::kSymbol) && token_ == "!")) {
        Fail(BadRequest("found '" + token_ + "', expected: !, identifier, or 'end of string'"));
      }
      out.push_back(One());
      if (Is(Token::kEnd)) return out;
      if (token_ != ",") Bad("found '" + token_ + "', expected: ',' or 'end of string'");
      Next();
      if (!Is(Token::kWord) && token_ != "!") {
        Fail(BadRequest("found '" + token_ + "', expected: identifier after ','"));
      }
    }
  }

 private:
  enum class Token { kEnd, kWord, kSymbol };
  bool Is(Token t) const { return kind_ == t; }
  [[noreturn]] static void Bad(const std::string& what) {
    Fail(BadRequest("unable to parse requirement: " + what));
  }

  void Next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
    token_.clear();
    if (at_ >= text_.size()) {
      kind_ = Token::kEnd;
      return;
    }
    constexpr std::string_view kSymbols = "!=<>(),";
    if (kSymbols.find(text_[at_]) != std::string_view::npos) {
      kind_ = Token::kSymbol;
      token_ = text_[at_++];
      if ((token_ == "!" || token_ == "=") && at_ < text_.size() && text_[at_] == '=')
        token_ += text_[at_++];
      return;
    }
    kind_ = Token::kWord;
    constexpr std::string_view kEnds = "!=<>(), \t\n";
    while (at_ < text_.size() && kEnds.find(text_[at_]) == std::string_view::npos)
      token_ += text_[at_++];
  }

  Requirement One() {
    Requirement r;
    if (token_ == "!") {
      Next();
      if (!Is(Token::kWord)) Bad("found '" + token_ + "', expected: identifier");
      r.key = token_;
      r.op = Operator::kAbsent;
      Next();
      return r;
    }
    r.key = token_;
    Next();
    if (Is(Token::kEnd) || token_ == ",") return r;
    const std::string op = token_;
    if (op == "in" || op == "notin") {
      r.op = op == "in" ? Operator::kIn : Operator::kNotIn;
      Next();
      Values(&r);
      return r;
    }
    if (op == "=" || op == "==" || op == "!=") {
      r.op = op == "!=" ? Operator::kNotIn : Operator::kIn;
    } else if (op == ">" || op == "<") {
      r.op = op == ">" ? Operator::kGreater : Operator::kLess;
    } else {
      Bad("found '" + op + "', expected: in, notin, =, ==, !=, gt, lt");
    }
    Next();
    std::string value;
    if (Is(Token::kWord)) {
      value = token_;
      Next();
    } else if (!Is(Token::kEnd) && token_ != ",") {
      Bad("found '" + token_ + "', expected: identifier");
    }
    if (r.op == Operator::kGreater || r.op == Operator::kLess) {
      const std::optional<int64_t> n = WholeNumber(value);
      if (!n) {
        Bad("values[0]: Invalid value: " + GoQuote(value) +
            ": for 'Gt', 'Lt' operators, the value must be an integer");
      }
      r.number = *n;
    }
    r.values.push_back(std::move(value));
    return r;
  }

  void Values(Requirement* r) {
    if (token_ != "(") Bad("found '" + token_ + "' expected: '('");
    Next();
    for (;;) {
      if (Is(Token::kWord)) {
        r->values.push_back(token_);
        Next();
      } else if (token_ == "," || token_ == ")") {
        r->values.emplace_back();
      }
      if (token_ == ")") break;
      if (token_ != ",") Bad("found '" + token_ + "', expected: ',' or ')'");
      Next();
    }
    Next();
  }

  std::string_view text_;
  size_t at_ = 0;
  Token kind_ = Token::kEnd;
  std::string token_;
};

LabelSelector LabelSelector::Parse(std::string_view text) {
  LabelSelector s;
  s.requirements_ = Parser(text).Run();
  return s;
}

bool LabelSelector::Matches(const Object& object) const {
  if (requirements_.empty()) return true;
  const Value labels = object.Root().Member("metadata").Member("labels");
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& r) {
    const Value value = labels.Member(r.key);
    const bool present = value.kind() == rules::Kind::kString;
    const auto listed = [&] {
      return std::find(r.values.begin(), r.values.end(), value.String()) != r.values.end();
    };
    switch (r.op) {
      case Operator::kIn:
        return present && listed();
      case Operator::kNotIn:
        return !present || !listed();
      case Operator::kExists:
        return present;
      case Operator::kAbsent:
        return !present;
      case Operator::kGreater:
      case Operator::kLess: {
        const std::optional<int64_t> n = present ? WholeNumber(value.String()) : std::nullopt;
        return n && (r.op == Operator::kGreater ? *n > r.number : *n < r.number);
      }
    }
    return false;
  });
}

FieldSelector FieldSelector::Parse(std::string_view text, const ResourceKind& kind) {
  FieldSelector out;
  const auto add = [&](const std::string& raw) {
    if (raw.empty()) return;
    Term t;
    size_t at = std::string::npos, length = 0;
    for (size_t i = 0; i < raw.size() && at == std::string::npos; ++i) {
      if (raw[i] == '\\') {
        ++i;
      } else if (raw.compare(i, 2, "!=") == 0 || raw.compare(i, 2, "==") == 0) {
        at = i;
        length = 2;
      } else if (raw[i] == '=') {
        at = i;
        length = 1;
      }
    }
    if (at == std::string::npos) {
      Fail(BadRequest("invalid selector: '" + std::string(text) + "'; can't understand '" + raw +
                      "'"));
    }
    t.equal = raw[at] != '!';
    t.key = raw.substr(0, at);
    for (size_t i = at + length; i < raw.size(); ++i) {
      if (raw[i] == '\\' && i + 1 < raw.size()) ++i;
      t.value += raw[i];
    }
    out.terms_.push_back(std::move(t));
  };
  std::string part;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      part += text[i++];
      part += text[i];
    } else if (text[i] == ',') {
      add(part);
      part.clear();
    } else {
      part += text[i];
    }
  }
  add(part);
  for (const Term& t : out.terms_) {
    if (t.key == "metadata.name" ||
        (t.key == "metadata.namespace" && (kind.namespaced || kind.field_labels.empty()))) {
      continue;
    }
    if (std::find(kind.field_labels.begin(), kind.field_labels.end(), t.key) !=
        kind.field_labels.end())
      continue;
    if (!kind.field_labels.empty()) Fail(BadRequest("field label not supported: " + t.key));
    Fail(BadRequest(
        GoQuote(t.key) +
        " is not a known field selector: only \"metadata.name\", \"metadata.namespace\""));
  }
  return out;
}

bool FieldSelector::Matches(const Object& object, const ResourceKind& kind) const {
  std::optional<Json> json;
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& t) {
    if (t.key == "metadata.name") return (object.Name() == t.value) == t.equal;
    if (t.key == "metadata.namespace") return (object.Namespace() == t.value) == t.equal;
    // The two that kubelets and controllers select by, without a detour.
    if (kind.kind == "Pod" && (t.key == "spec.nodeName" || t.key == "status.phase")) {
      const size_t dot = t.key.find('.');
      const Value v = object.Root().Member(t.key.substr(0, dot)).Member(t.key.substr(dot + 1));
      return (v.String() == t.value) == t.equal;
    }
    if (!kind.field_label) return false;
    if (!json) json = Editable(object.Root());
    return (kind.field_label(t.key, *json).value_or("") == t.value) == t.equal;
  });
}

std::optional<std::string> FieldSelector::RequiredName() const {
  for (const Term& t : terms_) {
    if (t.key == "metadata.name" && t.equal) return t.value;
  }
  return std::nullopt;
}

}  // namespace kcm::devcluster
