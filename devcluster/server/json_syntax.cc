// SPDX-License-Identifier: Apache-2.0
// A scanner that knows only what may come next (json_syntax.h).
#include "devcluster/server/json_syntax.h"

#include <cstdio>
#include <vector>

namespace kcm::devcluster {

namespace {

// A character as messages show it; bytes above 0x7f are shown as the code point of that number.
std::string Shown(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\'') return "'\\''";
  if (c == '"') return "'\"'";
  if (c == '\\') return "'\\\\'";
  if (c == '\n') return "'\\n'";
  if (c == '\t') return "'\\t'";
  if (c == '\r') return "'\\r'";
  if (byte >= 0x20 && byte < 0x7f) return std::string("'") + c + "'";
  char text[16];
  if (byte >= 0xa1 && byte != 0xad) {
    std::snprintf(text, sizeof text, "'%c%c'", static_cast<char>(0xc0 | byte >> 6),
                  static_cast<char>(0x80 | (byte & 0x3f)));
  } else {
    std::snprintf(text, sizeof text, "'\\%s%02x'", byte < 0x80 ? "x" : "u00", byte);
  }
  return text;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::string Run() {
    // What the value that ends next stands in: '{' or '['; empty: the whole text.
    std::vector<char> open;
    bool value_next = true;
    while (error_.empty()) {
      Blanks();
      if (value_next) {
        const char c = Peek();
        if (AtEnd()) return "unexpected end of JSON input";
        if (c == '{' || c == '[') {
          ++at_;
          Blanks();
          open.push_back(c);
          if (AtEnd()) return "unexpected end of JSON input";
          if (Peek() == (c == '{' ? '}' : ']')) {
            ++at_;
            open.pop_back();
          } else {
            if (c == '{') MemberName();
            continue;
          }
        } else {
          Scalar();
        }
        value_next = false;
        continue;
      }
      if (open.empty()) {
        if (!AtEnd()) Bad("after top-level value");
        return error_;
      }
      if (AtEnd()) return "unexpected end of JSON input";
      const char c = Peek();
      const bool object = open.back() == '{';
      if (c == ',') {
        ++at_;
        Blanks();
        if (object) MemberName();
        value_next = true;
      } else if (c == (object ? '}' : ']')) {
        ++at_;
        open.pop_back();
      } else {
        Bad(object ? "after object key:value pair" : "after array element");
      }
    }
    return error_;
  }

 private:
  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }
  void Blanks() {
    while (!AtEnd() && (Peek() == ' ' || Peek() == '\t' || Peek() == '\r' || Peek() == '\n')) ++at_;
  }
  void Bad(const std::string& where) {
    if (!error_.empty()) return;
    error_ = AtEnd() ? "unexpected end of JSON input"
                     : "invalid character " + Shown(Peek()) + " " + where;
  }

  void MemberName() {
    if (AtEnd() || Peek() != '"') return Bad("looking for beginning of object key string");
    Text();
    Blanks();
    if (AtEnd() || Peek() != ':') return Bad("after object key");
    ++at_;
  }

  void Text() {
    for (++at_; error_.empty(); ++at_) {
      if (AtEnd()) return Bad("");
      const char c = Peek();
      if (c == '"') {
        ++at_;
        return;
      }
      if (static_cast<unsigned char>(c) < 0x20) return Bad("in string literal");
      if (c != '\\') continue;
      ++at_;
      if (AtEnd() || std::string_view("bfnrt\\/\"u").find(Peek()) == std::string_view::npos)
        return Bad("in string escape code");
      if (Peek() != 'u') continue;
      for (int i = 0; i < 4; ++i) {
        ++at_;
        if (AtEnd() ||
            std::string_view("0123456789abcdefABCDEF").find(Peek()) == std::string_view::npos)
          return Bad("in \\u hexadecimal character escape");
      }
    }
  }

  bool Digits() {
    const size_t start = at_;
    while (!AtEnd() && Peek() >= '0' && Peek() <= '9') ++at_;
    return at_ > start;
  }

  void Scalar() {
    const char c = Peek();
    if (c == '"') return Text();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (c != word[0]) continue;
      for (size_t i = 1; i < word.size(); ++i) {
        ++at_;
        if (AtEnd() || Peek() != word[i])
          return Bad("in literal " + std::string(word) + " (expecting '" + std::string(1, word[i]) +
                     "')");
      }
      ++at_;
      return;
    }
    if (c != '-' && (c < '0' || c > '9')) return Bad("looking for beginning of value");
    if (c == '-') {
      ++at_;
      if (Peek() < '0' || Peek() > '9') return Bad("in numeric literal");
    }
    if (Peek() == '0') {
      ++at_;
    } else {
      Digits();
    }
    if (Peek() == '.') {
      ++at_;
      if (!Digits()) return Bad("after decimal point in numeric literal");
    }
    if (Peek() != 'e' && Peek() != 'E') return;
    ++at_;
    if (Peek() == '+' || Peek() == '-') ++at_;
    if (!Digits()) Bad("in exponent of numeric literal");
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string error_;
};

}  // namespace

std::string JsonSyntaxError(std::string_view text) { return Scanner(text).Run(); }

}  // namespace kcm::devcluster
