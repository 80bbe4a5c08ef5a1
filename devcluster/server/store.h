// SPDX-License-Identifier: Apache-2.0
// Store: all objects of the cluster in memory, one revision counter, and per resource the recent
// history that watches and reads of an exact revision need. With a journal it outlives the process.
//
// A write is a compare-and-swap: the caller reads an object, computes its successor without a lock,
// and commits it; when the object has changed meanwhile the commit reports it and the caller starts
// again. Watchers read the shared history at their own pace from a cursor, so a slow one costs
// nothing and finds its cursor gone ("too old") when history has moved on. Objects are immutable,
// so every read is a copy of pointers. Thread-safe. No lock is held over foreign code.
//
// With a journal (journal.h) a write goes this way:
//
//   writer:     compare, mark the key as being written, take the next revision, join the queue,
//   wait committer:  take the whole queue, write it in one transaction, then publish in order of
//   revision publish:    change the table, append to history, move revision(), wake watches and the
//   writer
//
// So nobody (reader, watcher, writer) sees an object or a revision that a crash could take back,
// writes that come in during one fsync share the next, and a write that fails leaves no trace.
// revision() is that of the last published write; everything up to it is visible.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "devcluster/server/journal.h"
#include "host/clock/clock.h"
#include "host/wire/codec.h"
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
  void Disarm() { armed_.store(false); }
  void Wake();
  void Drain();  // forgets earlier wakes

 private:
  int fd_;
  std::atomic<bool> armed_{false};
};

class Store {
 public:
  // In memory until Open is called.
  explicit Store(host::clock::Clock* clock);
  ~Store();

  // Takes over what the journal holds and writes every change to it from now on. Watches and exact
  // reads of earlier revisions get "too old": history starts here. Errors name the row that can not
  // be read; the store must not be used then. REQUIRES: nothing was written yet.
  Status Open(std::unique_ptr<Journal> journal);
  // Writes what is queued and gives the journal up. REQUIRES: no write runs or follows.
  void Close();

  // Objects of one resource. Lives as long as the store.
  class Table {
   public:
    uint64_t revision() const { return revision_.load(); }  // of the last write to it
    bool held() const { return held_.load(); }              // watches tell nothing, see Hold

   private:
    friend class Store;
    struct Slot {
      host::wire::ObjectPtr object;
      uint64_t row = 0;  // in the journal: the revision of the create
    };

    mutable std::mutex mutex_;
    std::map<std::string, Slot, std::less<>> objects_;
    std::deque<std::shared_ptr<StoreEvent>> history_;
    uint64_t floor_ = 0;    // watches can not begin before this
    uint64_t dropped_ = 0;  // the newest event that is forgotten
    std::vector<Waker*> wakers_;
    std::string name_;
    std::shared_ptr<const host::wire::TypeMeta> type_;  // of the stored form
    std::set<std::string, std::less<>> writing_;        // keys that the journal has not stored yet
    std::condition_variable written_;                   // a key left writing_
    std::atomic<uint64_t> revision_{0};
    std::atomic<bool> held_{false};
  };
  // The table of a name ("apps/deployments"), made when new. A table made late starts its history
  // at `revision()`. `type` is what its objects are stored as, which the journal must know.
  Table* OpenTable(const std::string& name, const host::wire::TypeMeta& type);
  // Names of the tables that hold objects.
  std::vector<std::string> NamesInUse() const;
  // The table of a name, nullptr when there is none.
  Table* FindTable(const std::string& name);

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

  // Makes a fresh object that carries the given revision in its metadata. Pure.
  using Builder = std::function<host::wire::ObjectPtr(uint64_t revision)>;
  // Creates (expected null) or replaces. Null result: the stored object is not `expected` any more.
  // With a journal: returns when the write is durable; throws Failure (507 when the disk is full,
  // 500 when the journal is broken) and has changed nothing when it can not be made so.
  host::wire::ObjectPtr Put(Table& table, const std::string& key,
                            const host::wire::ObjectPtr& expected, const Builder& build);
  // Removes. `build` makes the object of the DELETED event. Null and throws: as above.
  host::wire::ObjectPtr Remove(Table& table, const std::string& key,
                               const host::wire::ObjectPtr& expected, const Builder& build);
  struct Creation {
    Table* table;
    std::string key;
    Builder build;
  };
  // Creates those whose key is free, all in one transaction or a few. Throws as above; then only
  // some may be there.
  void CreateMissing(const std::vector<Creation>& creations);
  // Removes every object of the table as it is, one after the other. Throws as above.
  void RemoveAll(Table& table);

  // ---- watching ----
  void AddWaker(Table& table, Waker* waker);
  void RemoveWaker(Table& table, Waker* waker);
  // Events after `cursor`, at most `limit`, for a watch that begins there, or one that has `begun`
  // before. False: history no longer reaches back to it; `floor` says how far it does. A watch that
  // has begun is only told so when it missed something.
  bool EventsAfter(const Table& table, uint64_t cursor, bool begun, size_t limit,
                   std::vector<StoreEventPtr>* events, uint64_t* floor) const;
  // Forgets history up to now.
  void Compact();
  // Watches of the table are told nothing while it is held. Wakes them.
  void Hold(Table& table, bool hold);
  // Wakes every watch (they look at their own end conditions).
  void WakeAll();

 private:
  // One write on its way. Lives on its writer's stack until it has settled.
  struct Write {
    enum class State : uint8_t { kWaiting, kStored, kFailed };
    Table* table = nullptr;
    const std::string* key = nullptr;
    bool remove = false;
    host::wire::ObjectPtr object, expected;
    std::shared_ptr<StoreEvent> event;
    uint64_t revision = 0;
    uint64_t row = 0;
    std::shared_ptr<const host::wire::TypeMeta> type;
    // The two below are guarded by commit_mutex_.
    State state = State::kWaiting;
    Error error;
    std::condition_variable settled;
  };

  host::wire::ObjectPtr Commit(Table& table, const std::string& key,
                               const host::wire::ObjectPtr& expected, const Builder& build,
                               bool remove);
  host::wire::ObjectPtr CommitInMemory(Write& write);
  host::wire::ObjectPtr CommitToJournal(Write& write);
  bool Begin(Write& write);  // false: lost race
  void Enqueue(Write& write);
  host::wire::ObjectPtr Await(Write& write);
  void Prepare(Write* write, Table& table, const std::string& key,
               const host::wire::ObjectPtr& expected, const Builder& build, bool remove) const;
  static void Stamp(Write& write, uint64_t revision);
  static bool Current(const Write& write, Table::Slot* slot);  // REQUIRES: table lock
  void Publish(Write& write);                                  // REQUIRES: table lock
  void Trim(Table& table, host::clock::MonoTime now);
  Table* TableOf(const std::string& name);
  Status TakeOver(const Journal::Row& row);
  void CommitLoop();
  Status WriteBatch(const std::vector<Write*>& batch);
  void PublishBatch(const std::vector<Write*>& batch, bool stored);

  host::clock::Clock* clock_;
  std::atomic<uint64_t> revision_{1};
  mutable std::mutex tables_mutex_;  // guards tables_; never taken inside a table's lock
  std::map<std::string, std::unique_ptr<Table>> tables_;

  std::unique_ptr<Journal> journal_;  // used by Open, then by the committer alone
  std::thread committer_;
  bool durable_ = false;     // set by Open, before the first write
  std::mutex commit_mutex_;  // guards what follows; never taken inside or around a table's lock
  std::condition_variable work_;
  std::vector<Write*> queue_;  // in order of revision
  uint64_t assigned_ = 1;      // the last revision given to a write of the queue
  bool closing_ = false;
};

}  // namespace kcm::devcluster
