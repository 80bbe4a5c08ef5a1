// SPDX-License-Identifier: Apache-2.0
// IssuedDeletions: pods whose deletion the server has accepted and the cache does not show yet.
//
// The write barrier does not count deletions (spec/pod-workloads.md 1.7), and the set's own status
// may come back sooner than its pods do: the next reconcile then sees the pod as it was. It is not
// deleted a second time, by a name that may belong to its successor by now. Lost with a restart:
// then the caches are fresh.
#pragma once
#include <chrono>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "kcm/rules/node.h"

namespace kcm::pod::statefulset {

// Thread-safe.
class IssuedDeletions {
 public:
  // Any clock that does not jump, the same one in every call.
  using Instant = std::chrono::nanoseconds;
  // After this long a pod may be deleted again: what became of the first time can not be told.
  static constexpr std::chrono::minutes kTimeout{5};

  void Issued(std::string_view set_uid, std::string_view pod_uid, Instant now);
  bool IsAwaited(std::string_view set_uid, std::string_view pod_uid, Instant now) const;
  // `pods`: those of the set as the cache has them. Those that are being deleted or gone are not
  // awaited any more.
  void Shown(std::string_view set_uid, std::span<const rules::Node> pods);
  // The set is gone.
  void Forget(std::string_view set_uid);

 private:
  using Pods = std::map<std::string, Instant, std::less<>>;  // by uid
  mutable std::mutex mutex_;
  std::map<std::string, Pods, std::less<>> sets_;  // by uid; guarded by mutex_
};

}  // namespace kcm::pod::statefulset
