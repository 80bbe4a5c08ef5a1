// SPDX-License-Identifier: Apache-2.0
// Memory: what job-controller remembers between reconciles, by the uid of the Job, so that one made
// anew under the same name inherits nothing (spec/pod-batch.md 1.3). None of it is needed after a
// restart: then the caches are fresh, and what is recorded in statuses and finalizers counts.
//
// Thread-safe. A Job's entries go when it is deleted.
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "kcm/rules/expectations.h"
#include "plugins/pod/job/back_off.h"

namespace kcm::pod::job {

class Memory {
 public:
  using Uids = std::set<std::string, std::less<>>;

  // Creations and deletions of pods, by the Job's uid.
  rules::Expectations& expectations() { return expectations_; }

  // ---- pods whose finalizer was asked to be removed and is still seen ----
  Uids Releasing(std::string_view job) const;
  void ExpectRelease(std::string_view job, const Uids& pods);
  // Seen without it, or gone; or the removal failed.
  void ReleaseObserved(std::string_view job, std::string_view pod);

  BackOffRecord BackOff(std::string_view job) const;
  void SetBackOff(std::string_view job, const BackOffRecord& record);

  // This process has written the terminal condition; the cache may not show it yet.
  void MarkFinished(std::string_view job);
  bool IsMarkedFinished(std::string_view job) const;

  // The Job is gone, or seen finished: then only what concerns its pods' finalizers would matter,
  // and the orphan queue looks after those.
  void Forget(std::string_view job);

  // The back-off records, for the build that follows this one: a failed pod is not replaced early
  // because of a swap.
  std::string Save() const;
  void Load(std::string_view state);

 private:
  template <class T>
  using ByJob = std::map<std::string, T, std::less<>>;

  rules::Expectations expectations_;
  mutable std::mutex mutex_;
  ByJob<Uids> releasing_;           // guarded by mutex_
  ByJob<BackOffRecord> back_offs_;  // guarded by mutex_
  Uids finished_;                   // guarded by mutex_
};

}  // namespace kcm::pod::job
