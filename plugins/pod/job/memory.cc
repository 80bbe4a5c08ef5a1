// SPDX-License-Identifier: Apache-2.0
// What job-controller remembers.
#include "plugins/pod/job/memory.h"

#include <sstream>

namespace kcm::pod::job {
namespace {

template <class Map>
void Erase(Map& map, std::string_view key) {
  if (const auto it = map.find(key); it != map.end()) map.erase(it);
}

}  // namespace

Memory::Uids Memory::Releasing(std::string_view job) const {
  const std::lock_guard lock(mutex_);
  const auto it = releasing_.find(job);
  return it == releasing_.end() ? Uids() : it->second;
}

void Memory::ExpectRelease(std::string_view job, const Uids& pods) {
  if (pods.empty()) return;
  const std::lock_guard lock(mutex_);
  releasing_[std::string(job)].insert(pods.begin(), pods.end());
}

void Memory::ReleaseObserved(std::string_view job, std::string_view pod) {
  const std::lock_guard lock(mutex_);
  const auto it = releasing_.find(job);
  if (it == releasing_.end()) return;
  Erase(it->second, pod);
  if (it->second.empty()) releasing_.erase(it);
}

BackOffRecord Memory::BackOff(std::string_view job) const {
  const std::lock_guard lock(mutex_);
  const auto it = back_offs_.find(job);
  return it == back_offs_.end() ? BackOffRecord() : it->second;
}

void Memory::SetBackOff(std::string_view job, const BackOffRecord& record) {
  const std::lock_guard lock(mutex_);
  if (record == BackOffRecord()) {
    Erase(back_offs_, job);
  } else {
    back_offs_[std::string(job)] = record;
  }
}

void Memory::MarkFinished(std::string_view job) {
  const std::lock_guard lock(mutex_);
  finished_.emplace(job);
}

bool Memory::IsMarkedFinished(std::string_view job) const {
  const std::lock_guard lock(mutex_);
  return finished_.contains(job);
}

void Memory::Forget(std::string_view job) {
  expectations_.Forget(job);
  const std::lock_guard lock(mutex_);
  Erase(releasing_, job);
  Erase(back_offs_, job);
  Erase(finished_, job);
}

// One line a Job: uid, failures, nanoseconds since 1970 of the last failure.
std::string Memory::Save() const {
  const std::lock_guard lock(mutex_);
  std::ostringstream out;
  for (const auto& [job, record] : back_offs_) {
    if (!record.last_failure) continue;
    out << job << ' ' << record.failures << ' ' << record.last_failure->time_since_epoch().count()
        << '\n';
  }
  return std::move(out).str();
}

void Memory::Load(std::string_view state) {
  std::istringstream in{std::string(state)};
  std::string job;
  int64_t failures = 0, last_failure = 0;
  while (in >> job >> failures >> last_failure) {
    if (failures > 0)
      SetBackOff(job, {failures, rules::WallTime(std::chrono::nanoseconds(last_failure))});
  }
}

}  // namespace kcm::pod::job
