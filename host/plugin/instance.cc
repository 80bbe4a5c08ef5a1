// SPDX-License-Identifier: Apache-2.0
// Life of an instance: create, events, start, reconcile, stop.
#include "host/plugin/instance.h"

#include <algorithm>

#include "host/plugin/call_pool.h"
#include "host/plugin/entry.h"

namespace kcm::host::plugin {
namespace {

kcm_str Text(std::string_view s) { return {s.data(), s.size()}; }

// A buffer for what a plugin says when it fails.
class PluginError {
 public:
  PluginError() {
    c_.size = sizeof(c_);
    c_.capacity = sizeof(text_);
    c_.text = text_;
  }
  kcm_error* c() { return &c_; }
  std::string text() const {
    return std::string(text_, std::min<uint64_t>(c_.length, sizeof(text_)));
  }

 private:
  kcm_error c_{};
  char text_[2048];
};

}  // namespace

// Turns notifications of one watch into calls of on_event.
class WatchHandler : public cache::Handler {
 public:
  WatchHandler(Instance* instance, uint32_t id, const WatchState* watch)
      : instance_(instance), id_(id), watch_(watch) {}
  void OnNotification(const cache::Notification& n) override {
    instance_->Deliver(id_, *watch_, n);
  }

 private:
  Instance* instance_;
  uint32_t id_;
  const WatchState* watch_;
};

Instance::Instance(Shared* shared, std::shared_ptr<Image> image,
                   const ControllerDeclaration* declaration, uint32_t generation)
    : shared_(shared),
      image_(std::move(image)),
      declaration_(declaration),
      generation_(generation),
      context_(reinterpret_cast<kcm_context*>(this)),
      calls_(std::make_unique<CallPool>(*shared->environment->clock,
                                        shared->environment->call_threads)),
      timers_(std::make_unique<TimerThread>(*this)) {
  host_api_.size = sizeof(host_api_);
  host_api_.table = [](kcm_context*, kcm_str id) {
    return TableById(std::string_view(id.data, id.length));
  };
  host_api_.abi_major = KCM_ABI_MAJOR;
  host_api_.abi_minor = KCM_ABI_MINOR;
  host_api_.host_version = Text(shared->environment->host_version);
}

Instance::~Instance() { Stop(); }

template <class Step>
Status Instance::Control(const char* what, Step step) {
  PluginError error;
  int32_t code = KCM_OK;
  {
    const std::lock_guard lock(life_mutex_);
    const Entry entry(shared_->plugin_name, image_->build(), declaration_->name, Role::kControl);
    code = step(error.c());
  }
  if (code == KCM_OK) return Ok();
  return MakeError(static_cast<Code>(code),
                   declaration_->name + ": " + what + ": " +
                       (error.text().empty() ? "code " + std::to_string(code) : error.text()));
}

Status Instance::Create(client::Cancellation* cancel) {
  for (size_t i = 0; i < declaration_->watches.size(); ++i) {
    watches_.push_back(std::make_unique<WatchState>());
    if (Status s = PrepareWatch(declaration_->watches[i], static_cast<uint32_t>(i),
                                watches_.back().get(), cancel);
        !s.ok())
      return s;
  }
  kcm_create args{};
  args.size = sizeof(args);
  args.generation = generation_;
  args.host = &host_api_;
  args.context = context_;
  Status created = Control(
      "create", [&](kcm_error* e) { return declaration_->api->create(&args, &controller_, e); });
  if (!created.ok()) {
    controller_ = nullptr;
    if (created.code() == Code::kUnsupported) return created;
    // The plugin's word is final: an exception (KCM_ERR_INTERNAL) must not look like a server that
    // does not answer yet.
    return MakeError(Code::kInvalid, created.error().message);
  }
  if (controller_ == nullptr)
    return MakeError(Code::kInternal, declaration_->name + ": create returned no instance");
  for (size_t i = 0; i < watches_.size(); ++i) {
    WatchState& w = *watches_[i];
    if (w.handler) w.subscription = w.informer->Subscribe(w.handler.get(), declaration_->name);
  }
  SubscribeRuntimeWatches();
  return Ok();
}

// Watches that create() asked for get their events from here on: on_event needs the instance that
// create returns.
void Instance::SubscribeRuntimeWatches() {
  const std::lock_guard lock(runtime_mutex_);
  events_may_come_ = true;
  for (auto& [id, w] : runtime_watches_)
    w->subscription = w->informer->Subscribe(w->handler.get(), declaration_->name);
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
  if (!key.metadata_only && !out->informer->mask().Covers(*mask))
    if (Status s = out->informer->Widen(*mask, cancel); !s.ok()) return s;
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
    out += (out.empty() ? "" : ", ") + w->declaration.gvr.ApiVersion() + "/" +
           w->declaration.gvr.resource;
  }
  return out;
}

bool Instance::WaitSynced(client::Cancellation* cancel, clock::Duration limit) {
  const clock::MonoTime end = env().clock->Monotonic() + limit;
  // client-go polls every 100 ms too (spec/host.md 5.5).
  std::mutex mutex;
  std::condition_variable cv;
  while (!Synced()) {
    if (cancel->cancelled() || state() == State::kStopped || env().clock->Monotonic() >= end)
      return false;
    std::unique_lock lock(mutex);
    env().clock->WaitFor(lock, cv, std::chrono::milliseconds(10), [] { return false; });
  }
  return true;
}

void Instance::Deliver(uint32_t watch, const WatchState& state, const cache::Notification& n) {
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
    const Entry entry(shared_->plugin_name, image_->build(), declaration_->name, Role::kEvent,
                      n.object->Name());
    declaration_->api->on_event(controller_, &event);
  }
  ObjectTable().release(event.object);
  ObjectTable().release(event.old_object);
}

Status Instance::Start() {
  const auto start = [&](kcm_error* e) {
    const int32_t code = declaration_->api->start(controller_, e);
    started_ = code == KCM_OK;
    return code;
  };
  if (Status s = Control("start", start); !s.ok()) return s;
  std::map<std::pair<uint32_t, std::string>, clock::MonoTime> aside;
  {
    const std::lock_guard lock(aside_mutex_);
    state_.store(State::kActive, std::memory_order_release);
    aside.swap(aside_);
  }
  const clock::MonoTime now = env().clock->Monotonic();
  for (const auto& [where, due] : aside)
    shared_->queues[where.first]->AddAfter(where.second, due - now);
  return Ok();
}

Status Instance::AddKey(uint32_t queue, std::string_view key, clock::Duration delay,
                        bool rate_limited) {
  if (queue >= declaration_->queues.size())
    return MakeError(Code::kInvalid, "no queue " + std::to_string(queue));
  if (key.empty()) return MakeError(Code::kInvalid, "empty key");
  if (state() == State::kPreparing) {
    const std::lock_guard lock(aside_mutex_);
    if (state() == State::kPreparing) {
      const clock::MonoTime due = env().clock->Monotonic() + delay;
      const auto [it, fresh] = aside_.emplace(std::pair(queue, std::string(key)), due);
      if (!fresh) it->second = std::min(it->second, due);
      return Ok();
    }
  }
  if (state() == State::kStopped) return MakeError(Code::kStopped, "stopped");
  if (rate_limited) {
    shared_->queues[queue]->AddRateLimited(key);
  } else if (delay > clock::Duration(0)) {
    shared_->queues[queue]->AddAfter(key, delay);
  } else {
    shared_->queues[queue]->Add(key);
  }
  return Ok();
}

void Instance::Stop() {
  if (state_.exchange(State::kStopped, std::memory_order_acq_rel) == State::kStopped) return;
  cancel_.Cancel();
  {
    const std::lock_guard lock(scopes_mutex_);
    for (kcm_scope* scope : scopes_) scope->cancel.Cancel();
  }
  Wake();
  timers_->Finish();
  calls_->Finish();
  {
    const clock::BusyPause pause(*env().clock);  // joins delivery threads
    for (auto& w : watches_) w->subscription.reset();
    EndRuntimeWatches();
  }
  const std::lock_guard lock(life_mutex_);
  if (controller_ == nullptr) return;
  const Entry entry(shared_->plugin_name, image_->build(), declaration_->name, Role::kControl);
  if (std::exchange(started_, false)) declaration_->api->stop(controller_);
  declaration_->api->destroy(std::exchange(controller_, nullptr));
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

void Instance::CancelAll() {
  cancel_.Cancel();
  CancelScopes();
}

void Instance::CancelScopes() {
  {
    const std::lock_guard lock(scopes_mutex_);
    for (kcm_scope* scope : scopes_) scope->cancel.Cancel();
  }
  Wake();
}

std::vector<uint64_t> Instance::PauseEvents() {
  std::vector<uint64_t> out;
  const clock::BusyPause pause(*env().clock);
  for (auto& w : watches_)
    out.push_back(w->subscription ? w->subscription->PauseAt(w->subscription->QueuedSequence())
                                  : 0);
  return out;
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

std::string Instance::SaveState() {
  std::string out;
  if (declaration_->api->save_state == nullptr || controller_ == nullptr) return out;
  const auto append = [](void* sink, kcm_str bytes) {
    if (bytes.length > 0) static_cast<std::string*>(sink)->append(bytes.data, bytes.length);
  };
  const Status s = Control("save_state", [&](kcm_error* e) {
    return declaration_->api->save_state(controller_, append, &out, e);
  });
  if (s.ok()) return out;
  shared_->log.Info(2, "State is not handed over", {{"reason", s.error().message}});
  return {};
}

void Instance::LoadState(const std::string& state) {
  if (state.empty() || declaration_->api->load_state == nullptr || controller_ == nullptr) return;
  const Status s = Control("load_state", [&](kcm_error* e) {
    return declaration_->api->load_state(controller_, Text(state), e);
  });
  if (!s.ok())
    shared_->log.Info(2, "State of the old build is ignored", {{"reason", s.error().message}});
}

Status Instance::Health() {
  if (declaration_->api->health == nullptr) return Ok();
  // Asked by /healthz at any moment, so also of an instance that has just been destroyed.
  return Control("health", [&](kcm_error* e) {
    return controller_ == nullptr ? KCM_OK : declaration_->api->health(controller_, e);
  });
}

void Instance::BeginScope(kcm_scope* scope) {
  {
    const std::lock_guard lock(scopes_mutex_);
    scopes_.insert(scope);
  }
  if (cancel_.cancelled()) scope->cancel.Cancel();
}

void Instance::EndScope(kcm_scope* scope) {
  {
    std::unique_lock lock(wait_mutex_);
    env().clock->Wait(lock, wait_cv_, clock::MonoTime::Max(),
                      [&] { return scope->submitted == 0; });
  }
  const std::lock_guard lock(scopes_mutex_);
  scopes_.erase(scope);
}

kcm_outcome Instance::Reconcile(uint32_t queue, const std::string& key, int failures,
                                Error* error) {
  kcm_scope scope;
  scope.instance = this;
  scope.key = key;
  BeginScope(&scope);
  kcm_reconcile run{};
  run.size = sizeof(run);
  run.queue = queue;
  run.key = Text(key);
  run.scope = &scope;
  run.failures = failures;
  kcm_outcome outcome{};
  outcome.size = sizeof(outcome);
  outcome.kind = KCM_OUTCOME_DONE;
  PluginError text;
  int32_t code = KCM_OK;
  {
    const Entry entry(shared_->plugin_name, image_->build(), declaration_->name, Role::kWorker,
                      key);
    code = declaration_->api->reconcile(controller_, &run, &outcome, text.c());
  }
  const bool cut_short = scope.cancel.cancelled();
  EndScope(&scope);
  if (code != KCM_OK) outcome.kind = KCM_OUTCOME_ERROR;
  if (outcome.kind >= KCM_OUTCOME_RETRY)
    *error = MakeError(cut_short        ? Code::kCancelled
                       : code == KCM_OK ? Code::kOk
                                        : static_cast<Code>(code),
                       text.text());
  return outcome;
}

Status Instance::RunTask(uint32_t task) {
  kcm_scope scope;
  scope.instance = this;
  BeginScope(&scope);
  PluginError text;
  int32_t code = KCM_OK;
  {
    const Entry entry(shared_->plugin_name, image_->build(), declaration_->name, Role::kTask);
    code = declaration_->api->on_task(controller_, task, &scope, text.c());
  }
  EndScope(&scope);
  return code == KCM_OK ? Ok() : Status(MakeError(static_cast<Code>(code), text.text()));
}

int32_t Instance::WaitReady(kcm_scope* scope, int64_t timeout_ns, uint32_t (*ready)(void*),
                            void* data) {
  client::Cancellation& cancel = scope != nullptr ? scope->cancel : cancel_;
  const clock::MonoTime deadline = timeout_ns < 0
                                       ? clock::MonoTime::Max()
                                       : env().clock->Monotonic() + clock::Duration(timeout_ns);
  std::unique_lock lock(wait_mutex_);
  // The predicate may be asked by another thread while this one blocks, so it only looks; what it
  // saw is asked again here, under the same lock.
  env().clock->Wait(lock, wait_cv_, deadline,
                    [&] { return ready(data) != 0 || cancel.cancelled(); });
  if (ready(data) != 0) return KCM_OK;
  return cancel.cancelled() ? KCM_ERR_CANCELLED : KCM_ERR_TIMEOUT;
}

void Instance::Wake() {
  const std::lock_guard lock(wait_mutex_);
  wait_cv_.notify_all();
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
  const std::lock_guard lock(runtime_mutex_);
  if (state() == State::kStopped) return MakeError(Code::kStopped, "stopped");
  for (const auto& [id, w] : runtime_watches_)
    if (w->declaration.gvr == gvr) return id;
  auto watch = std::make_shared<WatchState>();
  watch->declaration.gvr = gvr;
  watch->declaration.flags = KCM_WATCH_METADATA_ONLY;
  cache::InformerKey key;
  key.gvr = gvr;
  key.metadata_only = true;
  watch->informer = env().informers->For(key, wire::Mask());
  const uint32_t id = next_runtime_watch_++;
  watch->handler = std::make_unique<WatchHandler>(this, id, watch.get());
  if (events_may_come_)
    watch->subscription = watch->informer->Subscribe(watch->handler.get(), declaration_->name);
  env().informers->Start();
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
    if (CurrentFrame() != nullptr && CurrentFrame()->role == Role::kEvent) {
      retired_watches_.emplace_back(std::move(gone), std::move(ended));
      return Ok();
    }
  }
  ended.reset();
  return Ok();
}

uint64_t Instance::AddTimer(clock::Duration delay, void (*fire)(void*), void* data) {
  return state() == State::kStopped ? 0 : timers_->Add(delay, fire, data);
}
bool Instance::CancelTimer(uint64_t id) { return timers_->Cancel(id); }

kcm_metric* Instance::KeepMetric(metric::Metric metric, metric::Type type, size_t labels) {
  const std::lock_guard lock(kept_mutex_);
  metrics_.push_back(std::make_unique<kcm_metric>(kcm_metric{std::move(metric), type, labels}));
  return metrics_.back().get();
}

kcm_str Instance::KeepText(const std::string& name, std::string text) {
  const std::lock_guard lock(kept_mutex_);
  // A flag's value never changes, so a text that was handed out stays where it is.
  return Text(texts_.try_emplace(name, std::move(text)).first->second);
}

}  // namespace kcm::host::plugin
