// SPDX-License-Identifier: Apache-2.0
// SlowStart: sizes of the batches in which pods are created, 1, 2, 4, ...
// (spec/pod-workloads.md 1.10).
//
//   for (SlowStart batches(want); const int64_t n = batches.Next();) {
//     if (CreateAtOnce(n) had a failure) break;   // batches.Remaining() calls are skipped
//   }
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

namespace kcm::rules {

class SlowStart {
 public:
  // `cap`: largest batch (StatefulSet: 500). Values below 1 count as 1.
  explicit SlowStart(int64_t count, int64_t cap = std::numeric_limits<int64_t>::max())
      : remaining_(std::max<int64_t>(count, 0)), cap_(std::max<int64_t>(cap, 1)) {}

  // Size of the next batch, 0 when everything has been handed out.
  int64_t Next() {
    const int64_t batch = std::min({size_, cap_, remaining_});
    remaining_ -= batch;
    if (size_ < cap_ && size_ <= std::numeric_limits<int64_t>::max() / 2) size_ *= 2;
    return batch;
  }
  int64_t Remaining() const { return remaining_; }

 private:
  int64_t remaining_;
  int64_t cap_;
  int64_t size_ = 1;
};

}  // namespace kcm::rules
