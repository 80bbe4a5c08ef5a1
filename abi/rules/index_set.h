// SPDX-License-Identifier: Apache-2.0
// IndexSet: a set of completion indexes and its text, `1,3-5,7` (spec/pod-batch.md 1.6).
//
//   IndexSet done = IndexSet::Parse(job.Path("status.completedIndexes").String(), completions);
//   done.Add(4);  done.Text() == "1,3-5"
//
// A value type; as large as its intervals, not as its members. Thread-safe when constant.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kcm::rules {

class IndexSet {
 public:
  struct Interval {
    int64_t first = 0;
    int64_t last = 0;  // inclusive
    friend bool operator==(const Interval&, const Interval&) = default;
  };

  // Indexes below `bound`. Elements that are no numbers are skipped; the first element that starts
  // at `bound` or above ends the text; an end above it is cut off.
  static IndexSet Parse(std::string_view text, int64_t bound);

  // Negative indexes are no indexes and are left out.
  void Add(int64_t index);
  void Add(const IndexSet& other);

  bool Has(int64_t index) const;
  int64_t size() const;
  bool empty() const { return intervals_.empty(); }
  // Members of both.
  int64_t CountCommon(const IndexSet& other) const;
  // The lowest `count` indexes below `bound` that are not members.
  std::vector<int64_t> Missing(int64_t count, int64_t bound) const;

  // Ascending; a run of two is written as two numbers, of three or more as an interval.
  std::string Text() const;

  // Ascending, neither overlapping nor adjacent.
  const std::vector<Interval>& intervals() const { return intervals_; }
  friend bool operator==(const IndexSet&, const IndexSet&) = default;

 private:
  void AddInterval(Interval interval);
  std::vector<Interval> intervals_;
};

}  // namespace kcm::rules
