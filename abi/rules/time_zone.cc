// SPDX-License-Identifier: Apache-2.0
// Reading TZif files. Of the two data blocks of a file the one with 64-bit times is used, where
// there is one.
#include "kcm/rules/time_zone.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace kcm::rules {

using std::chrono::seconds;

namespace {

constexpr size_t kHeaderSize = 44;
// Zones change a few hundred times in all of history.
constexpr uint32_t kMostEntries = 100000;
constexpr int64_t kSecondsPerDay = 86400;

Error Broken(std::string_view what) {
  return MakeError(Code::kInvalid, "malformed time zone information: " + std::string(what));
}

uint32_t Big32(std::string_view s, size_t at) {
  uint32_t out = 0;
  for (size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(s[at + i]);
  return out;
}
int64_t Big64(std::string_view s, size_t at) {
  return static_cast<int64_t>(uint64_t{Big32(s, at)} << 32 | Big32(s, at + 4));
}

struct Header {
  char version = 0;
  uint32_t utc_flags = 0, standard_flags = 0, leaps = 0, changes = 0, types = 0, letters = 0;

  // `time_size`: bytes of a time in the block.
  size_t BlockSize(size_t time_size) const {
    return size_t{changes} * (time_size + 1) + size_t{types} * 6 + letters +
           size_t{leaps} * (time_size + 4) + standard_flags + utc_flags;
  }
};

std::optional<Header> ReadHeader(std::string_view s) {
  if (s.size() < kHeaderSize || !s.starts_with("TZif")) return std::nullopt;
  const Header h{.version = s[4],
                 .utc_flags = Big32(s, 20),
                 .standard_flags = Big32(s, 24),
                 .leaps = Big32(s, 28),
                 .changes = Big32(s, 32),
                 .types = Big32(s, 36),
                 .letters = Big32(s, 40)};
  for (const uint32_t n : {h.utc_flags, h.standard_flags, h.leaps, h.changes, h.types, h.letters})
    if (n > kMostEntries) return std::nullopt;
  return h;
}

int64_t DaysTo(int year) {
  using namespace std::chrono;  // NOLINT: calendar
  return sys_days(std::chrono::year(year) / January / 1).time_since_epoch().count();
}
int YearOf(int64_t local_seconds) {
  const auto day =
      std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(seconds(local_seconds)));
  return static_cast<int>(std::chrono::year_month_day(day).year());
}

}  // namespace

// ---- the rule for the future ----

// Reads a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`.
class RuleText {
 public:
  explicit RuleText(std::string_view text) : rest_(text) {}

  std::optional<TimeZone::Rule> Read() {
    TimeZone::Rule out;
    if (!Name() || !Offset(out.standard)) return std::nullopt;
    if (rest_.empty()) return out;
    if (!Name()) return std::nullopt;
    out.summer = out.standard + seconds(3600);
    if (!rest_.empty() && rest_.front() != ',') {
      seconds given{0};
      if (!Offset(given)) return std::nullopt;
      out.summer = given;
    }
    if (!Take(',') || !Day(out.summer_begins) || !Take(',') || !Day(out.summer_ends) ||
        !rest_.empty()) {
      return std::nullopt;
    }
    return out;
  }

 private:
  bool Take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool Number(int most, int& out) {
    int value = 0;
    size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      value = value * 10 + (rest_[digits] - '0');
      if (value > most) return false;
    }
    rest_.remove_prefix(digits);
    out = value;
    return digits > 0;
  }
  // Letters, or anything in angle brackets.
  bool Name() {
    if (Take('<')) {
      const size_t end = rest_.find('>');
      if (end == std::string_view::npos) return false;
      rest_.remove_prefix(end + 1);
      return true;
    }
    size_t n = 0;
    while (n < rest_.size() &&
           ((rest_[n] >= 'A' && rest_[n] <= 'Z') || (rest_[n] >= 'a' && rest_[n] <= 'z'))) {
      ++n;
    }
    rest_.remove_prefix(n);
    return n > 0;
  }
  // h[:m[:s]] with a sign.
  bool Clock(int& out) {
    const bool negative = Take('-');
    if (!negative) (void)Take('+');
    int h = 0, m = 0, s = 0;
    if (!Number(167, h)) return false;
    if (Take(':') && (!Number(59, m) || (Take(':') && !Number(59, s)))) return false;
    out = (h * 60 + m) * 60 + s;
    if (negative) out = -out;
    return true;
  }
  // West of UTC, as POSIX has it.
  bool Offset(seconds& out) {
    int west = 0;
    if (!Clock(west)) return false;
    out = -seconds(west);
    return true;
  }
  bool Day(TimeZone::Rule::Day& out) {
    using Form = TimeZone::Rule::Day::Form;
    if (Take('M')) {
      out.form = Form::kMonthWeekDay;
      if (!Number(12, out.month) || !Take('.') || !Number(5, out.week) || !Take('.') ||
          !Number(6, out.day) || out.month < 1 || out.week < 1) {
        return false;
      }
    } else if (Take('J')) {
      out.form = Form::kJulian;
      if (!Number(365, out.day) || out.day < 1) return false;
    } else {
      out.form = Form::kDayOfYear;
      if (!Number(365, out.day)) return false;
    }
    return !Take('/') || Clock(out.seconds);
  }

  std::string_view rest_;
};

int64_t TimeZone::Rule::Day::SecondsInto(int year) const {
  using namespace std::chrono;  // NOLINT: calendar
  const std::chrono::year y(year);
  int64_t days = 0;
  switch (form) {
    case Form::kMonthWeekDay: {
      const auto m = y / std::chrono::month(static_cast<unsigned>(month));
      const weekday wanted(static_cast<unsigned>(day));
      const sys_days date = week == 5 ? sys_days(m / wanted[last])
                                      : sys_days(m / wanted[static_cast<unsigned>(week)]);
      days = date.time_since_epoch().count() - DaysTo(year);
      break;
    }
    case Form::kJulian:  // 29 February has no number
      days = day - 1 + (y.is_leap() && day >= 60 ? 1 : 0);
      break;
    case Form::kDayOfYear:
      days = day;
      break;
  }
  return days * kSecondsPerDay + seconds;
}

TimeZone::Period TimeZone::Rule::At(Time t) const {
  if (!summer) return {.offset = standard};
  // The last change before and the first after lie within the years around.
  const int64_t now = t.time_since_epoch().count();
  const int year = YearOf(now + standard.count());
  std::optional<std::pair<int64_t, std::chrono::seconds>> last;
  std::optional<int64_t> next;
  for (int y = year - 1; y <= year + 1; ++y) {
    const int64_t start = DaysTo(y) * kSecondsPerDay;
    const std::pair<int64_t, std::chrono::seconds> changes[] = {
        {start + summer_begins.SecondsInto(y) - standard.count(), *summer},
        {start + summer_ends.SecondsInto(y) - summer->count(), standard}};
    for (const auto& change : changes) {
      if (change.first <= now) {
        if (!last || change.first >= last->first) last = change;
      } else if (!next || change.first < *next) {
        next = change.first;
      }
    }
  }
  Period out{.offset = last ? last->second : standard};
  if (next) out.until = Time(std::chrono::seconds(*next));
  return out;
}

// ---- the file ----

Result<TimeZone> TimeZone::FromTzif(std::string_view bytes) {
  std::optional<Header> header = ReadHeader(bytes);
  if (!header) return Broken("no TZif header");
  bytes.remove_prefix(kHeaderSize);
  size_t time_size = 4;
  if (header->version >= '2') {
    const size_t skip = header->BlockSize(4);
    if (bytes.size() < skip) return Broken("the first block is cut short");
    bytes.remove_prefix(skip);
    header = ReadHeader(bytes);
    if (!header) return Broken("no second TZif header");
    bytes.remove_prefix(kHeaderSize);
    time_size = 8;
  }
  if (bytes.size() < header->BlockSize(time_size)) return Broken("the block is cut short");
  if (header->types == 0) return Broken("no offsets");

  const size_t changes = header->changes;
  const size_t indexes_at = changes * time_size, types_at = indexes_at + changes;
  std::vector<int32_t> offsets;  // by type
  for (size_t i = 0; i < header->types; ++i) {
    offsets.push_back(static_cast<int32_t>(Big32(bytes, types_at + i * 6)));
    // What clocks show anywhere is within a day or so of UTC.
    if (std::abs(int64_t{offsets.back()}) > 2 * kSecondsPerDay)
      return Broken("an offset is too large");
  }
  TimeZone out;
  for (size_t i = 0; i < changes; ++i) {
    const int64_t at =
        time_size == 8 ? Big64(bytes, i * 8) : int64_t{static_cast<int32_t>(Big32(bytes, i * 4))};
    const size_t type = static_cast<unsigned char>(bytes[indexes_at + i]);
    if (type >= offsets.size()) return Broken("an offset is missing");
    if (!out.changes_.empty() && at <= out.changes_.back())
      return Broken("changes are not in order");
    out.changes_.push_back(at);
    out.offsets_.push_back(offsets[type]);
  }
  out.first_offset_ = offsets[0];
  if (time_size == 8) {
    std::string_view rule = bytes.substr(header->BlockSize(8));
    if (!rule.starts_with('\n')) return Broken("no rule at the end");
    rule = rule.substr(1, rule.find('\n', 1) - 1);
    if (!rule.empty()) {
      out.rule_ = RuleText(rule).Read();
      if (!out.rule_) return Broken("the rule " + std::string(rule) + " is not understood");
    }
  }
  return out;
}

TimeZone::Period TimeZone::At(Time t) const {
  const int64_t now = t.time_since_epoch().count();
  const auto next = std::upper_bound(changes_.begin(), changes_.end(), now);
  if (next == changes_.end() && rule_) return rule_->At(t);
  Period out;
  out.offset = seconds(next == changes_.begin()
                           ? first_offset_
                           : offsets_[static_cast<size_t>(next - changes_.begin()) - 1]);
  if (next != changes_.end()) out.until = Time(seconds(*next));
  return out;
}

}  // namespace kcm::rules
