// SPDX-License-Identifier: Apache-2.0
// Sets of completion indexes as sorted intervals.
#include "kcm/rules/index_set.h"

#include <algorithm>
#include <optional>

#include "kcm/rules/decimal_int64.h"

namespace kcm::rules {
namespace {

// `3` or `3-5`; nullopt for anything else, `5-3` included.
std::optional<IndexSet::Interval> ParseElement(std::string_view text) {
  const size_t dash = text.find('-');
  const std::optional<int64_t> first = ParseInt64(text.substr(0, dash));
  if (!first || *first < 0) return std::nullopt;
  if (dash == std::string_view::npos) return IndexSet::Interval{*first, *first};
  const std::optional<int64_t> last = ParseInt64(text.substr(dash + 1));
  if (!last || *last < *first) return std::nullopt;
  return IndexSet::Interval{*first, *last};
}

}  // namespace

IndexSet IndexSet::Parse(std::string_view text, int64_t bound) {
  IndexSet out;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    if (std::optional<Interval> element = ParseElement(text.substr(0, comma))) {
      if (element->first >= bound) break;
      element->last = std::min(element->last, bound - 1);
      out.AddInterval(*element);
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return out;
}

void IndexSet::Add(int64_t index) {
  if (index >= 0) AddInterval({index, index});
}

void IndexSet::Add(const IndexSet& other) {
  for (const Interval& interval : other.intervals_) AddInterval(interval);
}

void IndexSet::AddInterval(Interval interval) {
  // The first one that overlaps or touches from the left, and the first one beyond.
  const auto begin =
      std::lower_bound(intervals_.begin(), intervals_.end(), interval.first,
                       [](const Interval& i, int64_t first) { return i.last < first - 1; });
  auto end = begin;
  for (; end != intervals_.end() && end->first - 1 <= interval.last; ++end) {
    interval.first = std::min(interval.first, end->first);
    interval.last = std::max(interval.last, end->last);
  }
  if (begin == end) {
    intervals_.insert(begin, interval);
    return;
  }
  *begin = interval;
  intervals_.erase(begin + 1, end);
}

bool IndexSet::Has(int64_t index) const {
  const auto it =
      std::lower_bound(intervals_.begin(), intervals_.end(), index,
                       [](const Interval& i, int64_t wanted) { return i.last < wanted; });
  return it != intervals_.end() && it->first <= index;
}

int64_t IndexSet::size() const {
  int64_t total = 0;
  for (const Interval& i : intervals_) total += i.last - i.first + 1;
  return total;
}

int64_t IndexSet::CountCommon(const IndexSet& other) const {
  int64_t total = 0;
  auto x = intervals_.begin();
  auto y = other.intervals_.begin();
  while (x != intervals_.end() && y != other.intervals_.end()) {
    const int64_t first = std::max(x->first, y->first), last = std::min(x->last, y->last);
    if (first <= last) total += last - first + 1;
    if (x->last < y->last) {
      ++x;
    } else {
      ++y;
    }
  }
  return total;
}

std::vector<int64_t> IndexSet::Missing(int64_t count, int64_t bound) const {
  std::vector<int64_t> out;
  int64_t candidate = 0;
  const auto take_until = [&](int64_t end) {
    for (; candidate < std::min(end, bound) && static_cast<int64_t>(out.size()) < count;
         ++candidate) {
      out.push_back(candidate);
    }
  };
  for (const Interval& i : intervals_) {
    take_until(i.first);
    candidate = std::max(candidate, i.last + 1);
  }
  take_until(bound);
  return out;
}

std::string IndexSet::Text() const {
  std::string out;
  for (const Interval& i : intervals_) {
    if (!out.empty()) out += ',';
    out += std::to_string(i.first);
    if (i.last == i.first) continue;
    out += i.last == i.first + 1 ? ',' : '-';
    out += std::to_string(i.last);
  }
  return out;
}

}  // namespace kcm::rules
