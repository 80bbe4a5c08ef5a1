// SPDX-License-Identifier: Apache-2.0
// Times and base64.
#include "host/wire/scalar_text.h"

#include <array>

namespace kcm::host::wire {
namespace {

constexpr int64_t kSecondsPerDay = 86400;
constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

struct Date {
  int64_t year;
  int month;
  int day;
};

// Days since 1970-01-01 to a date and back, counted in years that begin in March so that leap days
// come last.
Date DateOf(int64_t days) {
  days += 719468;  // since 0000-03-01
  const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const int64_t day_of_era = days - era * 146097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const int day = static_cast<int>(day_of_year - (153 * month_from_march + 2) / 5 + 1);
  const int month =
      static_cast<int>(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

int64_t DaysOf(const Date& date) {
  const int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year =
      (153 * (date.month > 2 ? date.month - 3 : date.month + 9) + 2) / 5 + date.day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719468;
}

char* Digits(int64_t value, int count, char* to) {
  for (int i = count - 1; i >= 0; --i) {
    to[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  return to + count;
}

// Takes `count` digits off the front; -1 when there are not that many.
int TakeDigits(std::string_view* text, size_t count) {
  if (text->size() < count) return -1;
  int value = 0;
  for (size_t i = 0; i < count; ++i) {
    const char c = (*text)[i];
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  text->remove_prefix(count);
  return value;
}

bool Take(std::string_view* text, char c) {
  if (text->empty() || text->front() != c) return false;
  text->remove_prefix(1);
  return true;
}

bool TakeFraction(std::string_view* text, int32_t* nanos) {
  *nanos = 0;
  if (!Take(text, '.')) return true;
  int32_t unit = 100000000;
  size_t digits = 0;
  for (; digits < text->size() && (*text)[digits] >= '0' && (*text)[digits] <= '9'; ++digits) {
    *nanos += ((*text)[digits] - '0') * unit;
    unit /= 10;  // 0 behind the ninth digit: cut off
  }
  text->remove_prefix(digits);
  return digits > 0;
}

bool TakeOffset(std::string_view* text, int64_t* seconds) {
  *seconds = 0;
  if (Take(text, 'Z')) return true;
  const bool east = Take(text, '+');
  if (!east && !Take(text, '-')) return false;
  const int hours = TakeDigits(text, 2);
  if (hours < 0 || hours > 23 || !Take(text, ':')) return false;
  const int minutes = TakeDigits(text, 2);
  if (minutes < 0 || minutes > 59) return false;
  *seconds = (hours * 60 + minutes) * (east ? 60 : -60);
  return true;
}

constexpr std::array<int8_t, 256> MakeDigits() {
  std::array<int8_t, 256> digits{};
  for (int8_t& d : digits) d = -1;
  for (int i = 0; i < 64; ++i)
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  return digits;
}
constexpr std::array<int8_t, 256> kDigits = MakeDigits();

}  // namespace

std::string_view FormatTime(int64_t seconds, int32_t micros, char (&text)[kTimeTextSize]) {
  int64_t days = seconds / kSecondsPerDay;
  if (seconds % kSecondsPerDay < 0) --days;
  const int64_t second = seconds - days * kSecondsPerDay;
  const Date date = DateOf(days);
  char* p = Digits(date.year, 4, text);
  *p++ = '-';
  p = Digits(date.month, 2, p);
  *p++ = '-';
  p = Digits(date.day, 2, p);
  *p++ = 'T';
  p = Digits(second / 3600, 2, p);
  *p++ = ':';
  p = Digits(second / 60 % 60, 2, p);
  *p++ = ':';
  p = Digits(second % 60, 2, p);
  if (micros >= 0) {
    *p++ = '.';
    p = Digits(micros, 6, p);
  }
  *p++ = 'Z';
  return {text, static_cast<size_t>(p - text)};
}

bool ParseTime(std::string_view text, int64_t* seconds, int32_t* nanos) {
  Date date{};
  date.year = TakeDigits(&text, 4);
  if (date.year < 0 || !Take(&text, '-')) return false;
  date.month = TakeDigits(&text, 2);
  if (date.month < 1 || date.month > 12 || !Take(&text, '-')) return false;
  date.day = TakeDigits(&text, 2);
  if (date.day < 1 || !Take(&text, 'T')) return false;
  const Date back = DateOf(DaysOf(date));
  if (back.month != date.month || back.day != date.day) return false;  // 30 February
  const int hour = TakeDigits(&text, 2);
  if (hour < 0 || hour > 23 || !Take(&text, ':')) return false;
  const int minute = TakeDigits(&text, 2);
  if (minute < 0 || minute > 59 || !Take(&text, ':')) return false;
  const int second = TakeDigits(&text, 2);
  if (second < 0 || second > 59 || !TakeFraction(&text, nanos)) return false;
  int64_t offset = 0;
  if (!TakeOffset(&text, &offset) || !text.empty()) return false;
  *seconds = DaysOf(date) * kSecondsPerDay + hour * 3600 + minute * 60 + second - offset;
  return true;
}

void AppendBase64(std::string_view bytes, std::string* out) {
  out->reserve(out->size() + (bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&bytes, i](size_t k) {
      return i + k < bytes.size() ? unsigned{static_cast<unsigned char>(bytes[i + k])} : 0u;
    };
    const unsigned bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    *out += kAlphabet[bits >> 18];
    *out += kAlphabet[(bits >> 12) & 63];
    *out += i + 1 < bytes.size() ? kAlphabet[(bits >> 6) & 63] : '=';
    *out += i + 2 < bytes.size() ? kAlphabet[bits & 63] : '=';
  }
}

bool ParseBase64(std::string_view text, std::string* bytes) {
  uint32_t bits = 0;
  unsigned count = 0, padding = 0;
  for (const char c : text) {
    if (c == '\r' || c == '\n') continue;
    const int digit = c == '=' ? 0 : kDigits[static_cast<unsigned char>(c)];
    if (digit < 0 || (padding > 0 && c != '=')) return false;
    if (c == '=') ++padding;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (++count % 4 != 0) continue;
    if (padding > 2) return false;
    bytes->push_back(static_cast<char>(bits >> 16 & 0xFF));
    if (padding < 2) bytes->push_back(static_cast<char>(bits >> 8 & 0xFF));
    if (padding < 1) bytes->push_back(static_cast<char>(bits & 0xFF));
  }
  return count % 4 == 0;
}

}  // namespace kcm::host::wire
