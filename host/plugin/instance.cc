// SPDX-License-Identifier: Apache-2.0
// Life of an instance: create, start, hand-over, stop; keys added before the start.
#include "host/plugin/instance.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "host/clock/thread.h"
#include "host/plugin/call_pool.h"
#include "host/plugin/entry.h"
#include "host/plugin/plugin_error.h"
#include "host/plugin/tables.h"

namespace kcm::host::plugin {
namespace {

double Seconds(clock::Duration d) { return std::chrono::duration<double>(d).count(); }
// "30 s", "0.5 s".
std::string SecondsText(clock::Duration d) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g s", Seconds(d));
  return text;
}

}  // namespace

Instance::Instance(std::shared_ptr<Shared> shared, std::shared_ptr<Image> image,
                   const ControllerDeclaration* declaration, uint32_t generation)
    : shared_(std::move(shared)),
      image_(std::move(image)),
      declaration_(declaration),
      generation_(generation),
      context_(reinterpret_cast<kcm_context*>(this)),
      calls_(std::make_unique<CallPool>(*shared_->environment->clock,
                                        shared_->environment->call_threads)),
      timers_(std::make_unique<TimerThread>(*this)),
      control_(*shared_->environment->clock) {
  aside_.resize(declaration->queues.size());
  host_api_.size = sizeof(host_api_);
  host_api_.table = [](kcm_context*, kcm_str id) {
    return TableById(std::string_view(id.data, id.length));
  };
  host_api_.abi_major = KCM_ABI_MAJOR;
  host_api_.abi_minor = KCM_ABI_MINOR;
  host_api_.host_version = TextOf(shared_->environment->host_version);
}

Instance::~Instance() { Stop(); }

Status Instance::Control(const std::string& call, clock::Duration limit,
                         std::function<int32_t(kcm_error*)> step,
                         std::function<void(int32_t)> after) {
  struct Answer {
    PluginError error;
    int32_t code = KCM_OK;
  };
  auto answer = std::make_shared<Answer>();
  const auto enter = [self = shared_from_this(), answer, step = std::move(step)] {
    const Entry entry(self->shared_->plugin_name, self->image_->build(), self->declaration_->name,
                      Role::kControl);
    answer->code = step(answer->error.c());
  };
  const auto publish = [answer, after = std::move(after)] {
    if (after) after(answer->code);
  };
  const std::string name = declaration_->name + ": " + call + ": ";
  switch (control_.Run(call + "()", limit, enter, publish)) {
    case ControlCalls::End::kReturned:
      break;
    case ControlCalls::End::kLate:
      // Final, like a refusal: another try would only cost another thread.
      shared_->log.Warning("Plugin call does not return, it is not waited for any more",
                           {{"plugin", shared_->plugin_name},
                            {"build", image_->build()},
                            {"call", call},
                            {"seconds", Seconds(limit)}});
      return MakeError(Code::kInvalid,
                       name + "has not returned within " + SecondsText(limit) +
                           ": the plugin hangs, or --plugin-swap-timeout is too short for it");
    case ControlCalls::End::kBusy: {
      const std::optional<OpenCall> open = control_.Open();
      return MakeError(Code::kUnavailable,
                       name + "not possible: " +
                           (open ? open->call + " has not returned for " +
                                       SecondsText(env().clock->Monotonic() - open->since)
                                 : "another call is under way"));
    }
    case ControlCalls::End::kEnded:
      return MakeError(Code::kCancelled, name + "stopped");
    case ControlCalls::End::kNoThread:
      return MakeError(Code::kUnavailable,
                       clock::NoThreadText(name.substr(0, name.size() - 2), EAGAIN));
  }
  if (answer->code == KCM_OK) return Ok();
  return MakeError(static_cast<Code>(answer->code), name + answer->error.Reason(answer->code));
}

Status Instance::Create(client::Cancellation* cancel) {
  for (size_t i = 0; i < declaration_->watches.size(); ++i) {
    watches_.push_back(std::make_unique<WatchState>());
    if (Status s = PrepareWatch(declaration_->watches[i], static_cast<uint32_t>(i),
                                watches_.back().get(), cancel);
        !s.ok())
      return s;
  }
  watches_made_.store(true, std::memory_order_release);
  struct Made {
    kcm_create args{};
    kcm_controller* controller = nullptr;
  };
  auto made = std::make_shared<Made>();
  made->args.size = sizeof(made->args);
  made->args.generation = generation_;
  made->args.host = &host_api_;
  made->args.context = context_;
  const Status created = Control(
      "create", env().swap_timeout,
      [this, made](kcm_error* e) {
        return declaration_->api->create(&made->args, &made->controller, e);
      },
      [this, made](int32_t code) { controller_ = code == KCM_OK ? made->controller : nullptr; });
  if (!created.ok()) {
    if (created.code() == Code::kUnsupported || created.code() == Code::kCancelled) return created;
    // The plugin's word is final: an exception (KCM_ERR_INTERNAL) must not look like a server that
    // does not answer yet.
    return MakeError(Code::kInvalid, created.error().message);
  }
  if (controller_ == nullptr)
    return MakeError(Code::kInternal, declaration_->name + ": create returned no instance");
  for (size_t i = 0; i < watches_.size(); ++i) {
    WatchState& w = *watches_[i];
    if (w.handler) w.subscription = SubscribeTo(w);
  }
  SubscribeRuntimeWatches();
  ReleaseTimers();
  return Ok();
}

void Instance::UseServices(Services services) {
  const std::lock_guard lock(services_mutex_);
  services_ = std::move(services);
}

Status Instance::Start() {
  const Status started = Control(
      "start", env().swap_timeout,
      [this](kcm_error* e) { return declaration_->api->start(controller_, e); },
      [this](int32_t code) { started_ = code == KCM_OK; });
  if (!started.ok()) return started;
  AddAsideKeys();
  return Ok();
}

void Instance::AddAsideKeys() {
  std::vector<std::unordered_map<std::string, Aside>> aside;
  {
    const std::lock_guard lock(aside_mutex_);
    State expected = State::kPreparing;  // fenced meanwhile: it stays so
    if (!state_.compare_exchange_strong(expected, State::kActive, std::memory_order_acq_rel))
      return;
    aside.swap(aside_);
  }
  const clock::MonoTime now = env().clock->Monotonic();
  for (size_t i = 0; i < aside.size(); ++i) {
    std::vector<std::pair<std::string, Aside>> keys(std::make_move_iterator(aside[i].begin()),
                                                    std::make_move_iterator(aside[i].end()));
    std::sort(keys.begin(), keys.end(), [](const auto& x, const auto& y) {
      return std::pair(x.second.due, x.second.place) < std::pair(y.second.due, y.second.place);
    });
    for (const auto& [key, a] : keys) {
      if (a.rate_limited) {
        shared_->queues[i]->AddRateLimited(key);
      } else {
        shared_->queues[i]->AddAfter(key, a.due - now);
      }
    }
  }
}

Status Instance::AddKey(uint32_t queue, std::string_view key, clock::Duration delay,
                        bool rate_limited) {
  if (queue >= declaration_->queues.size())
    return MakeError(Code::kInvalid, "no queue " + std::to_string(queue));
  if (key.empty()) return MakeError(Code::kInvalid, "empty key");
  if (state() == State::kPreparing) {
    const std::lock_guard lock(aside_mutex_);
    if (state() == State::kPreparing) {
      const clock::MonoTime now = env().clock->Monotonic();
      const auto [it, fresh] = aside_[queue].try_emplace(std::string(key));
      Aside& a = it->second;
      const bool at_once = !rate_limited && delay <= clock::Duration(0);
      if (fresh || now + delay < a.due || (at_once && a.rate_limited))
        a = {now + delay, next_place_++, rate_limited};
      return Ok();
    }
  }
  // Who still runs in a build that was given up must not meet queues that are being exchanged.
  const std::shared_lock queues(shared_->queues_mutex);
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

void Instance::Fence() {
  state_.store(State::kStopped, std::memory_order_release);
  CancelAll();
}

void Instance::Stop() {
  Fence();
  if (ending_.exchange(true)) return;
  timers_->Finish();
  calls_->Finish();
  // Joins delivery threads: an on_event that runs must not wait on the clock.
  for (auto& w : watches_) w->subscription.reset();
  EndRuntimeWatches();
  control_.Join();
  if (controller_ == nullptr) return;
  const Entry entry(shared_->plugin_name, image_->build(), declaration_->name, Role::kControl);
  control_.Mark("stop()");
  if (std::exchange(started_, false)) declaration_->api->stop(controller_);
  control_.Mark("destroy()");
  declaration_->api->destroy(std::exchange(controller_, nullptr));
  control_.Mark(nullptr);
}

std::optional<OpenCall> Instance::Open() const {
  if (std::optional<OpenCall> call = control_.Open()) return call;
  const auto in_event = [](const WatchState& w) -> std::optional<OpenCall> {
    const int64_t since = w.event_since.load(std::memory_order_relaxed);
    if (since == 0) return std::nullopt;
    const client::Gvr& gvr = w.declaration.gvr;
    return OpenCall{"on_event of " + gvr.ApiVersion() + "/" + gvr.resource,
                    clock::MonoTime(clock::Duration(since))};
  };
  if (watches_made_.load(std::memory_order_acquire))
    for (const auto& w : watches_)
      if (auto open = in_event(*w)) return open;
  {
    const std::lock_guard lock(runtime_mutex_);
    for (const auto& [id, w] : runtime_watches_)
      if (auto open = in_event(*w)) return open;
  }
  if (const clock::MonoTime since = timers_->FiringSince(); since != clock::MonoTime())
    return OpenCall{"a timer's callback", since};
  return std::nullopt;
}

std::string Instance::SaveState(bool* late) {
  *late = false;
  if (declaration_->api->save_state == nullptr || controller_ == nullptr) return {};
  const auto append = [](void* sink, kcm_str bytes) noexcept {
    if (bytes.length > 0) static_cast<std::string*>(sink)->append(bytes.data, bytes.length);
  };
  auto out = std::make_shared<std::string>();
  const Status s = Control("save_state", ShortLimit(), [this, out, append](kcm_error* e) {
    return declaration_->api->save_state(controller_, append, out.get(), e);
  });
  if (s.ok()) return std::move(*out);
  *late = Hangs();
  shared_->log.Info(2, "State is not handed over", {{"reason", s.error().message}});
  return {};
}

void Instance::LoadState(const std::string& state) {
  if (state.empty() || declaration_->api->load_state == nullptr || controller_ == nullptr) return;
  const Status s = Control("load_state", ShortLimit(), [this, state](kcm_error* e) {
    return declaration_->api->load_state(controller_, TextOf(state), e);
  });
  if (!s.ok())
    shared_->log.Info(2, "State of the old build is ignored", {{"reason", s.error().message}});
}

Status Instance::Health() {
  if (declaration_->api->health == nullptr) return Ok();
  const Status s = Control("health", ShortLimit(), [this](kcm_error* e) {
    return controller_ == nullptr ? KCM_OK : declaration_->api->health(controller_, e);
  });
  // Asked by /healthz at any moment, so also of an instance that is just being stopped.
  return s.code() == Code::kCancelled && state() == State::kStopped ? Ok() : s;
}

uint64_t Instance::AddTimer(clock::Duration delay, void (*fire)(void*), void* data) {
  return state() == State::kStopped ? 0 : timers_->Add(delay, fire, data);
}
bool Instance::CancelTimer(uint64_t id) { return timers_->Cancel(id); }
void Instance::HoldTimers() { timers_->Hold(); }
void Instance::ReleaseTimers() { timers_->Release(); }

std::string Instance::WaitCallbacks(clock::MonoTime deadline) {
  if (!timers_->WaitQuiet(deadline)) return "a timer's callback";
  std::unique_lock lock(wait_mutex_);
  const bool quiet = env().clock->Wait(lock, wait_cv_, deadline, [&] { return completions_ == 0; });
  return quiet ? "" : "the completion of a submitted call";
}

kcm_metric* Instance::KeepMetric(metric::Metric metric, metric::Type type, size_t labels) {
  const std::lock_guard lock(kept_mutex_);
  metrics_.push_back(std::make_unique<kcm_metric>(kcm_metric{std::move(metric), type, labels}));
  return metrics_.back().get();
}

kcm_str Instance::KeepText(const std::string& name, std::string text) {
  const std::lock_guard lock(kept_mutex_);
  // A flag's value never changes, so a text that was handed out stays where it is.
  return TextOf(texts_.try_emplace(name, std::move(text)).first->second);
}

}  // namespace kcm::host::plugin
