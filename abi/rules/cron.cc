// SPDX-License-Identifier: Apache-2.0
// Reading schedules and walking through local time.
#include "kcm/rules/cron.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "kcm/rules/go_duration.h"
#include "kcm/rules/go_quote.h"

namespace kcm::rules {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr int kSearchYears = 5;
constexpr int64_t kLargestNumber = 1000000000;

struct Bounds {
  unsigned min, max;
  std::array<std::string_view, 12> names;  // of min, min + 1, ...; empty: none
};
constexpr Bounds kMinutes{0, 59, {}};
constexpr Bounds kHours{0, 23, {}};
constexpr Bounds kDaysOfMonth{1, 31, {}};
constexpr Bounds kMonths{
    1, 12, {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}};
constexpr Bounds kDaysOfWeek{0, 6, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}};

constexpr std::pair<std::string_view, std::string_view> kDescriptors[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"}};
constexpr std::string_view kEvery = "@every ";

Error InvalidSchedule(std::string message) { return MakeError(Code::kInvalid, std::move(message)); }

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r';
}
std::string_view Trim(std::string_view s) {
  while (!s.empty() && IsBlank(s.front())) s.remove_prefix(1);
  while (!s.empty() && IsBlank(s.back())) s.remove_suffix(1);
  return s;
}
std::vector<std::string_view> Words(std::string_view s) {
  std::vector<std::string_view> out;
  size_t at = 0;
  while (at < s.size()) {
    if (IsBlank(s[at])) {
      ++at;
      continue;
    }
    const size_t start = at;
    while (at < s.size() && !IsBlank(s[at])) ++at;
    out.push_back(s.substr(start, at - start));
  }
  return out;
}
// All pieces, empty ones too.
std::vector<std::string_view> SplitAt(std::string_view s, char separator) {
  std::vector<std::string_view> out;
  while (true) {
    const size_t end = s.find(separator);
    out.push_back(s.substr(0, end));
    if (end == std::string_view::npos) return out;
    s.remove_prefix(end + 1);
  }
}

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? static_cast<char>(x + 32) : x) == y;
  });
}

// A decimal number, with a plus at most: hyphens separate.
Result<int64_t> NumberOf(std::string_view text, std::string_view where) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  int64_t value = 0;
  bool legal = !digits.empty();
  for (const char c : digits) {
    if (c < '0' || c > '9') {
      legal = false;
      break;
    }
    value = std::min(value * 10 + (c - '0'), kLargestNumber);
  }
  if (legal) return value;
  return InvalidSchedule("failed to parse int from " + std::string(where) +
                         ": strconv.Atoi: parsing " + GoQuote(text) + ": invalid syntax");
}

Result<int64_t> NumberOrName(std::string_view text, const Bounds& bounds) {
  for (size_t i = 0; i < bounds.names.size() && !bounds.names[i].empty(); ++i)
    if (EqualsIgnoringCase(text, bounds.names[i])) return bounds.min + static_cast<int64_t>(i);
  return NumberOf(text, text);
}

std::string Compared(const char* what, int64_t value, const char* relation, int64_t bound,
                     std::string_view where) {
  return std::string(what) + " (" + std::to_string(value) + ") " + relation + " (" +
         std::to_string(bound) + "): " + std::string(where);
}

}  // namespace

// ---- reading ----

class CronSchedule::Reader {
 public:
  static Result<Field> ReadField(std::string_view text, const Bounds& bounds) {
    Field out;
    for (const std::string_view piece : SplitAt(text, ',')) {
      if (piece.empty()) continue;
      const Result<Field> range = ReadRange(piece, bounds);
      if (!range.ok()) return range.error();
      out.values |= range->values;
      out.star = out.star || range->star;
    }
    return out;
  }

 private:
  // `*`, `?`, `n`, `a-b`, each with `/step` if need be; `n/step` goes on to the highest value.
  static Result<Field> ReadRange(std::string_view text, const Bounds& bounds) {
    const std::vector<std::string_view> with_step = SplitAt(text, '/');
    const std::vector<std::string_view> ends = SplitAt(with_step[0], '-');
    int64_t low = bounds.min, high = bounds.max, step = 1;
    Field out{.star = ends[0] == "*" || ends[0] == "?"};
    if (!out.star) {
      if (ends.size() > 2) return InvalidSchedule("too many hyphens: " + std::string(text));
      const Result<int64_t> first = NumberOrName(ends[0], bounds);
      if (!first.ok()) return first.error();
      const Result<int64_t> second = ends.size() == 1 ? first : NumberOrName(ends[1], bounds);
      if (!second.ok()) return second.error();
      low = *first;
      high = *second;
    }
    if (with_step.size() > 2) return InvalidSchedule("too many slashes: " + std::string(text));
    if (with_step.size() == 2) {
      const Result<int64_t> given = NumberOf(with_step[1], with_step[1]);
      if (!given.ok()) return given.error();
      step = *given;
      if (ends.size() == 1) high = bounds.max;
      if (step > 1) out.star = false;
    }
    if (low < bounds.min)
      return InvalidSchedule(
          Compared("beginning of range", low, "below minimum", bounds.min, text));
    if (high > bounds.max)
      return InvalidSchedule(Compared("end of range", high, "above maximum", bounds.max, text));
    if (low > high)
      return InvalidSchedule(
          Compared("beginning of range", low, "beyond end of range", high, text));
    if (step == 0)
      return InvalidSchedule("step of range should be a positive number: " + std::string(text));
    for (int64_t value = low; value <= high; value += step) out.values |= uint64_t{1} << value;
    return out;
  }
};

Result<CronSchedule> CronSchedule::Parse(std::string_view text, const ZoneLookup& find_zone) {
  if (text.empty()) return InvalidSchedule("empty spec string");
  std::string_view zone = "Local";
  if (text.starts_with("TZ=") || text.starts_with("CRON_TZ=")) {
    const size_t equals = text.find('='), blank = text.find(' ');
    if (blank == std::string_view::npos)
      return InvalidSchedule("invalid schedule format: no blank after the time zone: " +
                             std::string(text));
    zone = text.substr(equals + 1, blank - equals - 1);
    text = Trim(text.substr(blank));
  }
  Result<std::shared_ptr<const TimeZone>> found = find_zone(zone);
  if (!found.ok())
    return InvalidSchedule("provided bad location " + std::string(zone) + ": " +
                           found.error().message);
  CronSchedule out;
  out.zone_ = *std::move(found);

  if (text.starts_with('@')) {
    if (text.starts_with(kEvery)) {
      const auto every = ParseDuration(text.substr(kEvery.size()));
      if (!every.ok()) {
        return InvalidSchedule("failed to parse duration " + std::string(text) + ": " +
                               every.error().message);
      }
      out.every_ = std::max(seconds(1), std::chrono::duration_cast<seconds>(*every));
      return out;
    }
    const auto known = std::find_if(std::begin(kDescriptors), std::end(kDescriptors),
                                    [text](const auto& d) { return d.first == text; });
    if (known == std::end(kDescriptors))
      return InvalidSchedule("unrecognized descriptor: " + std::string(text));
    text = known->second;
  }
  const std::vector<std::string_view> words = Words(text);
  if (words.size() != 5) {
    std::string shown;
    for (const std::string_view word : words) {
      if (!shown.empty()) shown += ' ';
      shown += word;
    }
    return InvalidSchedule("expected exactly 5 fields, found " + std::to_string(words.size()) +
                           ": [" + shown + "]");
  }
  const std::pair<Field*, const Bounds*> fields[] = {{&out.minute_, &kMinutes},
                                                     {&out.hour_, &kHours},
                                                     {&out.day_of_month_, &kDaysOfMonth},
                                                     {&out.month_, &kMonths},
                                                     {&out.day_of_week_, &kDaysOfWeek}};
  for (size_t i = 0; i < words.size(); ++i) {
    const Result<Field> field = Reader::ReadField(words[i], *fields[i].second);
    if (!field.ok()) return field.error();
    *fields[i].first = *field;
  }
  return out;
}

// ---- walking ----

// With `*` in one of them the other decides; else either may match.
bool CronSchedule::DayMatches(const std::chrono::year_month_day& date) const {
  if (!month_.Has(static_cast<unsigned>(date.month()))) return false;
  const bool of_month = day_of_month_.Has(static_cast<unsigned>(date.day()));
  const bool of_week =
      day_of_week_.Has(std::chrono::weekday(std::chrono::sys_days(date)).c_encoding());
  return day_of_month_.star || day_of_week_.star ? of_month && of_week : of_month || of_week;
}

std::optional<WallTime> CronSchedule::Next(WallTime t) const {
  if (every_.count() == 0) return NextMatch(t);
  return Plus(TruncateToSecond(t), every_);
}

// From one moment to the next that could match: of the following minute, hour or day of the local
// clock, but never past a change of that clock.
std::optional<WallTime> CronSchedule::NextMatch(WallTime t) const {
  using namespace std::chrono;  // NOLINT: calendar
  if (minute_.values == 0 || hour_.values == 0) return std::nullopt;
  sys_seconds at = floor<seconds>(TruncateToSecond(t)) + seconds(1);
  std::optional<int> last_year;
  while (true) {
    const TimeZone::Period period = zone_->At(at);
    const sys_seconds local = at + period.offset;  // what the local clock shows
    const sys_days midnight = floor<days>(local);
    const year_month_day date(midnight);
    if (!last_year) last_year = static_cast<int>(date.year()) + kSearchYears;
    if (static_cast<int>(date.year()) > *last_year) return std::nullopt;

    const hh_mm_ss clock(local - midnight);
    seconds step{0};
    if (!DayMatches(date)) {
      step = seconds(days(1)) - (local - midnight);
    } else if (!hour_.Has(static_cast<unsigned>(clock.hours().count()))) {
      step = seconds(hours(1)) - clock.minutes() - clock.seconds();
    } else if (clock.seconds().count() != 0 ||
               !minute_.Has(static_cast<unsigned>(clock.minutes().count()))) {
      step = seconds(minutes(1)) - clock.seconds();
    } else {
      return Plus(WallTime(), at.time_since_epoch());
    }
    at = std::min(at + step, period.until);
  }
}

}  // namespace kcm::rules
