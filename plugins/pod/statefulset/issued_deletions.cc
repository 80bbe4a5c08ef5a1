// SPDX-License-Identifier: Apache-2.0
// Remembering deletions until the cache shows them.
#include "plugins/pod/statefulset/issued_deletions.h"

#include <set>

#include "kcm/rules/pod.h"

namespace kcm::pod::statefulset {

void IssuedDeletions::Issued(std::string_view set_uid, std::string_view pod_uid, Instant now) {
  const std::lock_guard lock(mutex_);
  sets_[std::string(set_uid)].insert_or_assign(std::string(pod_uid), now);
}

bool IssuedDeletions::IsAwaited(std::string_view set_uid, std::string_view pod_uid,
                                Instant now) const {
  const std::lock_guard lock(mutex_);
  const auto set = sets_.find(set_uid);
  if (set == sets_.end()) return false;
  const auto pod = set->second.find(pod_uid);
  return pod != set->second.end() && now - pod->second < kTimeout;
}

void IssuedDeletions::Shown(std::string_view set_uid, std::span<const rules::Node> pods) {
  const std::lock_guard lock(mutex_);
  const auto set = sets_.find(set_uid);
  if (set == sets_.end()) return;
  std::set<std::string_view> alive;
  for (const rules::Node pod : pods) {
    if (!rules::HasDeletionTimestamp(pod)) alive.insert(pod.Path("metadata.uid").String());
  }
  std::erase_if(set->second, [&](const auto& pod) { return !alive.contains(pod.first); });
  if (set->second.empty()) sets_.erase(set);
}

void IssuedDeletions::Forget(std::string_view set_uid) {
  const std::lock_guard lock(mutex_);
  const auto set = sets_.find(set_uid);
  if (set != sets_.end()) sets_.erase(set);
}

}  // namespace kcm::pod::statefulset
