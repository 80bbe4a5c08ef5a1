// SPDX-License-Identifier: Apache-2.0
// Watches of an instance: caches, readable fields, delivery of events, watches added at run time.
#include <algorithm>

#include "host/client/pause.h"
#include "host/plugin/call_pool.h"
#include "host/plugin/entry.h"
#include "host/plugin/instance.h"

namespace kcm::host::plugin {
namespace {

// A cache that needs more fields lists its resource once more; a server that does not answer must
// not hold a swap or a new plugin for ever.
constexpr auto kWidenLimit = std::chrono::minutes(1);
// client-go looks every 100 ms (spec/host.md 5.5). Every controller of a host looks this often while
// its caches fill: at 10 ms that was a twentieth of the CPU time of a start.
constexpr auto kSyncPoll = std::chrono::milliseconds(50);

// Ends with `outer` or after `limit` of the clock. One thread.
class LimitedCancellation {
 public:
  LimitedCancellation(clock::Clock& clock, client::Cancellation* outer, clock::Duration limit)
      : clock_(clock), outer_(outer) {
    if (outer_ != nullptr) id_ = outer_->OnCancel([this] { inner_.Cancel(); });
    timer_ = clock_.After(limit, [this] { inner_.Cancel(); });
  }
  ~LimitedCancellation() {
    clock_.Cancel(timer_);
    if (outer_ != nullptr) outer_->Remove(id_);
  }
  LimitedCancellation(const LimitedCancellation&) = delete;
  LimitedCancellation& operator=(const LimitedCancellation&) = delete;
  client::Cancellation* get() { return &inner_; }
  bool timed_out() const {
    return inner_.cancelled() && (outer_ == nullptr || !outer_->cancelled());
  }

 private:
  clock::Clock& clock_;
  client::Cancellation* outer_;
  client::Cancellation inner_;
  clock::TimerId timer_ = 0;
  int id_ = 0;
};

std::string NameOf(const client::Gvr& gvr) { return gvr.ApiVersion() + "/" + gvr.resource; }

}  // namespace

// Turns notifications of one watch into calls of on_event.
class WatchHandler : public cache::Handler {
 public:
  WatchHandler(Instance* instance, uint32_t id, WatchState* watch)
      : instance_(instance), id_(id), watch_(watch) {}
  void OnNotification(const cache::Notification& n) override {
    instance_->Deliver(id_, *watch_, n);
  }

 private:
  Instance* instance_;
  uint32_t id_;
  WatchState* watch_;
};

// Watches that create() asked for get their events from here on: on_event needs the instance that
// create returns.
void Instance::SubscribeRuntimeWatches() {
  const std::lock_guard lock(runtime_mutex_);
  events_may_come_ = true;
  for (auto& [id, w] : runtime_watches_) w->subscription = SubscribeTo(*w);
}

std::shared_ptr<cache::Subscription> Instance::SubscribeTo(const WatchState& watch) {
  cache::SubscribeOptions options;
  if (watch.declaration.resync > clock::Duration(0)) options.resync = watch.declaration.resync;
  return watch.informer->Subscribe(watch.handler.get(), declaration_->name, options);
}

Status Instance::PrepareWatch(const WatchDeclaration& declaration, uint32_t id, WatchState* out,
                              client::Cancellation* cancel) {
  out->declaration = declaration;
  if (declaration.optional()) {
    const Result<client::ApiResource> served = env().discovery->ForResource(declaration.gvr);
    if (!served.ok() && served.code() == Code::kNotFound) return Ok();
  }
  const Result<wire::Mask> mask = declaration.fields.empty()
                                      ? Result<wire::Mask>(wire::Mask())
                                      : wire::Mask::Compile(declaration.fields);
  if (!mask.ok()) return mask.error();
  out->mask = ReadMask::Make(*mask);
  cache::InformerKey key;
  key.gvr = declaration.gvr;
  key.ns = declaration.scope;
  key.field_selector = declaration.field_selector;
  key.metadata_only = declaration.metadata_only();
  out->informer = env().informers->For(key, *mask);
  for (const cache::IndexSpec& spec : declaration.indexes)
    out->indexes.push_back(out->informer->AddIndex(spec));
  if (!key.metadata_only && !out->informer->mask().Covers(*mask)) {
    LimitedCancellation limited(*env().clock, cancel, kWidenLimit);
    const Status s = out->informer->Widen(*mask, limited.get());
    if (!s.ok() && limited.timed_out())
      return MakeError(Code::kTimeout,
                       declaration_->name + ": the cache of " + NameOf(key.gvr) +
                           " can not be filled with further fields within a minute: does the "
                           "server answer, does RBAC allow to list them?");
    if (!s.ok()) return s;
  }
  if (!declaration.no_events()) out->handler = std::make_unique<WatchHandler>(this, id, out);
  return Ok();
}

bool Instance::Synced() const {
  return std::all_of(watches_.begin(), watches_.end(), [](const auto& w) {
    if (!w->informer) return true;
    return w->subscription ? w->subscription->HasSynced() : w->informer->HasSynced();
  });
}

std::string Instance::Unsynced() const {
  std::string out;
  for (const auto& w : watches_) {
    if (!w->informer || (w->subscription ? w->subscription->HasSynced() : w->informer->HasSynced()))
      continue;
    out += (out.empty() ? "" : ", ") + NameOf(w->declaration.gvr);
    if (const std::string why = w->informer->ListError(); !why.empty()) out += ": " + why;
  }
  return out;
}

bool Instance::WaitSynced(client::Cancellation* cancel, clock::Duration limit) {
  const clock::MonoTime end = env().clock->Monotonic() + limit;
  while (!Synced()) {
    if (cancel->cancelled() || state() == State::kStopped || env().clock->Monotonic() >= end ||
        !client::Pause(env().clock, kSyncPoll, cancel))
      return false;
  }
  return true;
}

void Instance::Deliver(uint32_t watch, WatchState& state, const cache::Notification& n) {
  if (!n.object || state.removed.load(std::memory_order_acquire)) return;
  kcm_event event{};
  event.size = sizeof(event);
  event.watch = watch;
  switch (n.type) {
    case cache::Notification::Type::kAdd:
      event.type = KCM_EVENT_ADD;
      break;
    case cache::Notification::Type::kUpdate:
      event.type = KCM_EVENT_UPDATE;
      break;
    case cache::Notification::Type::kDelete:
      event.type = KCM_EVENT_DELETE;
      break;
  }
  event.flags = (n.initial ? KCM_EVENT_INITIAL : 0u) | (n.tombstone ? KCM_EVENT_TOMBSTONE : 0u) |
                (n.resync ? KCM_EVENT_RESYNC : 0u);
  event.object = NewHandle(n.object, state.mask, handles());
  event.old_object = n.old_object ? NewHandle(n.old_object, state.mask, handles()) : nullptr;
  {
    const std::string_view ns = n.object->Namespace(), name = n.object->Name();
    const Entry entry(shared_->plugin_name, image_->build(), declaration_->name, Role::kEvent,
                      ns.empty() ? std::string(name) : std::string(ns) + "/" + std::string(name));
    state.event_since.store(env().clock->Monotonic().since().count(), std::memory_order_relaxed);
    declaration_->api->on_event(controller_, &event);
    state.event_since.store(0, std::memory_order_relaxed);
  }
  ObjectTable().release(event.object);
  ObjectTable().release(event.old_object);
}

std::string Instance::PauseEvents(clock::MonoTime deadline, std::vector<uint64_t>* sequences) {
  for (auto& w : watches_) {
    std::optional<uint64_t> at = 0;
    if (w->subscription) at = w->subscription->PauseAt(w->subscription->QueuedSequence(), deadline);
    if (!at) return "on_event of " + NameOf(w->declaration.gvr);
    sequences->push_back(*at);
  }
  return {};
}

void Instance::ResumeEvents() {
  for (auto& w : watches_)
    if (w->subscription) w->subscription->Resume();
}

bool Instance::WaitDelivered(const Instance& other, const std::vector<uint64_t>& sequences,
                             clock::Duration limit) {
  const auto reached = [&] {
    for (size_t i = 0; i < other.watches_.size(); ++i) {
      for (const auto& w : watches_)
        if (w->subscription && w->informer == other.watches_[i]->informer &&
            w->subscription->DeliveredSequence() < sequences[i])
          return false;
    }
    return true;
  };
  const clock::MonoTime end = env().clock->Monotonic() + limit;
  std::mutex mutex;
  std::condition_variable cv;
  std::unique_lock lock(mutex);
  // Its delivery threads are at work already; this is a matter of microseconds, hence the short
  // steps.
  while (!reached()) {
    if (env().clock->Monotonic() >= end) return false;
    // Nobody notifies: the condition is looked at between the waits, never inside one.
    env().clock->WaitFor(lock, cv, std::chrono::microseconds(200), [] { return false; });
  }
  return true;
}

std::shared_ptr<WatchState> Instance::Watch(uint32_t id) {
  // Declared ones live as long as the instance: no count to touch on the hot path.
  if (id < watches_.size())
    return std::shared_ptr<WatchState>(std::shared_ptr<void>(), watches_[id].get());
  const std::lock_guard lock(runtime_mutex_);
  const auto it = runtime_watches_.find(id);
  return it == runtime_watches_.end() ? nullptr : it->second;
}

bool Instance::WatchSynced(uint32_t id) {
  const auto synced = [](const WatchState& w) {
    if (!w.informer) return true;
    return w.subscription ? w.subscription->HasSynced() : w.informer->HasSynced();
  };
  if (id < watches_.size()) return synced(*watches_[id]);
  const std::lock_guard lock(runtime_mutex_);
  const auto it = runtime_watches_.find(id);
  return it != runtime_watches_.end() && synced(*it->second);
}

Result<uint32_t> Instance::AddRuntimeWatch(const client::Gvr& gvr) {
  // Before the lock: whatever throws below, it ends without it.
  auto watch = std::make_shared<WatchState>();
  const std::lock_guard lock(runtime_mutex_);
  if (state() == State::kStopped) return MakeError(Code::kStopped, "stopped");
  for (const auto& [id, w] : runtime_watches_)
    if (w->declaration.gvr == gvr) return id;
  watch->declaration.gvr = gvr;
  watch->declaration.flags = KCM_WATCH_METADATA_ONLY;
  cache::InformerKey key;
  key.gvr = gvr;
  key.metadata_only = true;
  watch->informer = env().informers->For(key, wire::Mask());
  const uint32_t id = next_runtime_watch_++;
  watch->handler = std::make_unique<WatchHandler>(this, id, watch.get());
  env().informers->Start();
  // Last: when there is no thread for it, no event has come of a watch that the plugin never got.
  if (events_may_come_) watch->subscription = SubscribeTo(*watch);
  runtime_watches_.emplace(id, std::move(watch));
  return id;
}

Status Instance::RemoveRuntimeWatch(uint32_t id) {
  std::shared_ptr<WatchState> gone;
  std::shared_ptr<cache::Subscription> ended;
  {
    const std::lock_guard lock(runtime_mutex_);
    const auto it = runtime_watches_.find(id);
    if (it == runtime_watches_.end())
      return MakeError(Code::kInvalid, "no runtime watch " + std::to_string(id));
    gone = std::move(it->second);
    ended = std::move(gone->subscription);
    runtime_watches_.erase(it);
    gone->removed.store(true, std::memory_order_release);
  }
  if (CurrentFrame() == nullptr || CurrentFrame()->role != Role::kEvent) {
    ended.reset();
    return Ok();
  }
  // Inside on_event the end of its own thread can not be waited for: one of the instance's does.
  auto retired = std::make_shared<Retired>(std::move(gone), std::move(ended));
  const auto end = [this, retired] {
    retired->second.reset();
    retired->first.reset();
  };
  if (calls_->Add(end).ok()) return Ok();
  const std::lock_guard lock(runtime_mutex_);
  retired_watches_.push_back(std::move(*retired));  // ends with the instance
  return Ok();
}

void Instance::EndRuntimeWatches() {
  std::map<uint32_t, std::shared_ptr<WatchState>> all;
  std::vector<std::shared_ptr<cache::Subscription>> ended;
  {
    const std::lock_guard lock(runtime_mutex_);
    events_may_come_ = false;
    all.swap(runtime_watches_);
    for (auto& [id, w] : all) ended.push_back(std::move(w->subscription));
    for (auto& [w, subscription] : retired_watches_) ended.push_back(std::move(subscription));
  }
  // Not under the lock: a handler that is running may want it, and its end is waited for.
  ended.clear();
}

}  // namespace kcm::host::plugin
