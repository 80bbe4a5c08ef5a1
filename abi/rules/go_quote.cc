// SPDX-License-Identifier: Apache-2.0
// Quoting for messages.
#include "kcm/rules/go_quote.h"

#include "kcm/rules/utf8.h"

namespace kcm::rules {
namespace {

void AppendHex(std::string& out, unsigned char c) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "\\x";
  out += kHex[c >> 4];
  out += kHex[c & 15];
}

// The letter after the backslash for control characters that have one, else 0.
char ShortEscape(char c) {
  switch (c) {
    case '\a':
      return 'a';
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    case '\v':
      return 'v';
    case '"':
      return '"';
    case '\\':
      return '\\';
    default:
      return 0;
  }
}

}  // namespace

std::string GoQuote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const auto byte = static_cast<unsigned char>(c);
    const size_t length = Utf8Length(text);
    if (const char escape = ShortEscape(c); escape != 0) {
      out += '\\';
      out += escape;
    } else if (length == 0 || byte < 0x20 || byte == 0x7F) {
      AppendHex(out, byte);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

}  // namespace kcm::rules
