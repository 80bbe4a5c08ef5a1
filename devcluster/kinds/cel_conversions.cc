// SPDX-License-Identifier: Apache-2.0
// Conversions between types, times and durations.
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "devcluster/kinds/cel_functions.h"
#include "kcm/rules/time.h"

namespace kcm::devcluster::kinds::cel {

namespace {

using Type = Value::Type;
using Args = std::span<const Value>;
constexpr int64_t kSecond = 1'000'000'000;

Value BadText(const Value& v, const char* type) {
  return Value::Fail("type conversion error from 'string' to '" + std::string(type) +
                     "': " + v.text().substr(0, 64));
}

template <class T>
bool Number(const std::string& text, T* out) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (begin != end && *begin == '+') ++begin;
  const auto [p, error] = std::from_chars(begin, end, *out);
  return error == std::errc() && p == end && begin != end;
}

Value ToInt(Args args, Budget&) {
  const Value& v = args[0];
  switch (v.type()) {
    case Type::kInt:
      return v;
    case Type::kUint:
      return v.natural() > static_cast<uint64_t>(INT64_MAX)
                 ? Overflow("integer")
                 : Value::Int(static_cast<int64_t>(v.natural()));
    case Type::kDouble:
      if (!(v.real() > -9223372036854775808.0 && v.real() < 9223372036854775808.0))
        return Overflow("integer");
      return Value::Int(static_cast<int64_t>(v.real()));
    case Type::kTimestamp:
      return Value::Int(v.whole() / kSecond - (v.whole() % kSecond < 0 ? 1 : 0));
    case Type::kDuration:
      return Value::Int(v.whole());
    case Type::kString: {
      int64_t n = 0;
      return Number(v.text(), &n) ? Value::Int(n) : BadText(v, "int");
    }
    default:
      return NoOverload();
  }
}

Value ToUint(Args args, Budget&) {
  const Value& v = args[0];
  switch (v.type()) {
    case Type::kUint:
      return v;
    case Type::kInt:
      return v.whole() < 0 ? Overflow("unsigned integer")
                           : Value::Uint(static_cast<uint64_t>(v.whole()));
    case Type::kDouble:
      if (!(v.real() >= 0 && v.real() < 18446744073709551616.0))
        return Overflow("unsigned integer");
      return Value::Uint(static_cast<uint64_t>(v.real()));
    case Type::kString: {
      uint64_t n = 0;
      return Number(v.text(), &n) ? Value::Uint(n) : BadText(v, "uint");
    }
    default:
      return NoOverload();
  }
}

Value ToDouble(Args args, Budget&) {
  const Value& v = args[0];
  switch (v.type()) {
    case Type::kDouble:
      return v;
    case Type::kInt:
      return Value::Double(static_cast<double>(v.whole()));
    case Type::kUint:
      return Value::Double(static_cast<double>(v.natural()));
    case Type::kString: {
      double d = 0;
      return Number(v.text(), &d) ? Value::Double(d) : BadText(v, "double");
    }
    default:
      return NoOverload();
  }
}

std::string DoubleText(double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d > 0 ? "+Inf" : "-Inf";
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof text, d);
  return error == std::errc() ? std::string(text, end) : std::string();
}

rules::WallTime At(int64_t nanos) { return rules::WallTime(std::chrono::nanoseconds(nanos)); }

Value ToString(Args args, Budget& budget) {
  const Value& v = args[0];
  switch (v.type()) {
    case Type::kString:
      return v;
    case Type::kBytes:
      return budget.Spend(v.text().size() / 10 + 1) ? Value::String(v.text()) : Budget::Exceeded();
    case Type::kBool:
      return Value::String(v.truth() ? "true" : "false");
    case Type::kInt:
      return Value::String(std::to_string(v.whole()));
    case Type::kUint:
      return Value::String(std::to_string(v.natural()));
    case Type::kDouble:
      return Value::String(DoubleText(v.real()));
    case Type::kTimestamp:
      return Value::String(rules::FormatNanoTime(At(v.whole())));
    case Type::kDuration:
      return Value::String(DurationText(v.whole()));
    case Type::kQuantity:
      return Value::String(v.quantity().Text());
    default:
      return NoOverload();
  }
}

Value ToBytes(Args args, Budget& budget) {
  if (args[0].Is(Type::kBytes)) return args[0];
  if (!args[0].Is(Type::kString)) return NoOverload();
  return budget.Spend(args[0].text().size() / 10 + 1) ? Value::Bytes(args[0].text())
                                                      : Budget::Exceeded();
}

Value ToBool(Args args, Budget&) {
  const Value& v = args[0];
  if (v.Is(Type::kBool)) return v;
  if (!v.Is(Type::kString)) return NoOverload();
  for (const char* t : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (v.text() == t) return Value::Bool(true);
  }
  for (const char* f : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (v.text() == f) return Value::Bool(false);
  }
  return BadText(v, "bool");
}

Value ToTimestamp(Args args, Budget&) {
  const Value& v = args[0];
  if (v.Is(Type::kTimestamp)) return v;
  if (v.Is(Type::kInt)) {
    int64_t nanos = 0;
    return __builtin_mul_overflow(v.whole(), kSecond, &nanos) ? Overflow("timestamp")
                                                              : Value::Timestamp(nanos);
  }
  if (!v.Is(Type::kString)) return NoOverload();
  const std::optional<rules::WallTime> t = rules::ParseTime(v.text());
  return t ? Value::Timestamp(t->time_since_epoch().count())
           : BadText(v, "google.protobuf.Timestamp");
}

Value ToDuration(Args args, Budget&) {
  const Value& v = args[0];
  if (v.Is(Type::kDuration)) return v;
  if (v.Is(Type::kInt)) return Value::Duration(v.whole());
  if (!v.Is(Type::kString)) return NoOverload();
  const std::optional<int64_t> nanos = ParseDuration(v.text());
  return nanos ? Value::Duration(*nanos) : BadText(v, "google.protobuf.Duration");
}

Value TypeOf(Args args, Budget&) { return Value::TypeNamed(args[0].TypeName()); }
Value Dynamic(Args args, Budget&) { return args[0]; }

// ---- parts of times ----

// Seconds east of UTC of "+01:30", "-08:00", "UTC"; names of zones are not known.
std::optional<int64_t> Zone(const Value& v) {
  const std::string& t = v.text();
  if (t.empty() || t == "UTC" || t == "Z") return 0;
  const size_t sign = t[0] == '+' || t[0] == '-' ? 1 : 0;
  const size_t colon = t.find(':');
  int64_t hours = 0, minutes = 0;
  if (colon == std::string::npos || !Number(t.substr(sign, colon - sign), &hours) ||
      !Number(t.substr(colon + 1), &minutes) || hours < 0 || hours > 14 || minutes < 0 ||
      minutes > 59)
    return std::nullopt;
  const int64_t seconds = hours * 3600 + minutes * 60;
  return t[0] == '-' ? -seconds : seconds;
}

enum class Part {
  kYear,
  kMonth,
  kDay,
  kDate,
  kWeekDay,
  kYearDay,
  kHours,
  kMinutes,
  kSeconds,
  kMillis
};

Value TimePart(Args args, Part part) {
  const Value& v = args[0];
  if (v.Is(Type::kDuration)) {
    if (args.size() > 1) return NoOverload();
    const int64_t n = v.whole();
    if (part == Part::kHours) return Value::Int(n / (3600 * kSecond));
    if (part == Part::kMinutes) return Value::Int(n / (60 * kSecond));
    if (part == Part::kSeconds) return Value::Int(n / kSecond);
    if (part == Part::kMillis) return Value::Int(n / 1'000'000);
    return NoOverload();
  }
  if (!v.Is(Type::kTimestamp) || (args.size() > 1 && !args[1].Is(Type::kString)))
    return NoOverload();
  const std::optional<int64_t> zone = args.size() > 1 ? Zone(args[1]) : std::optional<int64_t>(0);
  if (!zone)
    return Value::Fail("unknown time zone " + args[1].text().substr(0, 64) +
                       ": give an offset such as +01:00");
  const auto whole = std::chrono::floor<std::chrono::seconds>(At(v.whole()));
  const int64_t fraction = (At(v.whole()) - whole).count();
  const auto local = whole + std::chrono::seconds(*zone);
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date(day);
  const int64_t second = (local - day).count();
  switch (part) {
    case Part::kYear:
      return Value::Int(static_cast<int>(date.year()));
    case Part::kMonth:
      return Value::Int(static_cast<int64_t>(static_cast<unsigned>(date.month())) - 1);
    case Part::kDay:
      return Value::Int(static_cast<int64_t>(static_cast<unsigned>(date.day())) - 1);
    case Part::kDate:
      return Value::Int(static_cast<int64_t>(static_cast<unsigned>(date.day())));
    case Part::kWeekDay:
      return Value::Int(std::chrono::weekday(day).c_encoding());
    case Part::kYearDay:
      return Value::Int(
          (day - std::chrono::sys_days(date.year() / std::chrono::January / 1)).count());
    case Part::kHours:
      return Value::Int(second / 3600);
    case Part::kMinutes:
      return Value::Int(second / 60 % 60);
    case Part::kSeconds:
      return Value::Int(second % 60);
    case Part::kMillis:
      return Value::Int(fraction / 1'000'000);
  }
  return NoOverload();
}

template <Part part>
Value PartOf(Args args, Budget&) {
  return TimePart(args, part);
}

}  // namespace

std::optional<int64_t> ParseDuration(std::string_view text) {
  static constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"ns", 1},      {"us", 1000},        {"\xc2\xb5s", 1000},  {"ms", 1'000'000},
      {"s", kSecond}, {"m", 60 * kSecond}, {"h", 3600 * kSecond}};
  const bool negative = text.starts_with("-");
  if (negative || text.starts_with("+")) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  long double total = 0;
  while (!text.empty()) {
    long double n = 0, scale = 0;
    size_t digits = 0;
    for (; !text.empty(); text.remove_prefix(1)) {
      const char c = text.front();
      if (c == '.' && scale == 0) {
        scale = 1;
      } else if (c >= '0' && c <= '9') {
        ++digits;
        n = n * 10 + (c - '0');
        scale *= 10;
      } else {
        break;
      }
      if (digits > 30) return std::nullopt;
    }
    if (digits == 0) return std::nullopt;
    size_t end = 0;
    while (end < text.size() && text[end] != '.' && !(text[end] >= '0' && text[end] <= '9')) ++end;
    const std::string_view unit = text.substr(0, end);
    text.remove_prefix(end);
    int64_t factor = 0;
    for (const auto& [name, value] : kUnits) {
      if (name == unit) factor = value;
    }
    if (factor == 0) return std::nullopt;
    total += (scale > 0 ? n / scale : n) * static_cast<long double>(factor);
    if (total > 9.2e18L) return std::nullopt;
  }
  const auto nanos = static_cast<int64_t>(total);
  return negative ? -nanos : nanos;
}

std::string DurationText(int64_t nanos) {
  const bool negative = nanos < 0;
  const uint64_t n = negative ? 0 - static_cast<uint64_t>(nanos) : static_cast<uint64_t>(nanos);
  std::string fraction = std::to_string(n % kSecond + kSecond).substr(1);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  return (negative ? "-" : "") + std::to_string(n / kSecond) +
         (fraction.empty() ? "" : "." + fraction) + "s";
}

std::span<const Function> ConversionFunctions() {
  static constexpr Function kFunctions[] = {
      {"int", false, 1, 1, Type::kInt, ToInt},
      {"uint", false, 1, 1, Type::kUint, ToUint},
      {"double", false, 1, 1, Type::kDouble, ToDouble},
      {"string", false, 1, 1, Type::kString, ToString},
      {"bytes", false, 1, 1, Type::kBytes, ToBytes},
      {"bool", false, 1, 1, Type::kBool, ToBool},
      {"timestamp", false, 1, 1, Type::kTimestamp, ToTimestamp},
      {"duration", false, 1, 1, Type::kDuration, ToDuration},
      {"type", false, 1, 1, Type::kType, TypeOf},
      {"dyn", false, 1, 1, std::nullopt, Dynamic},
      {"getFullYear", true, 1, 2, Type::kInt, PartOf<Part::kYear>},
      {"getMonth", true, 1, 2, Type::kInt, PartOf<Part::kMonth>},
      {"getDayOfMonth", true, 1, 2, Type::kInt, PartOf<Part::kDay>},
      {"getDate", true, 1, 2, Type::kInt, PartOf<Part::kDate>},
      {"getDayOfWeek", true, 1, 2, Type::kInt, PartOf<Part::kWeekDay>},
      {"getDayOfYear", true, 1, 2, Type::kInt, PartOf<Part::kYearDay>},
      {"getHours", true, 1, 2, Type::kInt, PartOf<Part::kHours>},
      {"getMinutes", true, 1, 2, Type::kInt, PartOf<Part::kMinutes>},
      {"getSeconds", true, 1, 2, Type::kInt, PartOf<Part::kSeconds>},
      {"getMilliseconds", true, 1, 2, Type::kInt, PartOf<Part::kMillis>},
  };
  return kFunctions;
}

}  // namespace kcm::devcluster::kinds::cel
