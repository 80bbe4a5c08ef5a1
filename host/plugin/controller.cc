// SPDX-License-Identifier: Apache-2.0
// Life, workers and tasks of a controller. The swap is in swap.cc.
#include "host/plugin/controller.h"

#include <algorithm>
#include <utility>

#include "kcm/rules/go_duration.h"

namespace kcm::host::plugin {
namespace {

// How long a key waits before it is looked at again while caches are behind the old build's writes.
constexpr auto kLedgerRecheck = std::chrono::milliseconds(5);
constexpr size_t kTrimAt = 4096;

// So many conflicts of a key in a row (80 s of the usual back-off) are caches that are behind; more
// are a failure that somebody has to see.
constexpr int kQuietConflicts = 14;

// Nothing that an operator could mend: this run came too early (another writer, or its own writes,
// are not in the caches yet), or this process may not write any more.
bool IsOnlyAWait(const Error& e, int failures) {
  if (e.code == Code::kConflict) return failures < kQuietConflicts;
  return e.code == Code::kFenced || e.code == Code::kStopped;
}

}  // namespace

Controller::Controller(Environment* environment, Retired* retired, std::string plugin_name,
                       std::shared_ptr<Image> image, const ControllerDeclaration* declaration)
    : environment_(environment),
      retired_(retired),
      image_(std::move(image)),
      declaration_(declaration) {
  shared_.environment = environment;
  shared_.plugin_name = std::move(plugin_name);
  shared_.controller_name = declaration->name;
  shared_.log = environment->log.Named(declaration->name);
  for (const QueueDeclaration& d : declaration->queues) shared_.queues.push_back(MakeQueue(d));
}

Controller::~Controller() { Stop(); }

queue::RateLimit Controller::LimitOf(const QueueDeclaration& d) {
  queue::RateLimit limit;
  if (d.base_delay > clock::Duration(0)) limit.base = d.base_delay;
  if (d.max_delay > clock::Duration(0)) limit.cap = d.max_delay;
  if (d.bucket_qps < 0) {
    limit.bucket = false;
  } else if (d.bucket_qps > 0) {
    limit.bucket_qps = d.bucket_qps;
    limit.bucket_burst = d.bucket_burst;
  }
  return limit;
}

std::unique_ptr<queue::WorkQueue> Controller::MakeQueue(const QueueDeclaration& d) const {
  queue::Options o;
  o.name = d.name;
  o.clock = environment_->clock;
  o.metrics = environment_->metrics;
  o.limit = LimitOf(d);
  return std::make_unique<queue::WorkQueue>(std::move(o));
}

int Controller::Workers(const QueueDeclaration& d) const {
  if (d.workers_flag.empty()) return d.workers;
  const std::optional<std::string> text = environment_->flag(d.workers_flag);
  // 0 or less starts no workers, without an error (spec/host.md 1.5, T28).
  return text ? std::atoi(text->c_str()) : d.workers;
}

clock::Duration Controller::Period(const TaskDeclaration& d) const {
  if (!d.period_flag.empty())
    if (const std::optional<std::string> text = environment_->flag(d.period_flag))
      if (const auto parsed = rules::ParseDuration(*text);
          parsed.ok() && *parsed > clock::Duration(0))
        return *parsed;
  return d.period > clock::Duration(0) ? d.period : clock::Duration(std::chrono::minutes(1));
}

Status Controller::Prepare(client::Cancellation* cancel) {
  const uint32_t generation = generation_.fetch_add(1, std::memory_order_relaxed) + 1;
  auto instance = std::make_shared<Instance>(share_, image_, declaration_, generation);
  SetNext(instance);
  Status s = Ok();
  {
    const EndsWith ends(cancel, instance);
    s = OrNoThread([&] { return instance->Create(cancel); });
  }
  SetNext(nullptr);
  if (!s.ok()) {
    (void)Retire(std::move(instance));
    return s;
  }
  const std::lock_guard lock(mutex_);
  instance_ = std::move(instance);
  return Ok();
}

void Controller::SetNext(std::shared_ptr<Instance> next) {
  const std::lock_guard lock(mutex_);
  next_.swap(next);
}

bool Controller::Retire(std::shared_ptr<Instance> instance) {
  instance->Fence();
  const clock::Duration limit =
      instance->Hangs() ? clock::Duration(0) : environment_->swap_timeout / 3;
  Ending e;
  e.plugin = shared_.plugin_name;
  e.controller = name();
  e.build = instance->image().build();
  e.open = [instance] { return instance->Open(); };
  e.end = [instance = std::move(instance)] { instance->Stop(); };
  return retired_->End(std::move(e), limit);
}

void Controller::Retire(Services services) {
  if (!services.recorder || services.recorder->Idle()) return;
  Ending e;
  e.of_plugin = false;
  e.hurry = [recorder = services.recorder] { recorder->Stop(); };
  e.end = [services = std::move(services)] { services.recorder->Finish(); };
  (void)retired_->End(std::move(e), clock::Duration(0));
}

void Controller::StopInTime() {
  Ending e;
  e.plugin = shared_.plugin_name;
  e.controller = name();
  e.open = [self = shared_from_this()] {
    const std::optional<Waiting> waiting = self->WaitsFor();
    return waiting ? std::optional(waiting->open) : std::nullopt;
  };
  e.end = [self = shared_from_this()] { self->Retire(self->End()); };
  if (const std::shared_ptr<Instance> present = Current()) e.build = present->image().build();
  const std::shared_ptr<Instance> present = Current();
  if (!retired_->End(std::move(e), environment_->swap_timeout) && present) present->Fence();
}

std::optional<Controller::Waiting> Controller::WaitsFor() const {
  std::shared_ptr<Instance> of[2];
  {
    const std::lock_guard lock(mutex_);
    of[0] = next_;
    of[1] = instance_;
  }
  for (const auto& i : of)
    if (i)
      if (std::optional<OpenCall> open = i->Open())
        return Waiting{std::string(i->image().build()), *std::move(open)};
  return std::nullopt;
}

Status Controller::StartInstance(const std::shared_ptr<Instance>& instance) {
  if (Status s = instance->Start(); !s.ok()) return s;
  const Status s = OrNoThread([&] {
    StartThreads(instance);
    return Ok();
  });
  if (!s.ok()) {
    instance->CancelAll();
    JoinThreads();
  }
  return s;
}

std::unique_lock<std::mutex> Controller::LockLife() {
  std::unique_lock lock(life_mutex_, std::try_to_lock);
  if (lock.owns_lock()) return lock;
  const clock::BusyPause pause(*environment_->clock);  // the holder may wait on the clock
  lock.lock();
  return lock;
}

Status Controller::Activate(client::Cancellation* cancel) {
  shared_.log.Info(2, "Waiting for caches to sync");
  while (true) {
    std::shared_ptr<Instance> instance;
    {
      const std::lock_guard lock(mutex_);
      instance = instance_;
    }
    if (!instance || stopped_)
      return MakeError(Code::kCancelled, name() + ": stopped before it was activated");
    const bool synced = instance->WaitSynced(cancel);
    if (cancel->cancelled() || stopped_)
      return MakeError(Code::kCancelled, name() + ": stopped before its caches were synced");
    const std::unique_lock life = LockLife();
    if (active() || stopped_) return Ok();
    // Another build may have taken the place of this one meanwhile: then that one is to be
    // activated.
    if (!synced || instance != Current()) continue;
    return ActivateSynced(instance, cancel);
  }
}

std::shared_ptr<Instance> Controller::Current() const {
  const std::lock_guard lock(mutex_);
  return instance_;
}

Result<Services> Controller::ServicesFor(const ControllerDeclaration& d) {
  Services out;
  const bool known = services_.client != nullptr;
  const bool same_client = known && d.client_name == declaration_->client_name &&
                           d.root_identity == declaration_->root_identity &&
                           d.qps_factor == declaration_->qps_factor &&
                           d.burst_factor == declaration_->burst_factor;
  if (same_client) {
    out.client = services_.client;  // with what is left of its burst
  } else {
    auto made = environment_->make_client(d);
    if (!made.ok()) return made.error();
    out.client = *std::move(made);
  }
  if (!environment_->make_recorder || d.event_source.empty()) return out;
  out.recorder =
      same_client && d.event_source == declaration_->event_source
          ? services_.recorder
          : std::shared_ptr<event::EventRecorder>(environment_->make_recorder(d, out.client));
  return out;
}

Status Controller::ActivateSynced(const std::shared_ptr<Instance>& instance,
                                  client::Cancellation* cancel) {
  shared_.log.Info(2, "Caches are synced");
  Result<Services> made = OrNoThread([&] { return ServicesFor(*declaration_); });
  if (!made.ok()) return made.error();
  instance->UseServices(*made);
  const EndsWith ends(cancel, instance);
  if (Status s = StartInstance(instance); !s.ok()) return s;
  services_ = *std::move(made);
  active_.store(true, std::memory_order_release);
  return Ok();
}

void Controller::StartThreads(const std::shared_ptr<Instance>& instance) {
  {
    const std::lock_guard lock(task_mutex_);
    tasks_end_ = tasks_held_ = false;
  }
  const ControllerDeclaration& d = instance->declaration();
  for (uint32_t q = 0; q < d.queues.size(); ++q) {
    queue::WorkQueue* queue = shared_.queues[q].get();
    const int workers = Workers(d.queues[q]);
    if (workers <= 0)
      shared_.log.Info(0, "Warning: queue has no workers, nothing of it is reconciled",
                       {{"queue", d.queues[q].name},
                        {"flag", "--" + d.queues[q].workers_flag + "=" + std::to_string(workers)}});
    for (int i = 0; i < workers; ++i)
      threads_.push_back(
          clock::StartBusyThread(*environment_->clock, "a worker of " + d.name,
                                 [this, instance, q, queue] { Work(*instance, q, *queue); }));
  }
  for (uint32_t t = 0; t < d.tasks.size(); ++t)
    threads_.push_back(clock::StartBusyThread(
        *environment_->clock, "a task of " + d.name,
        [this, instance, t, period = Period(d.tasks[t]), first = d.tasks[t].first_after] {
          RunTasks(*instance, t, period, first);
        }));
}

void Controller::JoinThreads() {
  for (auto& q : shared_.queues) q->Interrupt();
  {
    const std::lock_guard lock(task_mutex_);
    tasks_end_ = true;
    task_cv_.notify_all();
  }
  if (!threads_.empty()) {
    const clock::BusyPause pause(*environment_->clock);
    for (std::thread& t : threads_) t.join();
  }
  threads_.clear();
  for (auto& q : shared_.queues) q->Uninterrupt();
}

void Controller::Work(Instance& instance, uint32_t number, queue::WorkQueue& queue) {
  while (std::optional<std::string> key = queue.Get()) {
    if (!instance.MayRun(*key)) {
      queue.AddAfter(*key, kLedgerRecheck);
      queue.Done(*key);
      continue;
    }
    Error error;
    const kcm_outcome outcome = instance.Reconcile(number, *key, queue.NumRequeues(*key), &error);
    Settle(instance, number, queue, *key, outcome, error);
    queue.Done(*key);
    if (shared_.ledger.size() > kTrimAt) shared_.ledger.Trim(instance);
  }
}

void Controller::Settle(Instance& instance, uint32_t number, queue::WorkQueue& queue,
                        const std::string& key, const kcm_outcome& outcome, const Error& error) {
  const QueueDeclaration& declaration = instance.declaration().queues[number];
  // A run that was cut short is no failure: its key is simply due again.
  const bool failed = outcome.kind >= KCM_OUTCOME_RETRY;
  if (failed && (error.code == Code::kCancelled || instance.state() != State::kActive ||
                 instance.cancel().cancelled())) {
    queue.Add(key);
    return;
  }
  runs_.fetch_add(1, std::memory_order_relaxed);
  if (!failed) shared_.errors.Ended(declaration.name, key);
  switch (outcome.kind) {
    case KCM_OUTCOME_DONE:
      queue.Forget(key);
      return;
    case KCM_OUTCOME_AFTER:
      queue.Forget(key);
      queue.AddAfter(key, clock::Duration(outcome.delay_ns));
      return;
    case KCM_OUTCOME_RETRY:
      retries_.fetch_add(1, std::memory_order_relaxed);
      break;
    default:
      errors_.fetch_add(1, std::memory_order_relaxed);
      break;
  }
  const int failures = queue.NumRequeues(key);
  if (declaration.max_retries >= 0 && failures >= declaration.max_retries) {
    shared_.errors.Ended(declaration.name, key);
    shared_.log.Error(error.message, "Error syncing, dropping key out of the queue",
                      {{"key", key}});
    queue.Forget(key);
    return;
  }
  shared_.errors.Failed(declaration.name, key, error.message);
  if (outcome.kind == KCM_OUTCOME_RETRY && IsOnlyAWait(error, failures)) {
    shared_.log.Info(2, "Sync came too early, requeuing",
                     {{"key", key}, {"reason", error.message}});
  } else {
    shared_.log.Error(error.message, "Error syncing, requeuing", {{"key", key}});
  }
  queue.AddRateLimited(key);
}

void Controller::RunTasks(Instance& instance, uint32_t task, clock::Duration period,
                          clock::Duration first) {
  const std::string& name = instance.declaration().tasks[task].name;
  clock::MonoTime next = environment_->clock->Monotonic() + first;
  while (true) {
    {
      std::unique_lock lock(task_mutex_);
      if (environment_->clock->Wait(lock, task_cv_, next, [this] { return tasks_end_; })) return;
      environment_->clock->Wait(lock, task_cv_, clock::MonoTime::Max(),
                                [this] { return tasks_end_ || !tasks_held_; });
      if (tasks_end_) return;
      running_tasks_.insert(name);
    }
    const Status s = instance.RunTask(task);
    bool cut_short = false;
    {
      const std::lock_guard lock(task_mutex_);
      running_tasks_.erase(running_tasks_.find(name));
      cut_short = tasks_held_ || tasks_end_;  // asked to end: due again when work goes on
      task_cv_.notify_all();
    }
    if (!s.ok() && !cut_short && !instance.cancel().cancelled())
      shared_.log.Error(s.error().message, "Periodic task failed", {{"task", name}});
    next = environment_->clock->Monotonic() + (cut_short ? clock::Duration(0) : period);
  }
}

void Controller::Stop() { (void)End(); }

Services Controller::End() {
  stopped_ = true;
  // Ends the waits of an activation that is under way, then waits for it.
  if (const std::shared_ptr<Instance> present = Current()) present->CancelAll();
  const std::unique_lock life = LockLife();
  std::shared_ptr<Instance> instance;
  {
    const std::lock_guard lock(mutex_);
    instance = instance_;  // stays in sight until it has ended
  }
  active_.store(false, std::memory_order_release);
  for (auto& q : shared_.queues) q->Resume();
  if (instance) instance->CancelAll();
  JoinThreads();
  if (instance) instance->Stop();
  for (auto& q : shared_.queues) q->ShutDown();
  {
    const std::lock_guard lock(mutex_);
    instance_.reset();
  }
  instance.reset();
  return std::exchange(services_, {});
}

Status Controller::Health() const {
  std::shared_ptr<Instance> instance;
  {
    const std::lock_guard lock(mutex_);
    instance = instance_;
  }
  return instance && active() ? instance->Health() : Ok();
}

RunCounts Controller::counts() const {
  return {runs_.load(std::memory_order_relaxed), retries_.load(std::memory_order_relaxed),
          errors_.load(std::memory_order_relaxed)};
}

void Controller::ResetCounts() {
  runs_ = 0;
  retries_ = 0;
  errors_ = 0;
}

std::string Controller::Unsynced() const {
  const std::shared_ptr<Instance> instance = Current();
  return instance ? instance->Unsynced() : std::string();
}

bool Controller::CachesAtLeast(const std::function<uint64_t(const std::string&)>& at_least) const {
  std::shared_ptr<Instance> instance;
  {
    const std::lock_guard lock(mutex_);
    instance = instance_;
  }
  return instance && instance->CachesAtLeast(at_least);
}

std::vector<Controller::QueueReport> Controller::Queues(size_t keys) const {
  const std::lock_guard lock(mutex_);
  std::vector<QueueReport> out;
  for (size_t i = 0; i < shared_.queues.size() && i < declaration_->queues.size(); ++i) {
    const queue::WorkQueue& q = *shared_.queues[i];
    const QueueDeclaration& d = declaration_->queues[i];
    out.push_back({d.name, q.Length(), q.Waiting(), q.Processing(), q.Keys(keys),
                   std::max(0, Workers(d)), d.workers_flag});
  }
  return out;
}

}  // namespace kcm::host::plugin
