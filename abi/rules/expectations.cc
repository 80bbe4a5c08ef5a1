// SPDX-License-Identifier: Apache-2.0
// The records behind Expectations.
#include "kcm/rules/expectations.h"

#include <utility>

namespace kcm::rules {

void Expectations::Expect(std::string_view key, Counts counts, Instant now) {
  const std::lock_guard lock(mutex_);
  records_.insert_or_assign(std::string(key), Record{counts, {}, now});
}

void Expectations::ExpectDeletionsOf(std::string_view key, const std::vector<std::string>& pods,
                                     Instant now) {
  Record record;
  record.pods.insert(pods.begin(), pods.end());
  record.counts.deletions = static_cast<int64_t>(record.pods.size());
  record.since = now;
  const std::lock_guard lock(mutex_);
  records_.insert_or_assign(std::string(key), std::move(record));
}

void Expectations::CreationObserved(std::string_view key, int64_t count) {
  const std::lock_guard lock(mutex_);
  if (const auto it = records_.find(key); it != records_.end()) {
    it->second.counts.creations -= count;
  }
}

void Expectations::DeletionObserved(std::string_view key, int64_t count) {
  const std::lock_guard lock(mutex_);
  if (const auto it = records_.find(key); it != records_.end()) {
    it->second.counts.deletions -= count;
  }
}

void Expectations::DeletionObserved(std::string_view key, std::string_view pod) {
  const std::lock_guard lock(mutex_);
  const auto it = records_.find(key);
  if (it == records_.end()) return;
  const auto expected = it->second.pods.find(pod);
  if (expected == it->second.pods.end()) return;
  it->second.pods.erase(expected);
  --it->second.counts.deletions;
}

bool Expectations::Satisfied(std::string_view key, Instant now) const {
  const std::lock_guard lock(mutex_);
  const auto it = records_.find(key);
  if (it == records_.end()) return true;
  const Record& record = it->second;
  if (record.counts.creations <= 0 && record.counts.deletions <= 0) return true;
  return now - record.since > kTimeout;
}

Expectations::Counts Expectations::Pending(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto it = records_.find(key);
  return it == records_.end() ? Counts{} : it->second.counts;
}

void Expectations::Forget(std::string_view key) {
  const std::lock_guard lock(mutex_);
  if (const auto it = records_.find(key); it != records_.end()) records_.erase(it);
}

}  // namespace kcm::rules
