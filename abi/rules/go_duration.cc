// SPDX-License-Identifier: Apache-2.0
// Go duration texts.
#include "kcm/rules/go_duration.h"

#include <cstdint>
#include <limits>

#include "kcm/rules/go_quote.h"

namespace kcm::rules {
namespace {

struct Unit {
  std::string_view name;
  uint64_t nanos;
};
// U+00B5 and U+03BC are both accepted, as by Go.
constexpr Unit kUnits[] = {{"ns", 1},           {"us", 1000},        {"\xC2\xB5s", 1000},
                           {"\xCE\xBCs", 1000}, {"ms", 1000000},     {"s", 1000000000},
                           {"m", 60000000000},  {"h", 3600000000000}};
constexpr uint64_t kLimit = uint64_t{1} << 63;  // magnitude of the most negative duration

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Error InvalidDuration(std::string_view text) {
  return MakeError(Code::kInvalid, "time: invalid duration " + GoQuote(text));
}

// Value of `digits` in front of the unit; false beyond kLimit.
bool WholePart(std::string_view digits, uint64_t& value) {
  value = 0;
  for (const char c : digits) {
    if (value > kLimit / 10) return false;
    value = value * 10 + static_cast<uint64_t>(c - '0');
    if (value > kLimit) return false;
  }
  return true;
}

// 0.digits x unit, cut off below a nanosecond.
uint64_t FractionPart(std::string_view digits, uint64_t unit) {
  double scale = 1;
  uint64_t value = 0;
  for (const char c : digits) {
    if (value > (kLimit - 1) / 10) break;  // further digits can not matter
    value = value * 10 + static_cast<uint64_t>(c - '0');
    scale *= 10;
  }
  return static_cast<uint64_t>(static_cast<double>(value) * (static_cast<double>(unit) / scale));
}

std::string_view TakeDigits(std::string_view& s) {
  size_t n = 0;
  while (n < s.size() && IsDigit(s[n])) ++n;
  const std::string_view digits = s.substr(0, n);
  s.remove_prefix(n);
  return digits;
}

// Takes one `number unit` off the front and adds it to `total`.
Status TakeTerm(std::string_view& s, std::string_view text, uint64_t& total) {
  if (!(s.front() == '.' || IsDigit(s.front()))) return InvalidDuration(text);
  const std::string_view whole = TakeDigits(s);
  std::string_view fraction;
  if (!s.empty() && s.front() == '.') {
    s.remove_prefix(1);
    fraction = TakeDigits(s);
  }
  if (whole.empty() && fraction.empty()) return InvalidDuration(text);
  size_t n = 0;
  while (n < s.size() && s[n] != '.' && !IsDigit(s[n])) ++n;
  const std::string_view name = s.substr(0, n);
  if (name.empty()) {
    return MakeError(Code::kInvalid, "time: missing unit in duration " + GoQuote(text));
  }
  s.remove_prefix(n);
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    uint64_t value = 0;
    if (!WholePart(whole, value) || value > kLimit / unit.nanos) return InvalidDuration(text);
    value = value * unit.nanos + FractionPart(fraction, unit.nanos);
    if (value > kLimit || total > kLimit - value) return InvalidDuration(text);
    total += value;
    return Ok();
  }
  return MakeError(Code::kInvalid,
                   "time: unknown unit " + GoQuote(name) + " in duration " + GoQuote(text));
}

// `value` / `unit` with the fraction's trailing zeros dropped: 1500, 1000 -> "1.5".
std::string Decimal(uint64_t value, uint64_t unit) {
  std::string out = std::to_string(value / unit);
  uint64_t rest = value % unit;
  if (rest == 0) return out;
  out += '.';
  for (uint64_t weight = unit / 10; rest != 0; weight /= 10) {
    out += static_cast<char>('0' + rest / weight);
    rest %= weight;
  }
  return out;
}

}  // namespace

Result<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  std::string_view s = text;
  bool negative = false;
  if (!s.empty() && (s.front() == '-' || s.front() == '+')) {
    negative = s.front() == '-';
    s.remove_prefix(1);
  }
  if (s == "0") return std::chrono::nanoseconds(0);
  if (s.empty()) return InvalidDuration(text);
  uint64_t total = 0;
  while (!s.empty()) {
    if (Status term = TakeTerm(s, text, total); !term.ok()) return term.error();
  }
  if (negative) {
    // -(2^63) has no positive counterpart in int64: negate in unsigned arithmetic.
    return std::chrono::nanoseconds(static_cast<int64_t>(uint64_t{0} - total));
  }
  if (total >= kLimit) return InvalidDuration(text);
  return std::chrono::nanoseconds(static_cast<int64_t>(total));
}

std::string FormatDuration(std::chrono::nanoseconds d) {
  const int64_t count = d.count();
  if (count == 0) return "0s";
  const std::string sign = count < 0 ? "-" : "";
  const uint64_t n =
      count < 0 ? uint64_t{0} - static_cast<uint64_t>(count) : static_cast<uint64_t>(count);
  if (n < 1000) return sign + std::to_string(n) + "ns";
  if (n < 1000000) return sign + Decimal(n, 1000) + "\xC2\xB5s";
  if (n < 1000000000) return sign + Decimal(n, 1000000) + "ms";
  const uint64_t minutes = n / 60000000000;
  std::string out = Decimal(n % 60000000000, 1000000000) + "s";
  if (minutes > 0) out = std::to_string(minutes % 60) + "m" + out;
  if (minutes >= 60) out = std::to_string(minutes / 60) + "h" + out;
  return sign + out;
}

std::string ShortAge(std::chrono::nanoseconds d) {
  const int64_t seconds = d.count() / 1000000000;
  const auto two = [](int64_t big, const char* unit, int64_t small, const char* small_unit) {
    std::string out = std::to_string(big) + unit;
    return small == 0 ? out : out + std::to_string(small) + small_unit;
  };
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return two(seconds, "s", 0, "");
  const int64_t minutes = seconds / 60;
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return two(minutes, "m", 0, "");
  const int64_t hours = minutes / 60;
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return two(hours, "h", 0, "");
  if (hours < 24 * 8) return two(hours / 24, "d", hours % 24, "h");
  if (hours < 24 * 365 * 2) return two(hours / 24, "d", 0, "");
  if (hours < 24 * 365 * 8) return two(hours / 24 / 365, "y", hours / 24 % 365, "d");
  return two(hours / 24 / 365, "y", 0, "");
}

}  // namespace kcm::rules
