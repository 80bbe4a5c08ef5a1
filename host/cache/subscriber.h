// SPDX-License-Identifier: Apache-2.0
// Subscriber: one handler's thread and place in a Stream. Private to host/cache; the contract is
// Subscription in informer.h.
#pragma once
#include <bitset>

#include "host/cache/stream.h"

namespace kcm::host::cache {

class Subscriber : public Subscription {
 public:
  Subscriber(std::shared_ptr<Stream> stream, Handler* handler,
             std::vector<wire::ObjectPtr> snapshot, clock::Duration resync);
  ~Subscriber() override;
  void Start(const std::string& name);

  bool HasSynced() const override;
  std::optional<uint64_t> PauseAt(uint64_t sequence, clock::MonoTime deadline) override;
  void Resume() override;
  uint64_t QueuedSequence() const override;
  uint64_t DeliveredSequence() const override { return delivered_.load(std::memory_order_acquire); }
  size_t Backlog() const override;

 private:
  friend class Stream;
  static constexpr uint64_t kNever = UINT64_MAX;

  // Notifications that are taken under one lock: entries of one chunk, or initial adds.
  struct Batch {
    std::shared_ptr<Chunk> chunk;
    size_t at = 0, end = 0;                // entries of `chunk` to deliver
    std::bitset<Chunk::kSize> skip;        // entries of it that this handler does not take part in
    std::vector<wire::ObjectPtr> initial;  // instead of a chunk: initial adds, the next one last
    uint64_t sequence = 0;                 // of the initial adds
  };

  void Run();
  // Settles what was delivered of `batch` (the rest of it is still to come) and blocks for the next
  // that may be delivered; false when it is over.
  bool Next(Batch* batch);
  void Deliver(Batch* batch);
  // The rest: REQUIRES stream_->mutex_ held.
  bool HasMore() const;
  uint64_t NextSequence() const;
  bool MayDeliver() const {
    return HasMore() && (pause_at_ == kNever || NextSequence() <= pause_at_);
  }
  void UpdateBusy();
  void Settle(Batch* batch);
  void Take(Batch* batch);

  const std::shared_ptr<Stream> stream_;
  Handler* const handler_;
  SmallThread thread_;
  std::atomic<uint64_t> delivered_{0};
  // The running batch ends with the call that is running now. Set under stream_->mutex_.
  std::atomic<bool> interrupted_{false};
  // Everything below is guarded by stream_->mutex_.
  std::condition_variable wake_, quiet_;
  std::vector<wire::ObjectPtr> snapshot_;  // initial adds of a late subscriber, in reverse order
  uint64_t snapshot_sequence_ = 0;
  std::shared_ptr<Chunk> chunk_;
  size_t at_ = 0;  // next entry in chunk_
  uint64_t pause_at_ = kNever;
  bool running_ = false;           // a batch is being delivered
  bool running_snapshot_ = false;  // ... of initial adds
  bool stop_ = false;
  clock::BusyToken busy_;  // held while something deliverable waits or the handler runs
  bool busy_held_ = false;
  clock::Duration resync_{0};
  clock::MonoTime next_resync_;
  std::set<uint64_t> rounds_;  // resync rounds it takes part in that may still have entries ahead
};

}  // namespace kcm::host::cache
