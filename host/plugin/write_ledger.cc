// SPDX-License-Identifier: Apache-2.0
// Bookkeeping of writes per key.
#include "host/plugin/write_ledger.h"

#include <algorithm>
#include <iterator>

namespace kcm::host::plugin {
namespace {

constexpr ptrdiff_t kMostDeletions = 1024;  // per key
// Between reads of a place that fail: doubled up to the last.
constexpr clock::Duration kFirstPause = std::chrono::milliseconds(100);
constexpr clock::Duration kLongestPause = std::chrono::seconds(5);

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

void WriteLedger::Unknown(std::string_view key, const Place& place, clock::MonoTime now) {
  if (key.empty()) return;
  const std::lock_guard lock(mutex_);
  std::vector<Lost>& lost = records_[std::string(key)].lost;
  for (Lost& l : lost) {
    if (l.place != place) continue;
    l.since = now;
    return;
  }
  lost.push_back({place, now});
}

void WriteLedger::Seal() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, record] : records_) record.sealed = true;
  sealed_ = records_.size();
  readings_.clear();
}

bool WriteLedger::Satisfied(Record& r, const Caches& caches) const {
  std::erase_if(r.versions, [&](const auto& v) { return caches.Seen(v.first) >= v.second; });
  std::erase_if(r.deleted,
                [&](const Gone& g) { return !caches.Holds(g.gvr, g.ns, g.name, g.uid); });
  std::erase_if(r.lost, [&](const Lost& l) {
    const uint64_t seen = caches.Seen(l.place.gvr);
    if (seen == UINT64_MAX) return true;
    if (!r.sealed) return caches.Now() - l.since >= kLongestHold;
    const auto reading = readings_.find(l.place);
    return reading != readings_.end() && reading->second.version &&
           seen >= *reading->second.version;
  });
  return r.versions.empty() && r.deleted.empty() && r.lost.empty();
}

std::string WriteLedger::Missing(const Record& r) {
  std::string out;
  const auto say = [&](const client::Gvr& gvr, const std::string& what) {
    out += (out.empty() ? "" : ", ") + gvr.ApiVersion() + "/" + gvr.resource + " " + what;
  };
  for (const auto& [gvr, version] : r.versions) say(gvr, "of version " + std::to_string(version));
  for (const Gone& g : r.deleted) say(g.gvr, g.name + ": deleted");
  for (const Lost& l : r.lost) say(l.place.gvr, "created without an answer");
  return out;
}

bool WriteLedger::Ready(std::string_view key, const Caches& caches, std::string* given_up) {
  const std::lock_guard lock(mutex_);
  if (sealed_ == 0) return true;
  const auto it = records_.find(std::string(key));
  if (it == records_.end() || !it->second.sealed) return true;
  Record& r = it->second;
  if (!Satisfied(r, caches)) {
    const clock::MonoTime now = caches.Now();
    if (!r.held_since) r.held_since = now;
    if (now - *r.held_since < kLongestHold) return false;
    if (given_up != nullptr) *given_up = Missing(r);
  }
  records_.erase(it);
  --sealed_;
  return true;
}

std::vector<WriteLedger::Place> WriteLedger::ToRead(std::string_view key, clock::MonoTime now) {
  std::vector<Place> out;
  const std::lock_guard lock(mutex_);
  const auto it = records_.find(std::string(key));
  if (it == records_.end() || !it->second.sealed) return out;
  for (const Lost& l : it->second.lost) {
    Reading& reading = readings_[l.place];
    if (reading.version || reading.under_way || now < reading.due) continue;
    reading.under_way = true;
    out.push_back(l.place);
  }
  return out;
}

void WriteLedger::Read(const Place& place, std::optional<uint64_t> version, clock::MonoTime now) {
  const std::lock_guard lock(mutex_);
  Reading& reading = readings_[place];
  reading.under_way = false;
  reading.version = version;
  if (version) return;
  const clock::Duration pause = kFirstPause * (1 << std::min(reading.failures++, 10));
  reading.due = now + std::min(pause, kLongestPause);
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
