// SPDX-License-Identifier: Apache-2.0
// Doubling waits by key.
#include "plugins/pod/daemonset/failed_pods.h"

#include <algorithm>

namespace kcm::pod::daemonset {

std::string FailedPodKey(std::string_view uid, int64_t observed_generation, std::string_view node) {
  return std::string(uid) + "/" + std::to_string(observed_generation) + "/" + std::string(node);
}

std::optional<std::chrono::nanoseconds> FailedPodBackOff::Hold(const std::string& key,
                                                               Instant now) {
  const std::lock_guard lock(mutex_);
  if (now - swept_ >= kSweep) {
    std::erase_if(entries_,
                  [now](const auto& entry) { return now - entry.second.last > kForgotten; });
    swept_ = now;
  }
  const auto found = entries_.find(key);
  if (found == entries_.end() || now - found->second.last > kForgotten) {
    entries_[key] = {now, kFirst};
    return std::nullopt;
  }
  Entry& entry = found->second;
  if (now - entry.last < entry.wait) return entry.wait;
  entry = {now, std::min<std::chrono::nanoseconds>(entry.wait * 2, kLongest)};
  return std::nullopt;
}

size_t FailedPodBackOff::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace kcm::pod::daemonset
