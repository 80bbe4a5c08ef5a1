// SPDX-License-Identifier: Apache-2.0
// Stream: the notifications of one informer in order, and its subscribers (spec/host.md 5.4, 5.6).
//
// Notifications are kept once, in short chunks that all subscribers share; a chunk goes when the
// slowest has read it. Each subscriber has its own thread and place. Updates that change nothing
// (relist, resync) are numbered like all others but reach only the members of the current resync
// round.
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "host/cache/informer.h"
#include "host/cache/small_thread.h"

namespace kcm::host::cache {

struct Entry {
  Notification notification;
  bool members_only = false;  // for members of `round`
  uint64_t round = 0;
};

struct Chunk {
  ~Chunk();
  // Short: what all have read stays until the whole chunk is read, and holds old versions of
  // objects.
  static constexpr size_t kSize = 16;
  std::array<Entry, kSize> entries;
  size_t count = 0;             // guarded by Stream::mutex_; entries below it never change
  std::shared_ptr<Chunk> next;  // guarded by Stream::mutex_
};

class Subscriber;

// Thread-safe. Shared by the informer and its subscriptions.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  explicit Stream(clock::Clock* clock);

  // Numbers and appends. All entries of one call become visible at once. REQUIRES: calls are
  // serialised by the informer.
  void Publish(std::vector<Entry> entries);
  // A new subscriber that first gets `snapshot` as initial adds. REQUIRES: serialised with Publish.
  std::shared_ptr<Subscription> Subscribe(Handler* handler, const std::string& name,
                                          std::vector<wire::ObjectPtr> snapshot,
                                          clock::Duration resync);
  // The initial list is published completely (and may be empty).
  void MarkSynced();
  // No more deliveries; subscriptions stay valid.
  void Close();

  uint64_t round() const;
  // Starts the next resync round; false when no subscriber is due at `now`.
  bool StartRound(clock::MonoTime now);
  // Smallest period that a subscriber asked for, 0: none.
  clock::Duration SmallestResync() const;
  size_t Backlog() const;  // of the slowest

 private:
  friend class Subscriber;
  void Drop(Subscriber* subscriber);

  clock::Clock* const clock_;
  mutable std::mutex mutex_;
  std::shared_ptr<Chunk> tail_;           // guarded by mutex_
  uint64_t sequence_ = 0;                 // of the newest entry. Guarded by mutex_
  uint64_t round_ = 0;                    // guarded by mutex_
  bool closed_ = false;                   // guarded by mutex_
  std::vector<Subscriber*> subscribers_;  // guarded by mutex_
  std::atomic<bool> synced_{false};
  std::atomic<uint64_t> synced_sequence_{0};
};

}  // namespace kcm::host::cache
