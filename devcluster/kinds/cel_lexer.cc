// SPDX-License-Identifier: Apache-2.0
// Tokens of CEL (cel_lexer.h).
#include "devcluster/kinds/cel_lexer.h"

#include <array>
#include <charconv>
#include <cmath>

namespace kcm::devcluster::kinds::cel {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void AppendRune(uint32_t rune, std::string* out) {
  const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (rune < 0x80) {
    put(rune);
  } else if (rune < 0x800) {
    put(0xc0 | rune >> 6);
    put(0x80 | (rune & 0x3f));
  } else if (rune < 0x10000) {
    put(0xe0 | rune >> 12);
    put(0x80 | (rune >> 6 & 0x3f));
    put(0x80 | (rune & 0x3f));
  } else {
    put(0xf0 | rune >> 18);
    put(0x80 | (rune >> 12 & 0x3f));
    put(0x80 | (rune >> 6 & 0x3f));
    put(0x80 | (rune & 0x3f));
  }
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  bool Run(std::vector<Token>* tokens) {
    for (;;) {
      SkipBlanks();
      Token t;
      t.offset = at_;
      if (at_ >= text_.size()) {
        tokens->push_back(std::move(t));
        return true;
      }
      if (!Next(&t)) return false;
      tokens->push_back(std::move(t));
    }
  }
  std::string why;
  size_t offset = 0;

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool Fail(size_t at, std::string reason) {
    why = std::move(reason);
    offset = at;
    return false;
  }

  void SkipBlanks() {
    for (;; ++at_) {
      const char c = Peek();
      if (c == '/' && Peek(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f') {
        return;
      }
      if (at_ >= text_.size()) return;
    }
  }

  bool Next(Token* t) {
    const char c = Peek();
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return Number(t);
    if (c == '"' || c == '\'') return Quoted(t, false, false);
    if (IsLetter(c)) {
      size_t prefix = 0;
      bool raw = false, bytes = false;
      for (; prefix < 2; ++prefix) {
        const char p = Peek(prefix);
        if ((p == 'r' || p == 'R') && !raw) {
          raw = true;
        } else if ((p == 'b' || p == 'B') && !bytes) {
          bytes = true;
        } else {
          break;
        }
      }
      if (prefix > 0 && (Peek(prefix) == '"' || Peek(prefix) == '\'')) {
        at_ += prefix;
        return Quoted(t, raw, bytes);
      }
      while (IsLetter(Peek()) || IsDigit(Peek())) t->text.push_back(text_[at_++]);
      t->kind = Token::Kind::kName;
      return true;
    }
    static constexpr std::array<std::string_view, 6> kPairs = {"==", "!=", "<=", ">=", "&&", "||"};
    t->kind = Token::Kind::kSymbol;
    for (const std::string_view pair : kPairs) {
      if (text_.substr(at_, 2) != pair) continue;
      t->text = pair;
      at_ += 2;
      return true;
    }
    if (std::string_view("()[]{}.,:?+-*/%!<>").find(c) == std::string_view::npos)
      return Fail(at_, "Syntax error: token recognition error at: '" + std::string(1, c) + "'");
    t->text = std::string(1, c);
    ++at_;
    return true;
  }

  bool Number(Token* t) {
    t->kind = Token::Kind::kLiteral;
    const size_t start = at_;
    const bool hex = Peek() == '0' && (Peek(1) == 'x' || Peek(1) == 'X');
    if (hex) at_ += 2;
    while (hex ? HexValue(Peek()) >= 0 : IsDigit(Peek())) ++at_;
    bool real = false;
    if (!hex && Peek() == '.' && IsDigit(Peek(1))) {
      real = true;
      ++at_;
      while (IsDigit(Peek())) ++at_;
    }
    if (!hex && (Peek() == 'e' || Peek() == 'E')) {
      const size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 2 : 1;
      if (IsDigit(Peek(sign))) {
        real = true;
        at_ += sign;
        while (IsDigit(Peek())) ++at_;
      }
    }
    std::string_view digits = text_.substr(start, at_ - start);
    if (real) {
      double d = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), d);
      if (error != std::errc() || !std::isfinite(d)) return Fail(start, "invalid double literal");
      t->value = Value::Double(d);
      return true;
    }
    if (hex) digits.remove_prefix(2);
    uint64_t n = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), n, hex ? 16 : 10);
    if (digits.empty() || error != std::errc()) return Fail(start, "invalid int literal");
    if (Peek() == 'u' || Peek() == 'U') {
      ++at_;
      t->value = Value::Uint(n);
      return true;
    }
    // -9223372036854775808 is written as the negation of what int can not hold: kept as uint, which
    // the parser turns round.
    t->value = n > uint64_t{1} << 63    ? Value::Null()
               : n == uint64_t{1} << 63 ? Value::Uint(n)
                                        : Value::Int(static_cast<int64_t>(n));
    if (t->value.Is(Value::Type::kNull)) return Fail(start, "invalid int literal");
    t->text = "int";
    return true;
  }

  bool Quoted(Token* t, bool raw, bool bytes) {
    t->kind = Token::Kind::kLiteral;
    const size_t start = at_;
    const char quote = Peek();
    const bool triple = Peek(1) == quote && Peek(2) == quote;
    at_ += triple ? 3 : 1;
    std::string out;
    for (;;) {
      if (at_ >= text_.size())
        return Fail(start, "Syntax error: token recognition error: the text is not closed");
      const char c = Peek();
      if (c == quote && (!triple || (Peek(1) == quote && Peek(2) == quote))) break;
      if (!triple && (c == '\n' || c == '\r'))
        return Fail(at_, "Syntax error: a line ends inside of a text");
      if (c == '\\' && !raw) {
        if (!Escape(bytes, &out)) return false;
        continue;
      }
      out.push_back(c);
      ++at_;
    }
    at_ += triple ? 3 : 1;
    t->value = bytes ? Value::Bytes(std::move(out)) : Value::String(std::move(out));
    return true;
  }

  bool Escape(bool bytes, std::string* out) {
    const size_t start = at_++;
    const char c = Peek();
    ++at_;
    static constexpr std::string_view kNames = "abfnrtv\\\"'`?", kValues = "\a\b\f\n\r\t\v\\\"'`?";
    if (const size_t i = kNames.find(c); c != '\0' && i != std::string_view::npos) {
      out->push_back(kValues[i]);
      return true;
    }
    int digits = 0, base = 16;
    if (c == 'x' || c == 'X') {
      digits = 2;
    } else if (c == 'u') {
      digits = 4;
    } else if (c == 'U') {
      digits = 8;
    } else if (c >= '0' && c <= '3') {
      digits = 3;
      base = 8;
      --at_;
    } else {
      return Fail(start, "Syntax error: invalid escape");
    }
    uint32_t value = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const int d = HexValue(Peek());
      if (d < 0 || d >= base) return Fail(start, "Syntax error: invalid escape");
      value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(d);
    }
    const bool octet = digits == 2 || digits == 3;
    if (bytes && octet) {
      out->push_back(static_cast<char>(value));
    } else if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
      return Fail(start, "Syntax error: invalid code point");
    } else {
      AppendRune(value, out);
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool Tokenize(std::string_view text, std::vector<Token>* tokens, std::string* why, size_t* offset) {
  Lexer lexer(text);
  const bool ok = lexer.Run(tokens);
  *why = std::move(lexer.why);
  *offset = lexer.offset;
  return ok;
}

}  // namespace kcm::devcluster::kinds::cel
