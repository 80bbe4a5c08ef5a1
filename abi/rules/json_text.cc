// SPDX-License-Identifier: Apache-2.0
// Writing JSON as Go does.
#include "kcm/rules/json_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "kcm/rules/utf8.h"

namespace kcm::rules {
namespace {

void AppendUnicodeEscape(std::string& out, unsigned code) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(code >> shift) & 15];
}

void AppendAscii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
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
    default:
      break;
  }
  const bool escaped = static_cast<unsigned char>(c) < 0x20 || c == '<' || c == '>' || c == '&';
  if (escaped) {
    AppendUnicodeEscape(out, static_cast<unsigned char>(c));
  } else {
    out += c;
  }
}

void AppendInteger(std::string& out, int64_t value, JsonForm form) {
  constexpr int64_t kExact = int64_t{1} << 53;
  const bool canonical = form == JsonForm::kCanonical || form == JsonForm::kCanonicalWithoutNulls;
  if (canonical && (value > kExact || value < -kExact)) {
    AppendJsonDouble(out, static_cast<double>(value));
  } else {
    AppendJsonInt(out, value);
  }
}

void AppendObject(std::string& out, Node node, JsonForm form) {
  std::vector<std::pair<std::string_view, Node>> members;
  members.reserve(node.size());
  for (const auto& entry : node.Entries()) {
    if (form != JsonForm::kCanonicalWithoutNulls || entry.second.Has()) members.push_back(entry);
  }
  if (form != JsonForm::kAsHeld) {
    std::sort(members.begin(), members.end(),
              [](const auto& x, const auto& y) { return x.first < y.first; });
  }
  out += '{';
  bool first = true;
  for (const auto& [name, value] : members) {
    if (!first) out += ',';
    first = false;
    AppendJsonString(out, name);
    out += ':';
    AppendJson(out, value, form);
  }
  out += '}';
}

void AppendArray(std::string& out, Node node, JsonForm form) {
  out += '[';
  bool first = true;
  for (const Node item : node.Items()) {
    if (!first) out += ',';
    first = false;
    AppendJson(out, item, form);
  }
  out += ']';
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const std::string_view character = text.substr(0, length);
    if (length == 0) {
      out += "\\ufffd";
    } else if (length == 1) {
      AppendAscii(out, text.front());
    } else if (character == "\xE2\x80\xA8") {
      out += "\\u2028";
    } else if (character == "\xE2\x80\xA9") {
      out += "\\u2029";
    } else {
      out += character;
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

void AppendJsonInt(std::string& out, int64_t value) {
  char buffer[24];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  if (error == std::errc()) out.append(buffer, end);
}

void AppendJsonDouble(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char buffer[32];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  if (error != std::errc()) return;  // 32 bytes hold every shortest double
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  std::string_view exponent_text = text.substr(e + 1);
  const bool small = exponent_text.front() == '-';
  exponent_text.remove_prefix(1);  // to_chars always writes the sign
  int exponent = 0;
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  if (small) exponent = -exponent;
  const double magnitude = std::fabs(value);
  if (magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21)) {
    out += text.substr(0, e);
    out += small ? "e-" : "e+";
    out += std::to_string(std::abs(exponent));
    return;
  }
  // Plain decimal: the shortest digits, moved to their place and filled with zeros.
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  if (std::signbit(value)) out += '-';
  if (exponent < 0) {
    out += "0.";
    out.append(static_cast<size_t>(-exponent - 1), '0');
    out += digits;
    return;
  }
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  out += digits.substr(0, whole);
  if (digits.size() > whole) {
    out += '.';
    out += digits.substr(whole);
  }
}

void AppendJson(std::string& out, Node node, JsonForm form) {
  switch (node.kind()) {
    case Kind::kAbsent:
    case Kind::kNull:
      out += "null";
      return;
    case Kind::kBool:
      out += node.Bool() ? "true" : "false";
      return;
    case Kind::kInt:
      AppendInteger(out, node.Int(), form);
      return;
    case Kind::kDouble:
      AppendJsonDouble(out, node.Real());
      return;
    case Kind::kString:
      AppendJsonString(out, node.String());
      return;
    case Kind::kArray:
      AppendArray(out, node, form);
      return;
    case Kind::kObject:
      AppendObject(out, node, form);
      return;
  }
}

std::string JsonText(Node node, JsonForm form) {
  std::string out;
  AppendJson(out, node, form);
  return out;
}

}  // namespace kcm::rules
