// SPDX-License-Identifier: Apache-2.0
// Publishing to subscribers.
#include "host/cache/stream.h"

#include <algorithm>
#include <utility>

#include "host/cache/subscriber.h"

namespace kcm::host::cache {

Chunk::~Chunk() {
  // A long chain must not be released recursively on a small stack.
  while (next && next.use_count() == 1) {
    std::shared_ptr<Chunk> after = std::move(next->next);
    next = std::move(after);
  }
}

Stream::Stream(clock::Clock* clock) : clock_(clock), tail_(std::make_shared<Chunk>()) {}

void Stream::Publish(std::vector<Entry> entries) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return;
  for (Entry& entry : entries) {
    if (tail_->count == Chunk::kSize) {
      tail_->next = std::make_shared<Chunk>();
      tail_ = tail_->next;
    }
    entry.notification.sequence = ++sequence_;
    entry.round = round_;
    tail_->entries[tail_->count++] = std::move(entry);
  }
  for (Subscriber* s : subscribers_) {
    s->UpdateBusy();
    s->wake_.notify_one();
  }
}

std::shared_ptr<Subscription> Stream::Subscribe(Handler* handler, const std::string& name,
                                                std::vector<wire::ObjectPtr> snapshot,
                                                clock::Duration resync) {
  auto subscriber =
      std::make_shared<Subscriber>(shared_from_this(), handler, std::move(snapshot), resync);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    subscriber->chunk_ = tail_;
    subscriber->at_ = tail_->count;
    subscriber->snapshot_sequence_ = sequence_;
    // What lies before its place counts as delivered, less the snapshot.
    subscriber->delivered_ = sequence_;
    subscriber->rounds_.insert(round_);
    subscriber->next_resync_ = clock_->Monotonic() + resync;
    subscribers_.push_back(subscriber.get());
    subscriber->UpdateBusy();
  }
  subscriber->Start(name);
  return subscriber;
}

void Stream::Drop(Subscriber* subscriber) {
  std::lock_guard<std::mutex> lock(mutex_);
  subscribers_.erase(std::remove(subscribers_.begin(), subscribers_.end(), subscriber),
                     subscribers_.end());
}

void Stream::MarkSynced() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (synced_.load(std::memory_order_relaxed)) return;
  synced_sequence_.store(sequence_, std::memory_order_relaxed);
  synced_.store(true, std::memory_order_release);
}

void Stream::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  for (Subscriber* s : subscribers_) {
    s->interrupted_.store(true, std::memory_order_release);
    s->UpdateBusy();
    s->wake_.notify_one();
    s->quiet_.notify_all();
  }
}

uint64_t Stream::round() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return round_;
}

bool Stream::StartRound(clock::MonoTime now) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++round_;
  bool any = false;
  for (Subscriber* s : subscribers_) {
    if (s->resync_.count() <= 0 || s->next_resync_ > now) continue;
    s->rounds_.insert(round_);
    s->next_resync_ = now + s->resync_;
    any = true;
  }
  return any;
}

clock::Duration Stream::SmallestResync() const {
  std::lock_guard<std::mutex> lock(mutex_);
  clock::Duration smallest{0};
  for (const Subscriber* s : subscribers_) {
    if (s->resync_.count() > 0 && (smallest.count() == 0 || s->resync_ < smallest))
      smallest = s->resync_;
  }
  return smallest;
}

size_t Stream::Backlog() const {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t most = 0;
  for (const Subscriber* s : subscribers_) {
    most = std::max(most, sequence_ - s->DeliveredSequence() + s->snapshot_.size());
  }
  return static_cast<size_t>(most);
}

}  // namespace kcm::host::cache
