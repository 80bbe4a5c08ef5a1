// SPDX-License-Identifier: Apache-2.0
// Writes of the store (store.h): in memory, or through the journal with one transaction for all
// that wait.
#include <algorithm>
#include <iterator>
#include <utility>

#include "devcluster/server/failure.h"
#include "devcluster/server/store.h"

namespace kcm::devcluster {

using host::clock::MonoTime;
using host::wire::ObjectPtr;

namespace {

// Bounds a transaction and the memory of its rows; far above the connections of a busy cluster.
constexpr size_t kMaxBatch = 1000;

[[noreturn]] void FailWrite(const Error& error) {
  ApiError e;
  e.message = error.message;
  if (error.code == Code::kUnavailable) {
    e.code = 507;
    e.reason = "InsufficientStorage";
  } else {
    e.code = 500;
    e.reason = "InternalError";
  }
  Fail(std::move(e));
}

}  // namespace

ObjectPtr Store::Put(Table& table, const std::string& key, const ObjectPtr& expected,
                     const Builder& build) {
  return Commit(table, key, expected, build, false);
}

ObjectPtr Store::Remove(Table& table, const std::string& key, const ObjectPtr& expected,
                        const Builder& build) {
  return Commit(table, key, expected, build, true);
}

void Store::RemoveAll(Table& table) {
  for (const ObjectPtr& object : List(table, "", "", 0).items) {
    Remove(table, object->Key(), object,
           [&](uint64_t revision) { return host::wire::WithResourceVersion(*object, revision); });
  }
}

void Store::CreateMissing(const std::vector<Creation>& creations) {
  if (!durable_) {
    for (const Creation& c : creations) Put(*c.table, c.key, ObjectPtr(), c.build);
    return;
  }
  std::deque<Write> writes;
  for (const Creation& c : creations) {
    Write& write = writes.emplace_back();
    Prepare(&write, *c.table, c.key, ObjectPtr(), c.build, false);
    if (Begin(write)) {
      Enqueue(write);
    } else {
      writes.pop_back();
    }
  }
  const Write* failed = nullptr;
  for (Write& write : writes) {
    if (!Await(write) && failed == nullptr) failed = &write;
  }
  if (failed != nullptr) FailWrite(failed->error);
}

void Store::Prepare(Write* write, Table& table, const std::string& key, const ObjectPtr& expected,
                    const Builder& build, bool remove) const {
  // The object carries its revision, which is known only under a lock. It is built for the likely
  // one before; Stamp corrects that when another write came in between.
  write->table = &table;
  write->key = &key;
  write->expected = expected;
  write->remove = remove;
  write->revision = revision_.load() + 1;
  write->object = build(write->revision);
  write->event = std::make_shared<StoreEvent>();
  write->event->time = clock_->Monotonic();
}

ObjectPtr Store::Commit(Table& table, const std::string& key, const ObjectPtr& expected,
                        const Builder& build, bool remove) {
  Write write;
  Prepare(&write, table, key, expected, build, remove);
  return durable_ ? CommitToJournal(write) : CommitInMemory(write);
}

void Store::Stamp(Write& write, uint64_t revision) {
  if (write.revision == revision) return;
  write.revision = revision;
  write.object = host::wire::WithResourceVersion(*write.object, revision);
}

bool Store::Current(const Write& write, Table::Slot* slot) {
  const auto it = write.table->objects_.find(*write.key);
  if (it != write.table->objects_.end()) *slot = it->second;
  return slot->object == write.expected;
}

ObjectPtr Store::CommitInMemory(Write& write) {
  const std::lock_guard lock(write.table->mutex_);
  Table::Slot slot;
  if (!Current(write, &slot)) return ObjectPtr();
  Stamp(write, revision_.fetch_add(1) + 1);
  Publish(write);
  for (Waker* waker : write.table->wakers_) waker->Wake();
  return write.object;
}

bool Store::Begin(Write& write) {
  Table& table = *write.table;
  std::unique_lock lock(table.mutex_);
  clock_->Wait(lock, table.written_, MonoTime::Max(),
               [&] { return !table.writing_.contains(*write.key); });
  Table::Slot slot;
  if (!Current(write, &slot)) return false;
  write.row = slot.row;
  write.type = table.type_;
  table.writing_.insert(*write.key);
  return true;
}

void Store::Enqueue(Write& write) {
  const std::lock_guard lock(commit_mutex_);
  Stamp(write, ++assigned_);
  if (write.row == 0) write.row = write.revision;
  queue_.push_back(&write);
  work_.notify_one();
}

ObjectPtr Store::Await(Write& write) {
  std::unique_lock lock(commit_mutex_);
  clock_->Wait(lock, write.settled, MonoTime::Max(),
               [&] { return write.state != Write::State::kWaiting; });
  return write.state == Write::State::kStored ? write.object : ObjectPtr();
}

ObjectPtr Store::CommitToJournal(Write& write) {
  if (!Begin(write)) return ObjectPtr();
  Enqueue(write);
  ObjectPtr done = Await(write);
  if (!done) FailWrite(write.error);
  return done;
}

void Store::Publish(Write& write) {
  Table& table = *write.table;
  StoreEvent& event = *write.event;
  event.revision = write.revision;
  event.object = write.object;
  event.previous = write.expected;
  event.type = write.remove     ? StoreEvent::Type::kDeleted
               : write.expected ? StoreEvent::Type::kModified
                                : StoreEvent::Type::kAdded;
  if (write.remove) {
    table.objects_.erase(*write.key);
  } else {
    table.objects_[*write.key] = {write.object, write.row};
  }
  table.history_.push_back(write.event);
  table.revision_.store(write.revision);
  Trim(table, event.time);
}

// ---- the journal ----

Status Store::Open(std::unique_ptr<Journal> journal) {
  revision_ = assigned_ = journal->revision();
  {
    const std::lock_guard lock(tables_mutex_);
    if (Status s = journal->Load([this](const Journal::Row& row) { return TakeOver(row); });
        !s.ok()) {
      return s;
    }
  }
  journal_ = std::move(journal);
  durable_ = true;
  committer_ = host::clock::StartBusyThread(*clock_, [this] { CommitLoop(); });
  return Ok();
}

void Store::Close() {
  if (!committer_.joinable()) return;
  {
    const std::lock_guard lock(commit_mutex_);
    closing_ = true;
    work_.notify_one();
  }
  committer_.join();
  journal_.reset();
}

Status Store::TakeOver(const Journal::Row& row) {
  const auto damaged = [&row](const std::string& why) {
    return MakeError(Code::kInternal, "the stored object " + std::string(row.table) + " " +
                                          std::string(row.key) + " can not be read: " + why +
                                          ": restore the data directory from a copy");
  };
  host::wire::DecodeOptions options;
  options.keep_managed_fields = true;
  host::wire::TypeMeta type;
  Result<ObjectPtr> object = host::wire::DecodeJson(row.body, options, &type);
  if (!object.ok()) return damaged(object.error().message);
  if ((*object)->Key() != row.key || (*object)->ResourceVersion() != row.revision)
    return damaged("it is another object than its row says");
  Table& table = *TableOf(std::string(row.table));
  if (!table.objects_.emplace(row.key, Table::Slot{std::move(*object), row.id}).second)
    return damaged("it is stored twice");
  table.revision_ = revision_.load();
  return Ok();
}

void Store::CommitLoop() {
  std::vector<Write*> batch;
  std::unique_lock lock(commit_mutex_);
  for (;;) {
    clock_->Wait(lock, work_, MonoTime::Max(), [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const size_t size = std::min(queue_.size(), kMaxBatch);
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(size);
    batch.assign(queue_.begin(), end);
    queue_.erase(queue_.begin(), end);
    lock.unlock();
    const Status stored = WriteBatch(batch);
    PublishBatch(batch, stored.ok());
    lock.lock();
    for (Write* write : batch) {
      write->state = stored.ok() ? Write::State::kStored : Write::State::kFailed;
      if (!stored.ok()) write->error = stored.error();
      write->settled.notify_one();  // under the mutex: the writer may destroy it right after
    }
  }
}

Status Store::WriteBatch(const std::vector<Write*>& batch) {
  std::vector<Journal::Change> changes(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    const Write& write = *batch[i];
    Journal::Change& change = changes[i];
    change.id = write.row;
    change.table = write.table->name_;
    change.key = *write.key;
    change.revision = write.revision;
    change.remove = write.remove;
    if (!write.remove) host::wire::EncodeJson(write.object->Root(), write.type.get(), &change.body);
  }
  return journal_->Append(changes);
}

// In order of revision over all tables: whoever reads revision() finds everything up to it.
void Store::PublishBatch(const std::vector<Write*>& batch, bool stored) {
  for (size_t i = 0; i < batch.size();) {
    Table& table = *batch[i]->table;
    const std::lock_guard lock(table.mutex_);
    for (; i < batch.size() && batch[i]->table == &table; ++i) {
      Write& write = *batch[i];
      table.writing_.erase(*write.key);
      if (!stored) continue;
      Publish(write);
      revision_.store(write.revision);
    }
    table.written_.notify_all();
    if (!stored) continue;
    for (Waker* waker : table.wakers_) waker->Wake();
  }
}

}  // namespace kcm::devcluster
