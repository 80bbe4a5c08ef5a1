// SPDX-License-Identifier: Apache-2.0
// FailedPodBackOff: how often the failed pods of one node are replaced, so that a pod which a
// kubelet keeps refusing is no hot loop (spec/pod-workloads.md 6.2.4).
//
//   if (const auto wait = back_off.Hold(key, clock.Monotonic())) AddAfter(*wait); else Delete(pod);
//
// In memory only: after a restart the first failed pod is replaced at once.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace kcm::pod::daemonset {

// Of one generation of one DaemonSet on one node: a change of the spec starts anew.
std::string FailedPodKey(std::string_view uid, int64_t observed_generation, std::string_view node);

// Thread-safe.
class FailedPodBackOff {
 public:
  // Any clock that does not jump, the same one in every call.
  using Instant = std::chrono::nanoseconds;
  static constexpr std::chrono::seconds kFirst{1};
  static constexpr std::chrono::minutes kLongest{15};
  static constexpr std::chrono::minutes kForgotten{30};  // unused for longer than that
  static constexpr std::chrono::minutes kSweep{1};

  // nullopt: the pod goes now, and the next one of this key stays twice as long as the one before.
  // Else when to ask again.
  std::optional<std::chrono::nanoseconds> Hold(const std::string& key, Instant now);
  size_t size() const;

 private:
  struct Entry {
    Instant last;
    std::chrono::nanoseconds wait;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // guarded by mutex_
  Instant swept_{0};                      // guarded by mutex_
};

}  // namespace kcm::pod::daemonset
