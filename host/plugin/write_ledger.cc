// SPDX-License-Identifier: Apache-2.0
// Bookkeeping of writes per key.
#include "host/plugin/write_ledger.h"

#include <algorithm>
#include <iterator>

namespace kcm::host::plugin {
namespace {

constexpr ptrdiff_t kMostDeletions = 1024;  // per key
// Looks (one each 5 ms) after which a key runs all the same: a cache that never shows a write must
// not hold its key for ever.
constexpr int kMostLooks = 6000;

}  // namespace

void WriteLedger::Wrote(std::string_view key, const client::Gvr& gvr, uint64_t resource_version) {
  if (key.empty() || resource_version == 0) return;
  const std::lock_guard lock(mutex_);
  auto& versions = records_[std::string(key)].versions;
  for (auto& [have, version] : versions) {
    if (have != gvr) continue;
    version = std::max(version, resource_version);
    return;
  }
  versions.emplace_back(gvr, resource_version);
}

void WriteLedger::Deleted(std::string_view key, const client::Gvr& gvr, std::string_view ns,
                          std::string_view name, std::string_view uid) {
  if (key.empty()) return;
  const std::lock_guard lock(mutex_);
  std::vector<Gone>& deleted = records_[std::string(key)].deleted;
  // The oldest ones were seen long ago; a record only matters for the moments after a swap.
  if (std::ssize(deleted) >= kMostDeletions)
    deleted.erase(deleted.begin(), deleted.begin() + kMostDeletions / 2);
  deleted.push_back({gvr, std::string(ns), std::string(name), std::string(uid)});
}

void WriteLedger::Unknown(std::string_view key, const client::Gvr& gvr, uint64_t seen) {
  Wrote(key, gvr, seen + 1);
}

void WriteLedger::Seal() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, record] : records_) record.sealed = true;
  sealed_ = records_.size();
}

bool WriteLedger::Satisfied(Record& r, const Caches& caches) {
  std::erase_if(r.versions, [&](const auto& v) { return caches.Seen(v.first) >= v.second; });
  std::erase_if(r.deleted,
                [&](const Gone& g) { return !caches.Holds(g.gvr, g.ns, g.name, g.uid); });
  return r.versions.empty() && r.deleted.empty();
}

bool WriteLedger::Ready(std::string_view key, const Caches& caches) {
  const std::lock_guard lock(mutex_);
  if (sealed_ == 0) return true;
  const auto it = records_.find(std::string(key));
  if (it == records_.end() || !it->second.sealed) return true;
  if (!Satisfied(it->second, caches) && ++it->second.looks < kMostLooks) return false;
  records_.erase(it);
  --sealed_;
  return true;
}

void WriteLedger::Trim(const Caches& caches) {
  const std::lock_guard lock(mutex_);
  for (auto it = records_.begin(); it != records_.end();) {
    if (!Satisfied(it->second, caches)) {
      ++it;
      continue;
    }
    if (it->second.sealed) --sealed_;
    it = records_.erase(it);
  }
}

size_t WriteLedger::size() const {
  const std::lock_guard lock(mutex_);
  return records_.size();
}

}  // namespace kcm::host::plugin
