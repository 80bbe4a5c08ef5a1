// SPDX-License-Identifier: Apache-2.0
// Life of an instance: create, start, hand-over, stop; keys added before the start.
#include "host/plugin/instance.h"

#include <algorithm>

#include "host/plugin/call_pool.h"
#include "host/plugin/entry.h"
#include "host/plugin/plugin_error.h"

namespace kcm::host::plugin {
namespace {

kcm_str Text(std::string_view s) { return {s.data(), s.size()}; }

}  // namespace

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
  aside_.resize(declaration->queues.size());
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
  const auto start = [&](kcm_error* e) {
    const int32_t code = declaration_->api->start(controller_, e);
    started_ = code == KCM_OK;
    return code;
  };
  if (Status s = Control("start", start); !s.ok()) return s;
  AddAsideKeys();
  return Ok();
}

void Instance::AddAsideKeys() {
  std::vector<std::unordered_map<std::string, Aside>> aside;
  {
    const std::lock_guard lock(aside_mutex_);
    state_.store(State::kActive, std::memory_order_release);
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
  CancelAll();
  timers_->Finish();
  calls_->Finish();
  // Joins delivery threads: an on_event that runs must not wait on the clock.
  for (auto& w : watches_) w->subscription.reset();
  EndRuntimeWatches();
  const std::lock_guard lock(life_mutex_);
  if (controller_ == nullptr) return;
  const Entry entry(shared_->plugin_name, image_->build(), declaration_->name, Role::kControl);
  if (std::exchange(started_, false)) declaration_->api->stop(controller_);
  declaration_->api->destroy(std::exchange(controller_, nullptr));
}

std::string Instance::SaveState() {
  std::string out;
  if (declaration_->api->save_state == nullptr || controller_ == nullptr) return out;
  const auto append = [](void* sink, kcm_str bytes) noexcept {
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
  return Text(texts_.try_emplace(name, std::move(text)).first->second);
}

}  // namespace kcm::host::plugin
