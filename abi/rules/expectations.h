// SPDX-License-Identifier: Apache-2.0
// Expectations: creations and deletions that a controller has issued and its cache has not shown
// yet (spec/pod-workloads.md 1.6; pod-batch.md 0.3). While they are unsatisfied no further pod is
// created or deleted.
//
//   expectations.Expect(key, {.creations = 3}, now);   // before the creates
//   expectations.CreationObserved(key);                // Add event of a pod of ours, or a create
//   that failed if (expectations.Satisfied(key, now)) ManagePods();
//
// In memory only: after a restart there are none and everything is satisfied.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kcm::rules {

// Thread-safe.
class Expectations {
 public:
  // Any clock that does not jump, the same one in every call.
  using Instant = std::chrono::nanoseconds;
  // After this long a record counts as satisfied: an event was missed, go on.
  static constexpr std::chrono::minutes kTimeout{5};

  struct Counts {
    int64_t creations = 0;
    int64_t deletions = 0;
  };

  // Replaces the record of `key`. Deletions are plain counts (DaemonSet, Job).
  void Expect(std::string_view key, Counts counts, Instant now);
  // Replaces the record of `key`: these pods (`namespace/name`) are to disappear, each counts once
  // (ReplicaSet, RC).
  void ExpectDeletionsOf(std::string_view key, const std::vector<std::string>& pods, Instant now);

  // One creation less: seen, failed or skipped. May go below zero. Unknown keys are fine, here and
  // below.
  void CreationObserved(std::string_view key, int64_t count = 1);
  // One deletion less, for records of Expect().
  void DeletionObserved(std::string_view key, int64_t count = 1);
  // One deletion less if `pod` is one of those expected and was not counted before, for records of
  // ExpectDeletionsOf().
  void DeletionObserved(std::string_view key, std::string_view pod);

  // No record, nothing left to see, or older than kTimeout.
  bool Satisfied(std::string_view key, Instant now) const;
  // What is left to see; zeros without a record.
  Counts Pending(std::string_view key) const;
  // The owner is gone (or was re-created with another uid).
  void Forget(std::string_view key);

 private:
  struct Record {
    Counts counts;
    std::set<std::string, std::less<>> pods;
    Instant since{0};
  };

  mutable std::mutex mutex_;
  std::map<std::string, Record, std::less<>> records_;  // guarded by mutex_
};

}  // namespace kcm::rules
