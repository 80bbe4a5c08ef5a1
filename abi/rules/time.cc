// SPDX-License-Identifier: Apache-2.0
// RFC 3339 texts.
#include "kcm/rules/time.h"

#include <cstdint>
#include <cstdio>

namespace kcm::rules {
namespace {

constexpr int64_t kNanosPerSecond = 1000000000;

// Reads exactly `digits` digits at the front of `s` and removes them.
bool TakeNumber(std::string_view& s, size_t digits, int& out) {
  if (s.size() < digits) return false;
  int value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const char c = s[i];
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  s.remove_prefix(digits);
  out = value;
  return true;
}

bool TakeChar(std::string_view& s, char c) {
  if (s.empty() || s.front() != c) return false;
  s.remove_prefix(1);
  return true;
}

// `.123`: absent is zero. At least one digit after the point.
bool TakeFraction(std::string_view& s, int64_t& nanos) {
  nanos = 0;
  if (!TakeChar(s, '.')) return true;
  int64_t weight = kNanosPerSecond;
  size_t digits = 0;
  while (digits < s.size() && s[digits] >= '0' && s[digits] <= '9') {
    weight /= 10;
    nanos += weight * (s[digits] - '0');
    ++digits;
  }
  s.remove_prefix(digits);
  return digits > 0;
}

bool TakeZone(std::string_view& s, int64_t& offset_seconds) {
  offset_seconds = 0;
  if (TakeChar(s, 'Z')) return true;
  const bool east = TakeChar(s, '+');
  if (!east && !TakeChar(s, '-')) return false;
  int hours = 0;
  int minutes = 0;
  if (!TakeNumber(s, 2, hours) || !TakeChar(s, ':') || !TakeNumber(s, 2, minutes)) return false;
  if (hours > 23 || minutes > 59) return false;
  offset_seconds = (east ? 1 : -1) * (hours * 3600 + minutes * 60);
  return true;
}

struct CivilTime {
  int year, month, day, hour, minute, second;
  int64_t nanos;
};

// `nanos`: the part of a second, kept as it is.
CivilTime CivilOf(std::chrono::sys_seconds t, int64_t nanos) {
  const auto day = std::chrono::floor<std::chrono::days>(t);
  const std::chrono::year_month_day ymd(day);
  const int64_t seconds = (t - day).count();
  return {static_cast<int>(ymd.year()),
          static_cast<int>(static_cast<unsigned>(ymd.month())),
          static_cast<int>(static_cast<unsigned>(ymd.day())),
          static_cast<int>(seconds / 3600),
          static_cast<int>(seconds / 60 % 60),
          static_cast<int>(seconds % 60),
          nanos};
}

// Never back to nanoseconds: the floor of WallTime::min() lies outside them.
CivilTime CivilOf(WallTime t) {
  const int64_t ns = t.time_since_epoch().count();
  const int64_t rest = ns % kNanosPerSecond;
  const int64_t nanos = rest < 0 ? rest + kNanosPerSecond : rest;
  const int64_t seconds = ns / kNanosPerSecond - (rest < 0 ? 1 : 0);
  return CivilOf(std::chrono::sys_seconds(std::chrono::seconds(seconds)), nanos);
}

std::string DateAndTime(const CivilTime& c) {
  char buffer[64];
  const int n = std::snprintf(buffer, sizeof(buffer), "%04d-%02d-%02dT%02d:%02d:%02d", c.year,
                              c.month, c.day, c.hour, c.minute, c.second);
  return std::string(buffer, static_cast<size_t>(n));
}

}  // namespace

std::optional<WallTime> ParseTime(std::string_view s) {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int64_t nanos = 0;
  int64_t offset = 0;
  const bool shaped = TakeNumber(s, 4, year) && TakeChar(s, '-') && TakeNumber(s, 2, month) &&
                      TakeChar(s, '-') && TakeNumber(s, 2, day) && TakeChar(s, 'T') &&
                      TakeNumber(s, 2, hour) && TakeChar(s, ':') && TakeNumber(s, 2, minute) &&
                      TakeChar(s, ':') && TakeNumber(s, 2, second) && TakeFraction(s, nanos) &&
                      TakeZone(s, offset) && s.empty();
  if (!shaped || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  // One year inside the limits of int64 nanoseconds, so that arithmetic near the border is safe.
  if (year < 1678) return WallTime::min();
  if (year > 2261) return WallTime::max();
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const int64_t seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset;
  return WallTime(std::chrono::nanoseconds(seconds * kNanosPerSecond + nanos));
}

std::optional<WallTime> TimeOf(Node node) {
  const std::string_view text = node.String();
  return text.empty() ? std::nullopt : ParseTime(text);
}

std::string FormatTime(WallTime t) { return DateAndTime(CivilOf(t)) + "Z"; }

std::string FormatMicroTime(WallTime t) {
  const CivilTime c = CivilOf(t);
  char fraction[16];
  std::snprintf(fraction, sizeof(fraction), ".%06dZ", static_cast<int>(c.nanos / 1000));
  return DateAndTime(c) + fraction;
}

std::string FormatNanoTime(WallTime t) {
  const CivilTime c = CivilOf(t);
  std::string out = DateAndTime(c);
  if (c.nanos != 0) {
    char fraction[16];
    std::snprintf(fraction, sizeof(fraction), ".%09d", static_cast<int>(c.nanos));
    out += fraction;
    out.erase(out.find_last_not_of('0') + 1);
  }
  return out + "Z";
}

std::string FormatTimeInZone(WallTime t, std::chrono::seconds offset) {
  const int64_t minutes = offset.count() / 60;
  if (minutes == 0) return FormatTime(t);
  const int64_t magnitude = minutes < 0 ? -minutes : minutes;
  const std::chrono::sys_seconds local =
      std::chrono::floor<std::chrono::seconds>(t) + std::chrono::minutes(minutes);
  char zone[16];
  std::snprintf(zone, sizeof(zone), "%c%02d:%02d", minutes < 0 ? '-' : '+',
                static_cast<int>(magnitude / 60 % 100), static_cast<int>(magnitude % 60));
  return DateAndTime(CivilOf(local, 0)) + zone;
}

std::chrono::nanoseconds Elapsed(WallTime from, WallTime to) {
  int64_t difference = 0;
  if (__builtin_sub_overflow(to.time_since_epoch().count(), from.time_since_epoch().count(),
                             &difference)) {
    return from < to ? std::chrono::nanoseconds::max() : std::chrono::nanoseconds::min();
  }
  return std::chrono::nanoseconds(difference);
}

WallTime Plus(WallTime t, std::chrono::nanoseconds d) {
  int64_t sum = 0;
  if (__builtin_add_overflow(t.time_since_epoch().count(), d.count(), &sum))
    return d.count() > 0 ? WallTime::max() : WallTime::min();
  return WallTime(std::chrono::nanoseconds(sum));
}

WallTime TruncateToSecond(WallTime t) {
  // Below the first whole second that nanoseconds can hold there is none: stay.
  if (t < WallTime::min() + std::chrono::seconds(1)) return WallTime::min();
  return std::chrono::floor<std::chrono::seconds>(t);
}

}  // namespace kcm::rules
