// SPDX-License-Identifier: Apache-2.0
// Texts of times and warnings (core.h).
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>

#include "devcluster/server/core.h"

namespace kcm::devcluster {

std::string SecondsText(int64_t since_1970) {
  const time_t t = static_cast<time_t>(since_1970);
  tm utc{};
  gmtime_r(&t, &utc);
  std::array<char, 32> text{};
  const size_t n = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return std::string(text.data(), n);
}

std::string FormatSeconds(host::clock::WallTime t) {
  return SecondsText(std::chrono::floor<std::chrono::seconds>(t).time_since_epoch().count());
}

std::string FormatMicros(host::clock::WallTime t) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(t);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(t - seconds).count();
  std::string text = SecondsText(seconds.time_since_epoch().count());
  std::array<char, 16> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%06dZ", static_cast<int>(micros));
  text.pop_back();
  return text + fraction.data();
}

std::optional<int64_t> ParseSeconds(std::string_view text) {
  // 2006-01-02T15:04:05[.fraction](Z|+hh:mm)
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  bool ok = true;
  const auto number = [&](size_t at, size_t n) {
    int v = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + n, v);
    ok = ok && error == std::errc() && end == text.data() + at + n;
    return v;
  };
  tm utc{};
  utc.tm_year = number(0, 4) - 1900;
  utc.tm_mon = number(5, 2) - 1;
  utc.tm_mday = number(8, 2);
  utc.tm_hour = number(11, 2);
  utc.tm_min = number(14, 2);
  utc.tm_sec = number(17, 2);
  size_t at = 19;
  if (text[at] == '.') {
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    }
  }
  int64_t offset = 0;
  if (at < text.size() && text[at] == 'Z') {
    ok = ok && at + 1 == text.size();
  } else if (at + 6 == text.size() && (text[at] == '+' || text[at] == '-')) {
    offset = (number(at + 1, 2) * 60 + number(at + 4, 2)) * 60 * (text[at] == '-' ? -1 : 1);
  } else {
    ok = false;
  }
  if (!ok) return std::nullopt;
  return static_cast<int64_t>(timegm(&utc)) - offset;
}

std::string WarningHeaders(const std::vector<std::string>& warnings) {
  std::string out;
  for (const std::string& w : warnings) {
    out += "Warning: 299 - \"";
    for (const char c : w) {
      if (c == '"' || c == '\\') out += '\\';
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    out += "\"\r\n";
  }
  return out;
}

}  // namespace kcm::devcluster
