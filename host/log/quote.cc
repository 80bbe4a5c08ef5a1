// SPDX-License-Identifier: Apache-2.0
// Quoting of log values: see the header.
#include "host/log/quote.h"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace kcm::host::log {
namespace {

struct Rune {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: no valid sequence starts here
};

// Decodes one UTF-8 sequence; overlong forms, surrogates and values beyond U+10FFFF are invalid.
Rune Decode(std::string_view s) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(s[i]));
  };
  const uint32_t b0 = byte(0);
  if (b0 < 0x80) return {b0, 1};
  const size_t n = b0 >= 0xF0 && b0 < 0xF5   ? 4
                   : b0 >= 0xE0 && b0 < 0xF0 ? 3
                   : b0 >= 0xC2 && b0 < 0xE0 ? 2
                                             : 0;
  if (n == 0 || s.size() < n) return {};
  uint32_t code = b0 & (0x7FU >> n);
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3F);
  }
  const bool overlong = (n == 3 && code < 0x800) || (n == 4 && code < 0x10000);
  if (overlong || (code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF) return {};
  return {code, n};
}

// Characters that a terminal or a reader would not show.
bool IsInvisible(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD || (c >= 0x2000 && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202F) || (c >= 0x205F && c <= 0x206F) || c == 0x3000 ||
         c == 0xFEFF || (c >= 0xE000 && c <= 0xF8FF) || (c >= 0xFFF0 && c <= 0xFFFB) ||
         (c & 0xFFFE) == 0xFFFE || c >= 0xE0000;
}

void AppendHex(std::string& out, uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += "0123456789abcdef"[(value >> shift) & 0xF];
}

void AppendEscape(std::string& out, uint32_t c) {
  switch (c) {
    case '\a':
      out += "\\a";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\v':
      out += "\\v";
      return;
    default:
      break;
  }
  if (c < 0x80) {
    out += "\\x";
    AppendHex(out, c, 2);
  } else if (c < 0x10000) {
    out += "\\u";
    AppendHex(out, c, 4);
  } else {
    out += "\\U";
    AppendHex(out, c, 8);
  }
}

template <class Int>
void AppendNumber(std::string& out, Int value, std::chars_format format) {
  char buffer[400];  // the longest fixed form of a double has 309 digits before the point
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, format);
  out.append(buffer, end.ptr);
}

std::string_view SpecialName(double value) {
  return std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

}  // namespace

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const Rune rune = Decode(text);
    if (rune.bytes == 0) {
      out += "\\x";
      AppendHex(out, static_cast<unsigned char>(text[0]), 2);
      text.remove_prefix(1);
      continue;
    }
    if (rune.code == '"' || rune.code == '\\') {
      out += '\\';
      out += text[0];
    } else if (IsInvisible(rune.code)) {
      AppendEscape(out, rune.code);
    } else {
      out += text.substr(0, rune.bytes);
    }
    text.remove_prefix(rune.bytes);
  }
  out += '"';
}

void AppendTextValue(std::string& out, std::string_view text) {
  if (text.find('\n') == std::string_view::npos) {
    out += '=';
    AppendQuoted(out, text);
    return;
  }
  out += "=<\n";
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out += '\t';
    out += text.substr(0, end);
    out += '\n';
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  out += " >";
}

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const Rune rune = Decode(text);
    const size_t bytes = rune.bytes == 0 ? 1 : rune.bytes;
    if (rune.bytes == 0) {
      out += "\\ufffd";
    } else if (rune.code == '"' || rune.code == '\\') {
      out += '\\';
      out += text[0];
    } else if (rune.code == '\n') {
      out += "\\n";
    } else if (rune.code == '\r') {
      out += "\\r";
    } else if (rune.code == '\t') {
      out += "\\t";
    } else if (rune.code < 0x20) {
      out += "\\u";
      AppendHex(out, rune.code, 4);
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  out += '"';
}

void AppendTextDouble(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += SpecialName(value);
    return;
  }
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e21);
  AppendNumber(out, value, plain ? std::chars_format::fixed : std::chars_format::scientific);
}

void AppendJsonDouble(std::string& out, double value) {
  if (!std::isfinite(value)) {
    AppendJsonString(out, SpecialName(value));
    return;
  }
  AppendNumber(out, value, std::chars_format::fixed);
}

}  // namespace kcm::host::log
