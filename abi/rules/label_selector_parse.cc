// SPDX-License-Identifier: Apache-2.0
// The text form of label selectors: lexer and parser with the server's error texts (S3.7, recorded
// in golden d-02).
#include <array>

#include "kcm/rules/go_quote.h"
#include "kcm/rules/label_selector.h"
#include "kcm/rules/name_validation.h"

namespace kcm::rules {
namespace {

enum class Token : uint8_t {
  kEnd,
  kIdentifier,
  kIn,
  kNotIn,
  kNot,
  kEquals,
  kDoubleEquals,
  kNotEquals,
  kGreater,
  kLess,
  kOpen,
  kClose,
  kComma
};

struct Lexeme {
  Token token = Token::kEnd;
  std::string_view text;
};

bool IsBlankOfText(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool IsSymbol(char c) { return std::string_view("=!(),><").find(c) != std::string_view::npos; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(text) {}

  Lexeme Next() {
    while (!rest_.empty() && IsBlankOfText(rest_.front())) rest_.remove_prefix(1);
    if (rest_.empty()) return {};
    return IsSymbol(rest_.front()) ? Symbol() : Word();
  }

 private:
  Lexeme Take(Token token, size_t length) {
    const Lexeme lexeme{token, rest_.substr(0, length)};
    rest_.remove_prefix(length);
    return lexeme;
  }

  Lexeme Symbol() {
    if (rest_.starts_with("==")) return Take(Token::kDoubleEquals, 2);
    if (rest_.starts_with("!=")) return Take(Token::kNotEquals, 2);
    switch (rest_.front()) {
      case '=':
        return Take(Token::kEquals, 1);
      case '!':
        return Take(Token::kNot, 1);
      case '>':
        return Take(Token::kGreater, 1);
      case '<':
        return Take(Token::kLess, 1);
      case '(':
        return Take(Token::kOpen, 1);
      case ')':
        return Take(Token::kClose, 1);
      default:
        return Take(Token::kComma, 1);
    }
  }

  Lexeme Word() {
    size_t n = 0;
    while (n < rest_.size() && !IsBlankOfText(rest_[n]) && !IsSymbol(rest_[n])) ++n;
    const Lexeme word = Take(Token::kIdentifier, n);
    if (word.text == "in") return {Token::kIn, word.text};
    if (word.text == "notin") return {Token::kNotIn, word.text};
    return word;
  }

  std::string_view rest_;
};

Error Found(const Lexeme& lexeme, std::string_view expected) {
  return MakeError(Code::kInvalid,
                   "found '" + std::string(lexeme.text) + "', " + std::string(expected));
}

// One token of lookahead. `in` and `notin` are words wherever an operator can not stand.
class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text), ahead_(lexer_.Next()) {}

  Result<std::vector<SelectorRequirement>> Run() {
    std::vector<SelectorRequirement> requirements;
    if (Peek().token == Token::kEnd) return requirements;
    for (;;) {
      if (!StartsRequirement(Peek())) {
        return Found(Peek(), requirements.empty() ? "expected: !, identifier, or 'end of string'"
                                                  : "expected: identifier after ','");
      }
      Result<SelectorRequirement> r = Requirement();
      if (!r.ok()) {
        return MakeError(Code::kInvalid, "unable to parse requirement: " + r.error().message);
      }
      requirements.push_back(std::move(*r));
      const Lexeme next = Take();
      if (next.token == Token::kEnd) return requirements;
      if (next.token != Token::kComma) return Found(next, "expected: ',' or 'end of string'");
    }
  }

 private:
  static Lexeme AsValue(Lexeme lexeme) {
    if (lexeme.token == Token::kIn || lexeme.token == Token::kNotIn) {
      lexeme.token = Token::kIdentifier;
    }
    return lexeme;
  }
  Lexeme Peek() const { return AsValue(ahead_); }
  Lexeme Take() { return AsValue(TakeOperator()); }
  Lexeme TakeOperator() {
    const Lexeme taken = ahead_;
    ahead_ = lexer_.Next();
    return taken;
  }
  static bool StartsRequirement(const Lexeme& lexeme) {
    return lexeme.token == Token::kIdentifier || lexeme.token == Token::kNot;
  }

  Result<SelectorRequirement> Requirement() {
    Lexeme key = Take();
    const bool negated = key.token == Token::kNot;
    if (negated) key = Take();
    if (key.token != Token::kIdentifier) return Found(key, "expected: identifier");
    if (const Problems p = ValidateQualifiedName(key.text); !p.empty()) {
      // The server knows no field here and says so.
      return MakeError(Code::kInvalid,
                       "<nil>: Invalid value: " + GoQuote(key.text) + ": " + JoinProblems(p));
    }
    if (negated) return MakeRequirement(key.text, SelectorOperator::kDoesNotExist, {});
    if (Peek().token == Token::kEnd || Peek().token == Token::kComma) {
      return MakeRequirement(key.text, SelectorOperator::kExists, {});
    }
    Result<SelectorOperator> op = Operator();
    if (!op.ok()) return op.error();
    const bool set = *op == SelectorOperator::kIn || *op == SelectorOperator::kNotIn;
    Result<std::vector<std::string>> values = set ? Values() : ExactValue();
    if (!values.ok()) return values.error();
    return MakeRequirement(key.text, *op, std::move(*values));
  }

  Result<SelectorOperator> Operator() {
    const Lexeme lexeme = TakeOperator();
    switch (lexeme.token) {
      case Token::kIn:
        return SelectorOperator::kIn;
      case Token::kNotIn:
        return SelectorOperator::kNotIn;
      case Token::kEquals:
        return SelectorOperator::kEquals;
      case Token::kDoubleEquals:
        return SelectorOperator::kDoubleEquals;
      case Token::kNotEquals:
        return SelectorOperator::kNotEquals;
      case Token::kGreater:
        return SelectorOperator::kGreaterThan;
      case Token::kLess:
        return SelectorOperator::kLessThan;
      default:
        return Found(lexeme, "expected: in, notin, =, ==, !=, gt, lt");
    }
  }

  Result<std::vector<std::string>> ExactValue() {
    if (Peek().token == Token::kEnd || Peek().token == Token::kComma) {
      return std::vector<std::string>{""};
    }
    const Lexeme value = Take();
    if (value.token != Token::kIdentifier) return Found(value, "expected: identifier");
    return std::vector<std::string>{std::string(value.text)};
  }

  // `(a,b)`; an empty place between commas or parentheses is the empty value.
  Result<std::vector<std::string>> Values() {
    const Lexeme open = Take();
    if (open.token != Token::kOpen) {
      // This one text of the server has no comma after what was found.
      return MakeError(Code::kInvalid, "found '" + std::string(open.text) + "' expected: '('");
    }
    if (Peek().token != Token::kIdentifier && Peek().token != Token::kComma &&
        Peek().token != Token::kClose) {
      return Found(Take(), "expected: ',', ')' or identifier");
    }
    std::vector<std::string> values;
    for (;;) {
      const bool named = Peek().token == Token::kIdentifier;
      values.emplace_back(named ? Take().text : std::string_view());
      const Lexeme next = Take();
      if (next.token == Token::kClose) return values;
      if (next.token != Token::kComma) {
        return Found(next, named ? "expected: ',' or ')'" : "expected: ',', or identifier");
      }
    }
  }

  Lexer lexer_;
  Lexeme ahead_;
};

}  // namespace

Result<LabelSelector> LabelSelector::Parse(std::string_view text) {
  Result<std::vector<SelectorRequirement>> requirements = Parser(text).Run();
  if (!requirements.ok()) return requirements.error();
  return LabelSelector(false, std::move(*requirements));
}

}  // namespace kcm::rules
