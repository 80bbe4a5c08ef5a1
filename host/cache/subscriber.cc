// SPDX-License-Identifier: Apache-2.0
// Delivery to one handler.
#include "host/cache/subscriber.h"

#include <algorithm>
#include <iterator>
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
    interrupted_.store(true, std::memory_order_release);
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

void Subscriber::Settle(Batch* batch) {
  if (!running_) return;
  running_ = running_snapshot_ = false;
  if (batch->chunk) {
    at_ = batch->at;
  } else {
    std::move(batch->initial.begin(), batch->initial.end(), std::back_inserter(snapshot_));
  }
  *batch = Batch();
  UpdateBusy();
  quiet_.notify_all();
}

void Subscriber::Take(Batch* batch) {
  running_ = true;
  interrupted_.store(false, std::memory_order_relaxed);
  if (!snapshot_.empty()) {
    running_snapshot_ = true;
    batch->sequence = snapshot_sequence_;
    const size_t size = std::min(snapshot_.size(), Chunk::kSize);
    const auto from = snapshot_.end() - static_cast<std::ptrdiff_t>(size);
    batch->initial.assign(std::move_iterator(from), std::move_iterator(snapshot_.end()));
    snapshot_.erase(from, snapshot_.end());
    if (snapshot_.empty()) std::vector<wire::ObjectPtr>().swap(snapshot_);
    return;
  }
  if (at_ == Chunk::kSize) {
    chunk_ = std::shared_ptr<Chunk>(chunk_->next);
    at_ = 0;
  }
  batch->chunk = chunk_;
  batch->at = batch->end = at_;
  // Of one resync round: what it takes part in is forgotten as soon as its entries are behind it.
  const uint64_t round = chunk_->entries[at_].round;
  const bool member = rounds_.count(round) != 0;
  for (; batch->end < chunk_->count; ++batch->end) {
    const Entry& entry = chunk_->entries[batch->end];
    if (entry.round != round || entry.notification.sequence > pause_at_) break;
    batch->skip[batch->end] = entry.members_only && !member;
  }
  rounds_.erase(rounds_.begin(), rounds_.lower_bound(round));
}

bool Subscriber::Next(Batch* batch) {
  std::unique_lock<std::mutex> lock(stream_->mutex_);
  Settle(batch);
  wake_.wait(lock, [this] { return stop_ || stream_->closed_ || MayDeliver(); });
  if (stop_ || stream_->closed_) return false;
  Take(batch);
  return true;
}

void Subscriber::Deliver(Batch* batch) {
  const auto go_on = [this] { return !interrupted_.load(std::memory_order_acquire); };
  if (!batch->chunk) {
    do {
      Notification n;
      n.type = Notification::Type::kAdd;
      n.object = std::move(batch->initial.back());
      batch->initial.pop_back();
      n.initial = true;
      n.sequence = batch->sequence;
      handler_->OnNotification(n);
    } while (!batch->initial.empty() && go_on());
    return;
  }
  do {
    const Notification& n = batch->chunk->entries[batch->at].notification;
    // One that this handler does not take part in only counts.
    if (!batch->skip[batch->at]) handler_->OnNotification(n);
    ++batch->at;
    delivered_.store(n.sequence, std::memory_order_release);
  } while (batch->at < batch->end && go_on());
}

void Subscriber::Run() {
  Batch batch;
  while (Next(&batch)) Deliver(&batch);
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
  interrupted_.store(true, std::memory_order_release);
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
