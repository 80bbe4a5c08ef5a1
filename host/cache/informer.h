// SPDX-License-Identifier: Apache-2.0
// Informer: one reflector (list, then watch) and one indexed store per (resource, scope), shared by
// all controllers of a host (spec/host.md 5, design 5). Objects are immutable and counted; one call
// reads one snapshot.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/client/client.h"
#include "host/wire/mask.h"
#include "host/wire/object.h"

namespace kcm::host::cache {

// How an index computes its values. Indexes with equal specs are shared.
struct IndexSpec {
  enum class By : uint8_t {
    kNamespace,      // built in, always there
    kControllerUid,  // uid of the controller owner reference; objects without one:
                     // "orphan:<namespace>"
    kOwnerUid,       // uid of every owner reference
    kField,          // string at a dotted path ("spec.nodeName"); absent: not indexed
    kLabel,          // value of label `path`
  };
  By by = By::kNamespace;
  std::string path;
  friend auto operator<=>(const IndexSpec&, const IndexSpec&) = default;
};

struct Notification {
  enum class Type : uint8_t { kAdd, kUpdate, kDelete };
  Type type = Type::kAdd;
  wire::ObjectPtr object;      // kAdd, kUpdate: new; kDelete: last known state
  wire::ObjectPtr old_object;  // kUpdate
  bool initial = false;        // kAdd of the first list, or synthetic for a late handler
  bool tombstone = false;      // kDelete seen by a relist only: object may be arbitrarily stale
  bool resync = false;         // kUpdate by the resync timer: same object twice
  uint64_t sequence = 0;       // position in the informer's stream, rising; equal for all handlers
};

// A subscriber. Its notifications arrive one at a time, in stream order, on a thread of its own; a
// slow one delays only itself.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual void OnNotification(const Notification& n) = 0;
};

struct InformerKey {
  client::Gvr gvr;
  std::string ns;  // empty: all namespaces
  std::string field_selector, label_selector;
  bool metadata_only = false;
  friend auto operator<=>(const InformerKey&, const InformerKey&) = default;
};

class Subscription;  // a handler's place in the stream

struct SubscribeOptions {
  // How often the handler wants every object again (5.6): 0 = never, less than 0 = the factory's
  // period. At least 1 s.
  clock::Duration resync{-1};
};

// Thread-safe.
class Informer {
 public:
  virtual ~Informer() = default;
  virtual const InformerKey& key() const = 0;

  // ---- reading ----
  virtual wire::ObjectPtr Get(
      std::string_view key) const = 0;  // "ns/name" or "name"; null when absent
  virtual std::vector<wire::ObjectPtr> List(
      std::string_view ns) const = 0;  // ns empty: all; by key order
  virtual std::vector<wire::ObjectPtr> ByIndex(int index, std::string_view value) const = 0;
  virtual size_t Size() const = 0;
  // Highest resourceVersion seen (events and bookmarks); 0 before the first list.
  virtual uint64_t ResourceVersion() const = 0;
  virtual bool HasSynced() const = 0;
  // Why the first list has not come yet: what the newest attempt met; empty once it has.
  virtual std::string ListError() const = 0;
  // Adds or finds an index; fills it from the store. Returns its number for ByIndex.
  virtual int AddIndex(const IndexSpec& spec) = 0;

  // ---- subscribing ----
  // Registers a handler: gets synthetic initial Adds of the present store, then everything after.
  // Delivery starts at once. `name` labels its thread. The handler must outlive the subscription.
  virtual std::shared_ptr<Subscription> Subscribe(Handler* handler, const std::string& name,
                                                  const SubscribeOptions& options = {}) = 0;
  // Widens what is stored; with a running reflector a second one fills the wider store and the two
  // are exchanged (design 5). Ok: every object that can be read from here on has the wider fields
  // (a first list that runs starts over and is waited for; before the start nothing can be read).
  // Also returns, with an error, when `cancel` fired, the informer is stopped or the list failed.
  virtual Status Widen(const wire::Mask& mask, client::Cancellation* cancel) = 0;
  // The fields that every object has which can be read; before the first list, those that it will
  // have. A widening counts once it is filled, also when its caller has given up waiting.
  virtual wire::Mask mask() const = 0;
};

// Thread-safe; destroyed = unsubscribed and joined.
class Subscription {
 public:
  virtual ~Subscription() = default;
  // Informer synced and every notification of the initial list has returned from the handler.
  virtual bool HasSynced() const = 0;
  // Hand-over of a hot swap: stops delivery after the notification numbered `sequence`, or after
  // the newest one queued by now if that is earlier. Waits until then, and for a running call of
  // the handler; returns the last delivered number. nullopt: the handler has not come so far by
  // `deadline`; Resume then. Not from inside the handler.
  virtual std::optional<uint64_t> PauseAt(uint64_t sequence,
                                          clock::MonoTime deadline = clock::MonoTime::Max()) = 0;
  virtual void Resume() = 0;
  // Number of the newest notification that was put into this subscription's queue / returned from
  // the handler.
  virtual uint64_t QueuedSequence() const = 0;
  virtual uint64_t DeliveredSequence() const = 0;
  virtual size_t Backlog() const = 0;
};

struct FactoryOptions {
  std::shared_ptr<client::Client> client;  // root identity, user agent suffix shared-informers
  clock::Clock* clock = nullptr;
  log::Logger log;
  metric::Registry* metrics = nullptr;
  clock::Duration resync_period{0};  // drawn once from [min-resync-period, 2x); 0: never
  bool watch_list = true;            // gate WatchListClient
  std::shared_ptr<wire::Interner>
      interner{};                  // shared texts of all caches; null: the factory makes one
  std::function<double()> random;  // [0,1)
};

// Owns all informers of a host. Thread-safe.
class InformerFactory {
 public:
  explicit InformerFactory(FactoryOptions options);
  ~InformerFactory();  // Stop
  // Finds or makes the informer; until its first list is published masks of several callers are
  // united, afterwards Widen is the caller's business. The caller is a user of the informer as long
  // as it holds what is returned: one that nobody uses any more is stopped and forgotten after
  // kUnusedFor, so that a swap whose builds read the same lists nothing anew.
  std::shared_ptr<Informer> For(const InformerKey& key, const wire::Mask& mask);
  static constexpr clock::Duration kUnusedFor = std::chrono::seconds(30);
  // Starts reflectors of all informers that have not been started. Informers made later start with
  // the next call.
  void Start();
  void Stop();                                         // joins every thread
  std::vector<std::shared_ptr<Informer>> All() const;  // their holders are no users

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // users may outlive the factory
};

}  // namespace kcm::host::cache
