// SPDX-License-Identifier: Apache-2.0
// Go's number, quoting and CSV syntax, with Go's error texts.
#include "host/config/go_syntax.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <system_error>

#include "kcm/rules/go_bool.h"
#include "kcm/rules/go_quote.h"

namespace kcm::host::config {
namespace {

using rules::GoQuote;

Error NumberError(std::string_view function, std::string_view text, std::string_view reason) {
  return MakeError(Code::kInvalid, "strconv." + std::string(function) + ": parsing " +
                                       GoQuote(text) + ": " + std::string(reason));
}

// Digits without underscores, or nothing when an underscore stands where Go forbids it.
bool StripUnderscores(std::string_view digits, bool prefixed, std::string* out) {
  bool previous_is_digit = prefixed;  // 0x_1 is legal
  for (size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] == '_') {
      if (!previous_is_digit || i + 1 == digits.size() || digits[i + 1] == '_') return false;
      previous_is_digit = false;
      continue;
    }
    previous_is_digit = true;
    *out += digits[i];
  }
  return !out->empty();
}

int BaseOf(std::string_view* digits) {
  if (digits->size() < 2 || digits->front() != '0') return 10;
  const char mark = static_cast<char>((*digits)[1] | 0x20);
  const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
  digits->remove_prefix(base == 0 ? 1 : 2);
  return base == 0 ? 8 : base;
}

Result<uint64_t> ParseMagnitude(std::string_view function, std::string_view whole,
                                std::string_view digits, int base, bool prefixed) {
  std::string plain;
  if (!StripUnderscores(digits, prefixed, &plain))
    return NumberError(function, whole, "invalid syntax");
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(plain.data(), plain.data() + plain.size(), value, base);
  if (code == std::errc::result_out_of_range)
    return NumberError(function, whole, "value out of range");
  if (code != std::errc() || end != plain.data() + plain.size()) {
    return NumberError(function, whole, "invalid syntax");
  }
  return value;
}

}  // namespace

std::string GoQuoteList(const std::vector<std::string>& list) {
  std::string out = "[";
  for (const std::string& item : list) {
    if (out.size() > 1) out += ' ';
    out += GoQuote(item);
  }
  return out + "]";
}

Result<bool> ParseGoBool(std::string_view text) {
  if (const std::optional<bool> value = rules::ParseGoBool(text)) return *value;
  return NumberError("ParseBool", text, "invalid syntax");
}

Result<int64_t> ParseGoInt(std::string_view text, int bits) {
  std::string_view digits = text;
  const bool negative = !digits.empty() && digits.front() == '-';
  if (!digits.empty() && (digits.front() == '-' || digits.front() == '+')) digits.remove_prefix(1);
  if (digits.empty()) return NumberError("ParseInt", text, "invalid syntax");
  const int base = BaseOf(&digits);
  const Result<uint64_t> magnitude = ParseMagnitude("ParseInt", text, digits, base, base != 10);
  if (!magnitude.ok()) return magnitude.error();
  const uint64_t limit = (uint64_t{1} << (bits - 1)) - (negative ? 0 : 1);
  if (*magnitude > limit) return NumberError("ParseInt", text, "value out of range");
  return static_cast<int64_t>(negative ? ~*magnitude + 1 : *magnitude);
}

Result<int64_t> ParseGoUint(std::string_view text, int bits) {
  for (const char c : text) {
    if (c < '0' || c > '9') return NumberError("ParseUint", text, "invalid syntax");
  }
  const Result<uint64_t> value = ParseMagnitude("ParseUint", text, text, 10, false);
  if (!value.ok()) return value.error();
  if (*value > (uint64_t{1} << bits) - 1)
    return NumberError("ParseUint", text, "value out of range");
  return static_cast<int64_t>(*value);
}

Result<double> ParseGoFloat(std::string_view text, int bits) {
  const std::string copy(text);
  std::string_view rest = text;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) rest.remove_prefix(1);
  const bool starts_well =
      !rest.empty() && (rest.front() == '.' || (rest.front() >= '0' && rest.front() <= '9'));
  char* end = nullptr;
  const double value = starts_well ? std::strtod(copy.c_str(), &end) : 0;
  if (!starts_well || end != copy.c_str() + copy.size())
    return NumberError("ParseFloat", text, "invalid syntax");
  if (bits == 64) {
    if (std::isinf(value)) return NumberError("ParseFloat", text, "value out of range");
    return value;
  }
  if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) {
    return NumberError("ParseFloat", text, "value out of range");
  }
  std::array<char, 64> shortest{};
  const auto printed =
      std::to_chars(shortest.data(), shortest.data() + shortest.size(), static_cast<float>(value));
  *printed.ptr = '\0';
  return std::strtod(shortest.data(), nullptr);
}

std::string FormatGoFloat(double value) {
  if (value == 0) return "0";
  std::array<char, 64> buffer{};
  const auto printed = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                     std::chars_format::scientific);
  const std::string_view scientific(buffer.data(),
                                    static_cast<size_t>(printed.ptr - buffer.data()));
  const int exponent = std::atoi(std::string(scientific.substr(scientific.find('e') + 1)).c_str());
  if (exponent < -4 || exponent >= 6)
    return std::string(scientific);  // strconv's 'g' with the shortest precision
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return std::string(buffer.data(), static_cast<size_t>(fixed.ptr - buffer.data()));
}

Result<std::vector<std::string>> ParseCsv(std::string_view text) {
  std::vector<std::string> fields;
  if (text.empty()) return fields;
  const auto fail = [](size_t column, std::string_view what) {
    return MakeError(Code::kInvalid, "parse error on line 1, column " + std::to_string(column) +
                                         ": " + std::string(what));
  };
  size_t i = 0;
  while (true) {
    std::string field;
    if (i < text.size() && text[i] == '"') {
      ++i;
      while (true) {
        if (i >= text.size())
          return fail(text.size() + 1, "extraneous or missing \" in quoted-field");
        if (text[i] != '"') {
          field += text[i++];
        } else if (i + 1 < text.size() && text[i + 1] == '"') {
          field += '"';
          i += 2;
        } else {
          break;
        }
      }
      ++i;
      if (i < text.size() && text[i] != ',' && text[i] != '\n') {
        return fail(i, "extraneous or missing \" in quoted-field");
      }
    } else {
      for (; i < text.size() && text[i] != ',' && text[i] != '\n'; ++i) {
        if (text[i] == '"') return fail(i + 1, "bare \" in non-quoted field");
        field += text[i];
      }
    }
    fields.push_back(std::move(field));
    if (i >= text.size() || text[i] == '\n') return fields;  // only the first record counts
    ++i;
  }
}

std::string FormatCsv(const std::vector<std::string>& fields) {
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string& field = fields[i];
    if (i > 0) out += ',';
    const bool quote = field.find_first_of(",\"\r\n") != std::string::npos ||
                       field.starts_with(' ') || field == "\\.";
    if (!quote) {
      out += field;
      continue;
    }
    out += '"';
    for (const char c : field) out.append(c == '"' ? 2 : 1, c);
    out += '"';
  }
  return out;
}

}  // namespace kcm::host::config
