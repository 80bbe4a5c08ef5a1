// SPDX-License-Identifier: Apache-2.0
// Delivery to one handler.
#include "host/cache/subscriber.h"

#include <algorithm>
#include <utility>

namespace kcm::host::cache {

Subscriber::Subscriber(std::shared_ptr<Stream> stream, Handler* handler,
                       std::vector<wire::ObjectPtr> snapshot, clock::Duration resync)
    : stream_(std::move(stream)),
      handler_(handler),
      snapshot_(std::move(snapshot)),
      resync_(resync) {
  std::reverse(snapshot_.begin(), snapshot_.end());
}

Subscriber::~Subscriber() {
  stream_->Drop(this);
  {
    std::lock_guard<std::mutex> lock(stream_->mutex_);
    stop_ = true;
    wake_.notify_one();
  }
  thread_.Join();
}

void Subscriber::Start(const std::string& name) {
  thread_.Start(name, kHandlerStack, [this] { Run(); });
}

bool Subscriber::HasMore() const {
  return !snapshot_.empty() || at_ < chunk_->count || (at_ == Chunk::kSize && chunk_->next);
}

uint64_t Subscriber::NextSequence() const {
  if (!snapshot_.empty()) return snapshot_sequence_;
  return at_ < chunk_->count ? chunk_->entries[at_].notification.sequence
                             : chunk_->next->entries[0].notification.sequence;
}

void Subscriber::UpdateBusy() {
  const bool busy = running_ || (!stop_ && !stream_->closed_ && MayDeliver());
  if (busy == busy_held_) return;
  busy_held_ = busy;
  busy_ = busy ? clock::BusyToken(*stream_->clock_) : clock::BusyToken();
}

bool Subscriber::Next(Entry* out) {
  std::unique_lock<std::mutex> lock(stream_->mutex_);
  wake_.wait(lock, [this] { return stop_ || stream_->closed_ || MayDeliver(); });
  if (stop_ || stream_->closed_) return false;
  if (!snapshot_.empty()) {
    *out = Entry();
    running_snapshot_ = true;
    out->notification.type = Notification::Type::kAdd;
    out->notification.object = std::move(snapshot_.back());
    out->notification.initial = true;
    out->notification.sequence = snapshot_sequence_;
    snapshot_.pop_back();
    if (snapshot_.empty()) std::vector<wire::ObjectPtr>().swap(snapshot_);
  } else {
    if (at_ == Chunk::kSize) {
      chunk_ = std::shared_ptr<Chunk>(chunk_->next);
      at_ = 0;
    }
    *out = chunk_->entries[at_++];
  }
  if (out->members_only && rounds_.count(out->round) == 0)
    out->notification.object = wire::ObjectPtr();
  rounds_.erase(rounds_.begin(), rounds_.lower_bound(out->round));
  running_ = true;
  return true;
}

void Subscriber::Done(const Entry& entry) {
  std::lock_guard<std::mutex> lock(stream_->mutex_);
  running_ = running_snapshot_ = false;
  delivered_.store(
      std::max(delivered_.load(std::memory_order_relaxed), entry.notification.sequence),
      std::memory_order_release);
  UpdateBusy();
  quiet_.notify_all();
}

void Subscriber::Run() {
  Entry entry;
  while (Next(&entry)) {
    // An emptied entry is one that this handler does not take part in: it only counts.
    if (entry.notification.object) handler_->OnNotification(entry.notification);
    Done(entry);
    entry.notification.object = entry.notification.old_object =
        wire::ObjectPtr();  // not held while waiting
  }
}

bool Subscriber::HasSynced() const {
  if (!stream_->synced_.load(std::memory_order_acquire)) return false;
  std::lock_guard<std::mutex> lock(stream_->mutex_);
  const bool in_snapshot = !snapshot_.empty() || running_snapshot_;
  return !in_snapshot &&
         DeliveredSequence() >= stream_->synced_sequence_.load(std::memory_order_relaxed);
}

std::optional<uint64_t> Subscriber::PauseAt(uint64_t sequence, clock::MonoTime deadline) {
  std::unique_lock<std::mutex> lock(stream_->mutex_);
  pause_at_ = std::min(sequence, stream_->sequence_);
  const bool quiet = stream_->clock_->Wait(lock, quiet_, deadline, [this] {
    return stop_ || stream_->closed_ || (!running_ && !MayDeliver());
  });
  UpdateBusy();
  return quiet ? std::optional<uint64_t>(DeliveredSequence()) : std::nullopt;
}

void Subscriber::Resume() {
  std::lock_guard<std::mutex> lock(stream_->mutex_);
  pause_at_ = kNever;
  UpdateBusy();
  wake_.notify_one();
}

uint64_t Subscriber::QueuedSequence() const {
  std::lock_guard<std::mutex> lock(stream_->mutex_);
  return stream_->sequence_;
}

size_t Subscriber::Backlog() const {
  std::lock_guard<std::mutex> lock(stream_->mutex_);
  return static_cast<size_t>(stream_->sequence_ - DeliveredSequence()) + snapshot_.size();
}

}  // namespace kcm::host::cache
