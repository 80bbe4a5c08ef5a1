// SPDX-License-Identifier: Apache-2.0
// The informer: a reflector that feeds a store and a stream of notifications.
#include <utility>

#include "host/cache/informer_impl.h"

namespace kcm::host::cache {
namespace {

constexpr clock::Duration kMinResync = std::chrono::seconds(1);

ReflectorOptions MakeReflectorOptions(const InformerKey& key, const FactoryOptions& factory) {
  ReflectorOptions out;
  out.key = key;
  out.client = factory.client;
  out.clock = factory.clock;
  out.log = factory.log;
  out.watch_list = factory.watch_list;
  out.interner = factory.interner.get();
  out.random = factory.random;
  return out;
}

}  // namespace

InformerImpl::InformerImpl(const InformerKey& key, const FactoryOptions& factory,
                           const wire::Mask& mask, std::shared_ptr<UpkeepSignal> upkeep_signal)
    : key_(key),
      clock_(factory.clock),
      default_resync_(factory.resync_period),
      upkeep_signal_(std::move(upkeep_signal)),
      stream_(std::make_shared<Stream>(factory.clock)),
      resync_looked_at_(factory.clock->Monotonic()),
      reflector_(MakeReflectorOptions(key, factory), this, mask) {}

InformerImpl::~InformerImpl() { Stop(); }

void InformerImpl::Stop() {
  reflector_.Stop();
  stream_->Close();
}

std::shared_ptr<Subscription> InformerImpl::Subscribe(Handler* handler, const std::string& name,
                                                      const SubscribeOptions& options) {
  clock::Duration resync = options.resync.count() < 0 ? default_resync_ : options.resync;
  // The reference raises a shorter period that is asked for after the start (5.6). Here a build may
  // come at any time, and it has to work as it would after a restart: its period is kept.
  if (resync.count() > 0) resync = std::max(resync, kMinResync);
  // Snapshot and place in the stream belong together: nothing is missed and nothing comes twice.
  std::shared_ptr<Subscription> subscription;
  {
    const std::lock_guard<std::mutex> publishing(publish_mutex_);
    subscription = stream_->Subscribe(handler, name, store_.List(""), resync);
  }
  if (resync.count() > 0) upkeep_signal_->Changed();
  return subscription;
}

void InformerImpl::Publish(std::vector<Entry> entries) {
  if (!entries.empty()) stream_->Publish(std::move(entries));
}

Entry InformerImpl::EntryFor(Store::Change change, bool initial) {
  Entry out;
  Notification& n = out.notification;
  if (!change.object) {
    n.type = Notification::Type::kDelete;
    n.object = std::move(change.old_object);
  } else if (!change.old_object) {
    n.type = Notification::Type::kAdd;
    n.object = std::move(change.object);
    n.initial = initial;
  } else {
    n.type = Notification::Type::kUpdate;
    // 5.4.5: nothing changed, so only those in the resync round hear of it.
    out.members_only =
        change.object->ResourceVersionText() == change.old_object->ResourceVersionText();
    n.object = std::move(change.object);
    n.old_object = std::move(change.old_object);
  }
  return out;
}

void InformerImpl::Replace(std::vector<wire::ObjectPtr> items, bool widened, uint64_t version) {
  const std::lock_guard<std::mutex> publishing(publish_mutex_);
  const bool initial = !synced_.load(std::memory_order_relaxed);
  std::vector<Store::Change> changes = store_.Replace(items);
  Reached(version);
  std::vector<wire::ObjectPtr>().swap(items);
  std::vector<Entry> entries;
  entries.reserve(changes.size());
  for (Store::Change& change : changes) {
    const bool gone = !change.object;
    Entry entry = EntryFor(std::move(change), initial);
    entry.notification.tombstone = gone;
    if (widened && entry.members_only)
      continue;  // the same version with more fields is news to nobody
    entries.push_back(std::move(entry));
  }
  Publish(std::move(entries));
  stream_->MarkSynced();
  synced_.store(true, std::memory_order_release);
}

void InformerImpl::Apply(wire::EventType type, wire::ObjectPtr object) {
  const std::lock_guard<std::mutex> publishing(publish_mutex_);
  const bool gone = type == wire::EventType::kDeleted;
  wire::ObjectPtr old =
      gone ? store_.Remove(object->Namespace(), object->Name()) : store_.Put(object);
  Reached(object->ResourceVersion());
  // 5.4.3: the state as the event has it. What was never seen needs no deletion.
  if (gone && !old) return;
  std::vector<Entry> entries;
  entries.push_back(gone ? EntryFor({std::move(object), {}}, false)
                         : EntryFor({std::move(old), std::move(object)}, false));
  Publish(std::move(entries));
}

void InformerImpl::Reached(uint64_t version) {
  if (version > version_.load(std::memory_order_relaxed))
    version_.store(version, std::memory_order_release);
}

void InformerImpl::Exchange(wire::ObjectPtr object) {
  const std::lock_guard<std::mutex> publishing(publish_mutex_);
  store_.Put(object);
}

clock::MonoTime InformerImpl::Resync(clock::MonoTime now) {
  const clock::Duration period = stream_->SmallestResync();
  if (period.count() <= 0) {
    resync_looked_at_ = now;
    return clock::MonoTime::Max();
  }
  if (now >= resync_looked_at_ + period) {
    resync_looked_at_ = now;
    if (HasSynced()) StartResyncRound(now);
  }
  return resync_looked_at_ + period;
}

void InformerImpl::StartResyncRound(clock::MonoTime now) {
  const std::lock_guard<std::mutex> publishing(publish_mutex_);
  if (!stream_->StartRound(now)) return;
  std::vector<Entry> entries;
  for (wire::ObjectPtr& object : store_.List("")) {
    Entry entry;
    entry.notification.type = Notification::Type::kUpdate;
    entry.notification.old_object = object;
    entry.notification.object = std::move(object);
    entry.notification.resync = true;
    entry.members_only = true;
    entries.push_back(std::move(entry));
  }
  Publish(std::move(entries));
}

}  // namespace kcm::host::cache
