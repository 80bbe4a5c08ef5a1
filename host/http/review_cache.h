// SPDX-License-Identifier: Apache-2.0
// ReviewCache: answers of token and access reviews for a short time, bounded
// (spec/host.md 9.3, 9.6).
//
// Keys are digests, so that no token stays in memory longer than its request. Thread-safe; holds
// its lock only for lookups.
#pragma once
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "host/clock/clock.h"

namespace kcm::host::http {

using Digest = std::array<unsigned char, 32>;
// SHA-256.
Digest DigestOf(std::string_view text);

template <class Answer>
class ReviewCache {
 public:
  explicit ReviewCache(clock::Clock* clock) : clock_(clock) {}

  std::optional<Answer> Find(const Digest& key) {
    const clock::MonoTime now = clock_->Monotonic();
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(key);
    if (it == entries_.end() || it->second.expires <= now) return std::nullopt;
    return it->second.answer;
  }

  // `ttl` <= 0 keeps nothing.
  void Put(const Digest& key, Answer answer, clock::Duration ttl) {
    if (ttl <= clock::Duration(0)) return;
    const clock::MonoTime now = clock_->Monotonic();
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= kMost) Shrink(now);
    entries_[key] = Entry{std::move(answer), now + ttl};
  }

 private:
  static constexpr size_t kMost =
      4096;  // callers are few; the bound is against floods of bad tokens
  struct Entry {
    Answer answer;
    clock::MonoTime expires;
  };
  void Shrink(clock::MonoTime now) {
    std::erase_if(entries_, [&](const auto& entry) { return entry.second.expires <= now; });
    if (entries_.size() >= kMost) entries_.clear();
  }

  clock::Clock* clock_;
  std::mutex mutex_;
  std::map<Digest, Entry> entries_;
};

}  // namespace kcm::host::http
