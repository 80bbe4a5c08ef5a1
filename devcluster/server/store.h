// SPDX-License-Identifier: Apache-2.0
// Store: all objects of the cluster in memory, one revision counter, and per resource the recent
// history that watches and reads of an exact revision need.
//
// A write is a compare-and-swap: the caller reads an object, computes its successor without a lock,
// and commits it; when the object has changed meanwhile the commit reports it and the caller starts
// again. Watchers read the shared history at their own pace from a cursor, so a slow one costs
// nothing and finds its cursor gone ("too old") when history has moved on. Objects are immutable,
// so every read is a copy of pointers. Thread-safe. No lock is held over foreign code but the
// builder.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host/clock/clock.h"
#include "host/wire/object.h"

namespace kcm::devcluster {

struct StoreEvent {
  enum class Type : uint8_t { kAdded, kModified, kDeleted };
  // Encoded forms, made once by the first watcher that needs them and shared by all.
  enum Form : uint8_t { kJson, kProtobuf, kPartialJson, kPartialProtobuf, kForms };

  uint64_t revision = 0;
  Type type = Type::kAdded;
  host::wire::ObjectPtr object;  // of kDeleted: the last content, with the revision of the deletion
  host::wire::ObjectPtr previous;  // null for kAdded
  host::clock::MonoTime time;

  // The bytes of `form`; `make` fills them the first time.
  std::shared_ptr<const std::string> Encoded(Form form,
                                             const std::function<void(std::string*)>& make) const;
  void DropEncoded() const;

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const std::string> encoded_[kForms];
};
using StoreEventPtr = std::shared_ptr<const StoreEvent>;

// Wakes one watch through an eventfd. Armed by the watch before it sleeps, fired at most once per
// arming.
class Waker {
 public:
  Waker();
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;
  int fd() const { return fd_; }
  void Arm() { armed_.store(true); }  // sequentially consistent: Arm, then look again, then sleep
  void Wake();
  void Drain();  // forgets earlier wakes

 private:
  int fd_;
  std::atomic<bool> armed_{false};
};

class Store {
 public:
  explicit Store(host::clock::Clock* clock);

  // Objects of one resource. Lives as long as the store.
  class Table {
   public:
    uint64_t revision() const { return revision_.load(); }  // of the last write to it

   private:
    friend class Store;
    mutable std::mutex mutex_;
    std::map<std::string, host::wire::ObjectPtr, std::less<>> objects_;
    std::deque<std::shared_ptr<StoreEvent>> history_;
    uint64_t floor_ = 0;  // events up to here are forgotten
    std::vector<Waker*> wakers_;
    std::atomic<uint64_t> revision_{0};
  };
  // The table of a name ("apps/deployments"), made when new. A table made late starts its history
  // at `revision()`.
  Table* OpenTable(const std::string& name);

  uint64_t revision() const { return revision_.load(); }

  // Key of an object: "namespace/name" or "name".
  static std::string Key(std::string_view ns, std::string_view name);

  host::wire::ObjectPtr Get(const Table& table, std::string_view key) const;
  struct Listed {
    uint64_t revision = 0;
    bool too_old = false;  // the exact revision asked for is forgotten
    std::vector<host::wire::ObjectPtr> items;
  };
  // Objects of a namespace ("": all) whose key is >= `start`, in key order. `at`: exactly at that
  // revision, 0: now.
  Listed List(const Table& table, std::string_view ns, std::string_view start, uint64_t at) const;
  size_t Count(const Table& table) const;

  // Makes an object that carries the given revision. Pure; may run twice.
  using Builder = std::function<host::wire::ObjectPtr(uint64_t revision)>;
  // Creates (expected null) or replaces. Null result: the stored object is not `expected` any more.
  host::wire::ObjectPtr Put(Table& table, const std::string& key,
                            const host::wire::ObjectPtr& expected, const Builder& build);
  // Removes. `build` makes the object of the DELETED event. Null: as above.
  host::wire::ObjectPtr Remove(Table& table, const std::string& key,
                               const host::wire::ObjectPtr& expected, const Builder& build);

  // ---- watching ----
  void AddWaker(Table& table, Waker* waker);
  void RemoveWaker(Table& table, Waker* waker);
  // Events after `cursor`, at most `limit`. False: history no longer reaches back to it; `floor`
  // says how far it does.
  bool EventsAfter(const Table& table, uint64_t cursor, size_t limit,
                   std::vector<StoreEventPtr>* events, uint64_t* floor) const;
  // Forgets history up to now.
  void Compact();
  // Wakes every watch (they look at their own end conditions).
  void WakeAll();

 private:
  host::wire::ObjectPtr Commit(Table& table, const std::string& key,
                               const host::wire::ObjectPtr& expected, const Builder& build,
                               bool remove);
  void Trim(Table& table, host::clock::MonoTime now);

  host::clock::Clock* clock_;
  std::atomic<uint64_t> revision_{1};
  mutable std::mutex tables_mutex_;  // guards tables_; never taken inside a table's lock
  std::map<std::string, std::unique_ptr<Table>> tables_;
};

}  // namespace kcm::devcluster
