// SPDX-License-Identifier: Apache-2.0
// InformerImpl: reflector, store and stream of one informer. Private to host/cache; the contract is
// in informer.h.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/cache/informer.h"
#include "host/cache/reflector.h"
#include "host/cache/store.h"
#include "host/cache/stream.h"

namespace kcm::host::cache {

// Tells the factory's upkeep thread that there is something new to wait for: a handler with another
// resync period, an informer without users. Outlives both sides.
struct UpkeepSignal {
  void Changed() {
    std::lock_guard<std::mutex> lock(mutex);
    ++changes;
    wake.notify_all();
  }
  void Stop() {
    std::lock_guard<std::mutex> lock(mutex);
    stopped = true;
    wake.notify_all();
  }
  std::mutex mutex;
  std::condition_variable wake;
  uint64_t changes = 0;  // guarded by mutex
  bool stopped = false;  // guarded by mutex
};

class InformerImpl : public Informer, private ReflectorSink {
 public:
  InformerImpl(const InformerKey& key, const FactoryOptions& factory, const wire::Mask& mask,
               std::shared_ptr<UpkeepSignal> upkeep_signal);
  ~InformerImpl() override;

  const InformerKey& key() const override { return key_; }
  wire::ObjectPtr Get(std::string_view key) const override { return store_.Get(key); }
  std::vector<wire::ObjectPtr> List(std::string_view ns) const override { return store_.List(ns); }
  std::vector<wire::ObjectPtr> ByIndex(int index, std::string_view value) const override {
    return store_.ByIndex(index, value);
  }
  size_t Size() const override { return store_.Size(); }
  uint64_t ResourceVersion() const override { return version_.load(std::memory_order_acquire); }
  bool HasSynced() const override { return synced_.load(std::memory_order_acquire); }
  std::string ListError() const override { return reflector_.list_error(); }
  int AddIndex(const IndexSpec& spec) override { return store_.AddIndex(spec); }
  std::shared_ptr<Subscription> Subscribe(Handler* handler, const std::string& name,
                                          const SubscribeOptions& options) override;
  Status Widen(const wire::Mask& mask, client::Cancellation* cancel) override {
    return reflector_.Widen(mask, cancel);
  }
  wire::Mask mask() const override { return reflector_.mask(); }

  void Start() { reflector_.Start(); }
  bool Unite(const wire::Mask& mask) { return reflector_.Unite(mask); }
  void Stop();
  // 5.6: handlers are looked at each smallest period that one of them asked for. When it is time,
  // starts a round and publishes every object to those that are due. Returns when the next look is
  // due, Max: never. One thread.
  clock::MonoTime Resync(clock::MonoTime now);
  size_t Backlog() const { return stream_->Backlog(); }

 private:
  void Replace(std::vector<wire::ObjectPtr> items, bool widened, uint64_t version) override;
  void Apply(wire::EventType type, wire::ObjectPtr object) override;
  void Exchange(wire::ObjectPtr object) override;
  void Reached(uint64_t version) override;
  wire::ObjectPtr Find(std::string_view ns, std::string_view name) const override {
    return store_.Get(ns, name);
  }
  std::vector<wire::ObjectPtr> All() const override { return store_.List(""); }
  static Entry EntryFor(Store::Change change, bool initial);
  void Publish(std::vector<Entry> entries);
  void StartResyncRound(clock::MonoTime now);

  const InformerKey key_;
  clock::Clock* const clock_;
  const clock::Duration default_resync_;
  const std::shared_ptr<UpkeepSignal> upkeep_signal_;
  Store store_;
  const std::shared_ptr<Stream> stream_;
  std::mutex publish_mutex_;  // store and stream change together under it; order: publish_mutex_,
                              // then the stream's
  // Of the store, never behind what handlers were told: whoever they wake may compare it with its
  // own writes. Written by the reflector's thread.
  std::atomic<uint64_t> version_{0};
  std::atomic<bool> synced_{false};
  clock::MonoTime resync_looked_at_;  // the upkeep thread's own
  Reflector reflector_;               // last: its thread uses everything above
};

}  // namespace kcm::host::cache
