// SPDX-License-Identifier: Apache-2.0
// Elector: the acquire and renew loops on a worker thread, and Run as the watchdog beside it.
#include "host/leader/elector.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "host/clock/thread.h"
#include "host/leader/lease_lock.h"

namespace kcm::host::leader {
namespace {

constexpr double kJitterFactor = 1.2;
constexpr clock::Duration kHealthTolerance = std::chrono::seconds(20);  // 4.7

clock::Duration Times(double factor, clock::Duration d) {
  return clock::Duration(static_cast<int64_t>(static_cast<double>(d.count()) * factor));
}

}  // namespace

std::string ValidateTimings(const Options& o) {
  if (o.lease_duration <= o.renew_deadline)
    return "leaseDuration must be greater than renewDeadline";
  if (o.renew_deadline <= Times(kJitterFactor, o.retry_period)) {
    return "renewDeadline must be greater than retryPeriod*JitterFactor";
  }
  if (o.lease_duration.count() < 1) return "leaseDuration must be greater than zero";
  if (o.renew_deadline.count() < 1) return "renewDeadline must be greater than zero";
  if (o.retry_period.count() < 1) return "retryPeriod must be greater than zero";
  return "";
}

struct Elector::Impl {
  enum class State : uint8_t {
    kIdle,       // before Run
    kAcquiring,  // tries to get the lease
    kLeading,    // has it and renews it
    kLost,       // the renew deadline passed; final
    kStopped,    // Stop; what is left of the lease's time still counts for the fence
    kReleased,   // given back: nothing may be written any more; final
  };

  explicit Impl(Options given) : options(std::move(given)), lock(options) {
    if (options.metrics == nullptr) return;
    master =
        options.metrics
            ->Gauge(
                {.name = "leader_election_master_status",
                 .help =
                     "Gauge of if the reporting system is master of the relevant lease, 0 "
                     "indicates "
                     "backup, 1 indicates master. 'name' is the string used to identify the lease. "
                     "Please make sure to group by name.",
                 .labels = {"name"},
                 .buckets = {}})
            .With({options.lease_name});
    master.Set(0);
  }

  double Random() {
    if (options.random) return options.random();
    return std::uniform_real_distribution<double>(0, 1)(engine);
  }

  // ---- the worker ----
  void Work(const std::function<void()>& on_started);
  bool Acquire();
  // One renewal with its repetitions; false: stopped or lost meanwhile.
  bool Renew();
  bool Attempt();
  // False when the state changed instead.
  bool Sleep(clock::Duration d, State while_in);
  void Announce(const std::string& what) const {
    if (options.event) options.event(options.identity + " " + what);
  }

  const Options options;
  LeaseLock lock;  // worker thread; after it, Release's caller
  client::Cancellation cancel;
  metric::Series master;
  std::minstd_rand engine{std::random_device{}()};  // worker thread
  std::thread worker, starter;

  mutable std::mutex mutex;
  std::condition_variable changed;
  State state = State::kIdle;  // guarded by mutex
  clock::MonoTime held_until;  // end of the fence's permission. Guarded by mutex
  clock::MonoTime renewed_at;  // guarded by mutex
  clock::MonoTime round_deadline =
      clock::MonoTime::Max();  // of the renewal that runs. Guarded by mutex
  std::string holder;          // guarded by mutex
};

bool Elector::Impl::Sleep(clock::Duration d, State while_in) {
  std::unique_lock<std::mutex> guard(mutex);
  return !options.clock->WaitFor(guard, changed, d, [&] { return state != while_in; });
}

bool Elector::Impl::Attempt() {
  clock::MonoTime sent;
  const bool got = lock.TryAcquireOrRenew(&cancel, &sent);
  std::lock_guard<std::mutex> guard(mutex);
  holder = lock.holder();
  if (!got) return false;
  renewed_at = options.clock->Monotonic();
  // From the moment the request left, not from the answer: a slow answer must not stretch the lease
  // (design 7).
  held_until = sent + options.renew_deadline;
  return true;
}

bool Elector::Impl::Acquire() {
  options.log.Info(0, "Attempting to acquire leader lease...",
                   {{"lock", options.lease_namespace + "/" + options.lease_name}});
  bool told = false;
  while (!Attempt()) {
    const bool silent = lock.HolderSilent();
    if (silent && !told && options.on_holder_silent) options.on_holder_silent();
    told = silent;
    if (!Sleep(Times(1 + Random() * kJitterFactor, options.retry_period), State::kAcquiring))
      return false;
  }
  std::lock_guard<std::mutex> guard(mutex);
  if (state != State::kAcquiring) return false;
  state = State::kLeading;
  round_deadline = options.clock->Monotonic() + options.renew_deadline;
  changed.notify_all();
  return true;
}

bool Elector::Impl::Renew() {
  {
    std::lock_guard<std::mutex> guard(mutex);
    if (state != State::kLeading) return false;
    round_deadline = options.clock->Monotonic() + options.renew_deadline;
    changed.notify_all();
  }
  while (!Attempt()) {
    if (!Sleep(options.retry_period, State::kLeading)) return false;
  }
  std::lock_guard<std::mutex> guard(mutex);
  round_deadline = clock::MonoTime::Max();
  changed.notify_all();
  return state == State::kLeading;
}

void Elector::Impl::Work(const std::function<void()>& on_started) {
  if (!Acquire()) return;
  master.Set(1);
  options.log.Info(0, "Successfully acquired lease",
                   {{"lock", options.lease_namespace + "/" + options.lease_name}});
  Announce("became leader");
  starter = clock::StartBusyThread(*options.clock, "the start of controllers", on_started);
  while (Renew() && Sleep(options.retry_period, State::kLeading)) {
  }
}

Elector::Elector(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Elector::~Elector() {
  Stop();
  if (impl_->worker.joinable()) impl_->worker.join();
  if (impl_->starter.joinable()) impl_->starter.join();
}

// The watchdog: it looks at the clock and at nothing that the worker might be stuck in.
Elector::End Elector::Run(const std::function<void()>& on_started) {
  Impl& s = *impl_;
  std::unique_lock<std::mutex> guard(s.mutex);
  if (s.state != Impl::State::kIdle) return End::kStopped;
  s.state = Impl::State::kAcquiring;
  s.worker = clock::StartBusyThread(*s.options.clock, "renewal of the lease",
                                    [&s, on_started] { s.Work(on_started); });
  auto running = [&s] {
    return s.state == Impl::State::kAcquiring || s.state == Impl::State::kLeading;
  };
  while (running()) {
    const clock::MonoTime deadline = s.round_deadline;
    const bool changed = s.options.clock->Wait(
        guard, s.changed, deadline, [&] { return !running() || s.round_deadline != deadline; });
    if (changed || !running()) continue;
    s.state = Impl::State::kLost;
    s.changed.notify_all();
  }
  const bool lost = s.state == Impl::State::kLost;
  const bool led = s.held_until != clock::MonoTime();
  guard.unlock();
  s.cancel.Cancel();
  s.master.Set(0);
  if (lost) {
    s.options.log.Error("failed to renew lease before the deadline", "Failed to renew lease",
                        {{"lock", s.options.lease_namespace + "/" + s.options.lease_name}});
    if (led) s.Announce("stopped leading");
    return End::kLost;
  }
  s.worker.join();  // its request is cancelled
  return End::kStopped;
}

void Elector::Stop() {
  {
    std::lock_guard<std::mutex> guard(impl_->mutex);
    const bool running = impl_->state == Impl::State::kIdle ||
                         impl_->state == Impl::State::kAcquiring ||
                         impl_->state == Impl::State::kLeading;
    if (running) impl_->state = Impl::State::kStopped;
    impl_->changed.notify_all();
  }
  impl_->cancel.Cancel();
}

Status Elector::Release() {
  Impl& s = *impl_;
  {
    std::lock_guard<std::mutex> guard(s.mutex);
    if (s.state != Impl::State::kStopped || s.held_until == clock::MonoTime())
      return Ok();                     // nothing of ours to release
    s.state = Impl::State::kReleased;  // from here on the fence is closed
  }
  client::Cancellation cancel;
  return s.lock.Release(&cancel);
}

bool Elector::IsLeader() const {
  std::lock_guard<std::mutex> guard(impl_->mutex);
  return impl_->state == Impl::State::kLeading;
}

Status Elector::Check(clock::MonoTime* deadline) const {
  std::lock_guard<std::mutex> guard(impl_->mutex);
  const bool may = impl_->state == Impl::State::kLeading || impl_->state == Impl::State::kStopped;
  if (!may || impl_->options.clock->Monotonic() >= impl_->held_until) {
    return MakeError(Code::kFenced, "lease " + impl_->options.lease_namespace + "/" +
                                        impl_->options.lease_name +
                                        " is not held: nothing was sent");
  }
  *deadline = impl_->held_until;
  return Ok();
}

std::string Elector::HealthError() const {
  std::lock_guard<std::mutex> guard(impl_->mutex);
  if (impl_->state != Impl::State::kLeading) return "";
  if (impl_->options.clock->Monotonic() - impl_->renewed_at <=
      impl_->options.lease_duration + kHealthTolerance)
    return "";
  return "failed election to renew leadership on lease " + impl_->options.lease_name;
}

std::string Elector::holder() const {
  std::lock_guard<std::mutex> guard(impl_->mutex);
  return impl_->holder;
}

}  // namespace kcm::host::leader
