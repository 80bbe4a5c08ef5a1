// SPDX-License-Identifier: Apache-2.0
// Flat to JSON text, with the escaping of Go's encoder: what the API server sends and what hashes
// are made of.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "host/wire/codec.h"

namespace kcm::host::wire {
namespace {

using rules::Kind;

constexpr char kHex[] = "0123456789abcdef";

// True of bytes that are copied as they are.
constexpr std::array<bool, 256> MakePlain() {
  std::array<bool, 256> plain{};
  for (size_t c = 0x20; c < 0x80; ++c) plain[c] = true;
  for (const char c : {'"', '\\', '<', '>', '&'}) plain[static_cast<unsigned char>(c)] = false;
  return plain;
}
constexpr std::array<bool, 256> kPlain = MakePlain();

void AppendUnicode(unsigned code, std::string* out) {
  *out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) *out += kHex[(code >> shift) & 0xF];
}

void AppendAscii(unsigned char c, std::string* out) {
  switch (c) {
    case '"':
      *out += "\\\"";
      return;
    case '\\':
      *out += "\\\\";
      return;
    case '\b':
      *out += "\\b";
      return;
    case '\f':
      *out += "\\f";
      return;
    case '\n':
      *out += "\\n";
      return;
    case '\r':
      *out += "\\r";
      return;
    case '\t':
      *out += "\\t";
      return;
    default:
      AppendUnicode(c, out);
  }
}

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 when there is none.
size_t SequenceLength(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool outside = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || outside ? 0 : length;
}

void AppendString(std::string_view text, std::string* out) {
  *out += '"';
  size_t i = 0;
  while (i < text.size()) {
    size_t end = i;
    while (end < text.size() && kPlain[static_cast<unsigned char>(text[end])]) ++end;
    out->append(text, i, end - i);
    i = end;
    if (i == text.size()) break;
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      AppendAscii(c, out);
      ++i;
      continue;
    }
    const std::string_view rest = text.substr(i);
    const size_t length = SequenceLength(rest);
    if (length == 0) {
      *out += "\\ufffd";
      ++i;
    } else if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      AppendUnicode(rest[2] == '\xA8' ? 0x2028 : 0x2029, out);
      i += length;
    } else {
      out->append(rest, 0, length);
      i += length;
    }
  }
  *out += '"';
}

// Shortest decimal that reads back; exponents as Go writes them (from 1e21 up and below 1e-6, no
// leading zero).
void AppendDouble(double d, std::string* out) {
  if (!std::isfinite(d)) {
    *out += "null";  // JSON has no such number
    return;
  }
  const double size = std::fabs(d);
  const bool exponent = size != 0 && (size < 1e-6 || size >= 1e21);
  char text[400];
  const auto [end, error] =
      std::to_chars(text, text + sizeof text, d,
                    exponent ? std::chars_format::scientific : std::chars_format::fixed);
  std::string_view number(text, static_cast<size_t>(end - text));
  const size_t n = number.size();
  if (exponent && n > 4 && number[n - 4] == 'e' && number[n - 3] == '-' && number[n - 2] == '0') {
    out->append(number.substr(0, n - 2));
    number.remove_prefix(n - 1);
  }
  out->append(number);
}

void AppendNumber(Value value, std::string* out) {
  char text[24];
  const auto done = value.IsUnsigned() ? std::to_chars(text, text + sizeof text, value.Unsigned())
                                       : std::to_chars(text, text + sizeof text, value.Int());
  out->append(text, done.ptr);
}

void AppendValue(Value value, std::string* out);

void AppendMembers(Value object, bool with_type, bool first, std::string* out) {
  for (size_t i = 0, n = object.size(); i < n; ++i) {
    const auto [key, member] = object.Entry(i);
    if (!with_type && (key == "kind" || key == "apiVersion")) continue;
    if (!first) *out += ',';
    first = false;
    AppendString(key, out);
    *out += ':';
    AppendValue(member, out);
  }
}

void AppendValue(Value value, std::string* out) {
  switch (value.kind()) {
    case Kind::kAbsent:
    case Kind::kNull:
      *out += "null";
      return;
    case Kind::kBool:
      *out += value.Bool() ? "true" : "false";
      return;
    case Kind::kInt:
      AppendNumber(value, out);
      return;
    case Kind::kDouble:
      if (value.IsUnsigned()) {
        AppendNumber(value, out);
      } else {
        AppendDouble(value.Real(), out);
      }
      return;
    case Kind::kString:
      AppendString(value.String(), out);
      return;
    case Kind::kArray:
      *out += '[';
      for (size_t i = 0, n = value.size(); i < n; ++i) {
        if (i != 0) *out += ',';
        AppendValue(value.At(i), out);
      }
      *out += ']';
      return;
    case Kind::kObject:
      *out += '{';
      AppendMembers(value, true, true, out);
      *out += '}';
      return;
  }
}

}  // namespace

void EncodeJson(Value value, const TypeMeta* type, std::string* out) {
  if (type == nullptr || value.kind() != Kind::kObject) {
    AppendValue(value, out);
    return;
  }
  *out += "{\"kind\":";
  AppendString(type->kind, out);
  *out += ",\"apiVersion\":";
  AppendString(type->api_version, out);
  AppendMembers(value, false, false, out);
  *out += '}';
}

std::string ToJson(Value value) {
  std::string out;
  EncodeJson(value, nullptr, &out);
  return out;
}

ObjectPtr FromJsonOrDie(std::string_view json) {
  DecodeOptions options;
  options.keep_managed_fields = true;
  options.keep_type_meta = true;
  Result<ObjectPtr> object = DecodeJson(json, options, nullptr);
  if (object.ok()) return std::move(*object);
  std::fprintf(stderr, "FromJsonOrDie: %s\n", object.error().message.c_str());
  std::abort();
}

}  // namespace kcm::host::wire
