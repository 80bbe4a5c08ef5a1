// SPDX-License-Identifier: Apache-2.0
// The store (store.h).
#include "devcluster/server/store.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

// Five minutes of history, as the real server keeps (spec/apiserver E2), within bounds of number:
// never fewer than the first (a virtual clock may jump hours), never more than the second (memory).
constexpr host::clock::Duration kHistoryAge = std::chrono::minutes(5);
constexpr size_t kMinHistory = 2000;
constexpr size_t kMaxHistory = 20000;
// Encoded bytes are kept for the newest events only: watches are normally that close behind.
constexpr size_t kEncodedHistory = 256;

bool Above(const std::shared_ptr<StoreEvent>& e, uint64_t revision) {
  return e->revision > revision;
}

}  // namespace

std::shared_ptr<const std::string> StoreEvent::Encoded(
    Form form, const std::function<void(std::string*)>& make) const {
  const std::lock_guard lock(mutex_);
  if (!encoded_[form]) {
    std::string bytes;
    make(&bytes);
    encoded_[form] = std::make_shared<const std::string>(std::move(bytes));
  }
  return encoded_[form];
}

void StoreEvent::DropEncoded() const {
  const std::lock_guard lock(mutex_);
  for (auto& e : encoded_) e.reset();
}

Waker::Waker() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
Waker::~Waker() {
  if (fd_ >= 0) ::close(fd_);
}

void Waker::Wake() {
  if (!armed_.exchange(false)) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(fd_, &one, sizeof one);
}

void Waker::Drain() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(fd_, &count, sizeof count);
}

Store::Store(host::clock::Clock* clock) : clock_(clock) {}
Store::~Store() { Close(); }

Store::Table* Store::TableOf(const std::string& name) {
  std::unique_ptr<Table>& slot = tables_[name];
  if (!slot) {
    slot = std::make_unique<Table>();
    slot->name_ = name;
    slot->floor_ = revision();
  }
  return slot.get();
}

Store::Table* Store::OpenTable(const std::string& name, const host::wire::TypeMeta& type) {
  const std::lock_guard lock(tables_mutex_);
  Table* table = TableOf(name);
  const std::lock_guard inside(table->mutex_);
  table->type_ = std::make_shared<const host::wire::TypeMeta>(type);
  return table;
}

Store::Table* Store::FindTable(const std::string& name) {
  const std::lock_guard lock(tables_mutex_);
  const auto it = tables_.find(name);
  return it == tables_.end() ? nullptr : it->second.get();
}

std::vector<std::string> Store::NamesInUse() const {
  std::vector<std::string> names;
  const std::lock_guard lock(tables_mutex_);
  for (const auto& [name, table] : tables_) {
    if (Count(*table) > 0) names.push_back(name);
  }
  return names;
}

std::string Store::Key(std::string_view ns, std::string_view name) {
  std::string key;
  key.reserve(ns.size() + 1 + name.size());
  if (!ns.empty()) key.append(ns).append("/");
  return key.append(name);
}

ObjectPtr Store::Get(const Table& table, std::string_view key) const {
  const std::lock_guard lock(table.mutex_);
  const auto it = table.objects_.find(key);
  return it == table.objects_.end() ? ObjectPtr() : it->second.object;
}

size_t Store::Count(const Table& table) const {
  const std::lock_guard lock(table.mutex_);
  return table.objects_.size();
}

Store::Listed Store::List(const Table& table, std::string_view ns, std::string_view start,
                          uint64_t at) const {
  Listed out;
  const std::string prefix = ns.empty() ? "" : std::string(ns) + "/";
  const std::string_view from = start > prefix ? start : std::string_view(prefix);
  const auto inside = [&](std::string_view key) { return key.substr(0, prefix.size()) == prefix; };
  const std::lock_guard lock(table.mutex_);
  // Writers of this table are shut out, so every revision that it holds is at most the counter's
  // value.
  out.revision = at != 0 ? at : revision();
  if (at != 0 && at < table.floor_) {
    out.too_old = true;
    return out;
  }
  // What was different at revision `at`: the state before the first later event of each key.
  std::map<std::string, ObjectPtr, std::less<>> undone;
  if (at != 0) {
    for (auto it = table.history_.rbegin(); it != table.history_.rend() && (*it)->revision > at;
         ++it) {
      std::string key = (*it)->object->Key();
      if (inside(key) && key >= from) undone[std::move(key)] = (*it)->previous;
    }
  }
  auto past = undone.begin();
  const auto take_past = [&](const std::string* before) {
    for (; past != undone.end() && (before == nullptr || past->first < *before); ++past) {
      if (past->second) out.items.push_back(past->second);
    }
  };
  if (prefix.empty() && start.empty()) out.items.reserve(table.objects_.size());
  for (auto it = table.objects_.lower_bound(from); it != table.objects_.end() && inside(it->first);
       ++it) {
    take_past(&it->first);
    if (past != undone.end() && past->first == it->first) {
      if (past->second) out.items.push_back(past->second);
      ++past;
    } else {
      out.items.push_back(it->second.object);
    }
  }
  take_past(nullptr);
  return out;
}

void Store::Trim(Table& table, host::clock::MonoTime now) {
  auto& h = table.history_;
  while (h.size() > kMaxHistory ||
         (h.size() > kMinHistory && now - h.front()->time > kHistoryAge)) {
    table.floor_ = table.dropped_ = h.front()->revision;
    h.pop_front();
  }
  if (h.size() > kEncodedHistory) h[h.size() - 1 - kEncodedHistory]->DropEncoded();
}

void Store::AddWaker(Table& table, Waker* waker) {
  const std::lock_guard lock(table.mutex_);
  table.wakers_.push_back(waker);
}

void Store::RemoveWaker(Table& table, Waker* waker) {
  const std::lock_guard lock(table.mutex_);
  std::erase(table.wakers_, waker);
}

bool Store::EventsAfter(const Table& table, uint64_t cursor, bool begun, size_t limit,
                        std::vector<StoreEventPtr>* events, uint64_t* floor) const {
  events->clear();
  const std::lock_guard lock(table.mutex_);
  *floor = table.floor_;
  if (cursor < (begun ? table.dropped_ : table.floor_)) return false;
  const auto& h = table.history_;
  auto it =
      std::partition_point(h.begin(), h.end(), [&](const auto& e) { return !Above(e, cursor); });
  for (; it != h.end() && events->size() < limit; ++it) events->push_back(*it);
  return true;
}

void Store::Compact() {
  const std::lock_guard tables(tables_mutex_);
  const uint64_t now = revision();
  for (auto& [name, table] : tables_) {
    const std::lock_guard lock(table->mutex_);
    while (!table->history_.empty() && table->history_.front()->revision <= now) {
      table->dropped_ = table->history_.front()->revision;
      table->history_.pop_front();
    }
    table->floor_ = now;
  }
}

void Store::Hold(Table& table, bool hold) {
  table.held_ = hold;
  const std::lock_guard lock(table.mutex_);
  for (Waker* w : table.wakers_) w->Wake();
}

void Store::WakeAll() {
  const std::lock_guard tables(tables_mutex_);
  for (auto& [name, table] : tables_) {
    const std::lock_guard lock(table->mutex_);
    for (Waker* w : table->wakers_) w->Wake();
  }
}

}  // namespace kcm::devcluster
