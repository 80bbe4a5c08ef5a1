// SPDX-License-Identifier: Apache-2.0
// The records behind WriteBarrier.
#include "kcm/rules/write_barrier.h"

#include "kcm/rules/resource_version.h"

namespace kcm::rules {

void WriteBarrier::Wrote(std::string_view owner, std::string_view owner_uid,
                         std::string_view resource, std::string_view resource_version) {
  if (!CompareResourceVersion(resource_version, resource_version)) return;
  const std::lock_guard lock(mutex_);
  Record& record = records_[std::string(owner)];
  if (record.uid != owner_uid) record = Record{std::string(owner_uid), {}};
  std::string& highest = record.written[std::string(resource)];
  if (highest.empty() || !HasCaughtUp(highest, resource_version)) highest = resource_version;
}

std::optional<std::string> WriteBarrier::Stale(std::string_view owner, const Seen& seen) {
  Record record;
  {
    const std::lock_guard lock(mutex_);
    const auto it = records_.find(owner);
    if (it == records_.end()) return std::nullopt;
    record = it->second;
  }
  for (const auto& [resource, written] : record.written) {
    if (!HasCaughtUp(seen(resource), written)) return resource;
  }
  const std::lock_guard lock(mutex_);
  const auto it = records_.find(owner);
  // A write that came in meanwhile stays remembered.
  if (it != records_.end() && it->second.uid == record.uid &&
      it->second.written == record.written) {
    records_.erase(it);
  }
  return std::nullopt;
}

void WriteBarrier::Forget(std::string_view owner, std::string_view owner_uid) {
  const std::lock_guard lock(mutex_);
  const auto it = records_.find(owner);
  if (it == records_.end()) return;
  if (owner_uid.empty() || it->second.uid == owner_uid) records_.erase(it);
}

}  // namespace kcm::rules
