// SPDX-License-Identifier: Apache-2.0
// Hot swap of one controller (design 9): the new build is prepared completely while the old one
// works; then queues pause, running reconciles end, both see the same events, the old one is
// stopped for good and the new one starts. Nothing before the old one's stop is irreversible; after
// it, a new build that fails to start is replaced by a new instance of the old build.
#include "host/plugin/controller.h"

namespace kcm::host::plugin {
namespace {

constexpr auto kCatchUpLimit = std::chrono::seconds(10);
// Caches that only the new build needs are filled while the old one works; a resource that never
// syncs must not block other swaps.
constexpr auto kSyncLimit = std::chrono::minutes(1);
constexpr auto kSyncStep = std::chrono::seconds(1);  // how often a hang is looked for meanwhile

}  // namespace

bool Controller::WaitQueuesIdle(clock::MonoTime deadline) {
  bool idle = true;
  for (auto& q : shared_.queues)
    idle = q->WaitIdle(deadline - environment_->clock->Monotonic()) && idle;
  return idle;
}

// The task that still runs at `deadline`, "" when none does.
std::string Controller::WaitTasks(clock::MonoTime deadline) {
  std::unique_lock lock(task_mutex_);
  return environment_->clock->Wait(lock, task_cv_, deadline,
                                   [this] { return running_tasks_.empty(); })
             ? ""
             : "task " + *running_tasks_.begin();
}

void Controller::EndQuiet(Instance& old) {
  old.AllowScopes();
  old.ResumeEvents();
  old.ReleaseTimers();
  {
    const std::lock_guard lock(task_mutex_);
    tasks_held_ = false;
    task_cv_.notify_all();
  }
  for (auto& q : shared_.queues) q->Resume();
}

// Nothing of the old build runs any more and nothing begins; events stop at `sequences`. What does
// not end in time makes the swap fail: the old build goes on.
Status Controller::Quiesce(Instance& old, std::vector<uint64_t>* sequences) {
  const clock::MonoTime begin = environment_->clock->Monotonic();
  const clock::MonoTime end = begin + environment_->swap_timeout;
  // Parked, not paused: waiting keys must not hold virtual time back, the waits below are on the
  // clock.
  for (auto& q : shared_.queues) q->Park();
  {
    const std::lock_guard lock(task_mutex_);
    tasks_held_ = true;
  }
  old.HoldTimers();
  // Reconciles have two thirds of the time to come to their end; a task, which may take any time,
  // is asked to end as soon as only it holds the swap up.
  const bool idle = WaitQueuesIdle(begin + environment_->swap_timeout / 3 * 2);
  old.CancelScopes();
  std::string holder = idle || WaitQueuesIdle(end) ? "" : "a reconcile";
  const bool reconcile = !holder.empty();
  if (holder.empty()) holder = WaitTasks(end);
  if (holder.empty()) holder = old.WaitCallbacks(end);
  if (holder.empty()) holder = old.PauseEvents(end, sequences);
  if (holder.empty()) return Ok();
  EndQuiet(old);
  Error error =
      MakeError(Code::kTimeout, name() + ": " + holder +
                                    " of the running build does not end: the swap is given up" +
                                    (reconcile ? "; see its queues" : ""));
  error.reason = kSwapHeld;
  error.cause = std::move(holder);
  return error;
}

size_t Controller::ExchangeQueues(const ControllerDeclaration& to) {
  size_t kept = 0;
  std::vector<std::unique_ptr<queue::WorkQueue>> next;
  const std::lock_guard lock(mutex_);
  const std::lock_guard queues(shared_.queues_mutex);
  for (const QueueDeclaration& want : to.queues) {
    std::unique_ptr<queue::WorkQueue> found;
    for (size_t i = 0; i < declaration_->queues.size(); ++i) {
      const QueueDeclaration& have = declaration_->queues[i];
      if (shared_.queues[i] && have.name == want.name && have.key_version == want.key_version)
        found = std::move(shared_.queues[i]);
      if (found) break;
    }
    if (found) {
      found->SetLimit(LimitOf(want));  // keys and their failure counts stay, the delays are new
      kept += found->Length() + found->Waiting();
    }
    next.push_back(found ? std::move(found) : MakeQueue(want));
  }
  // Keys of queues that no longer exist are dropped: the new build derives its own from the caches.
  shared_.queues = std::move(next);
  return kept;
}

Status Controller::Ready(Instance& next, client::Cancellation* cancel) {
  const Status created = OrNoThread([&] {
    Status s = next.Create(cancel);
    if (s.ok()) environment_->informers->Start();
    return s;
  });
  if (!created.ok() || !active()) return created;
  const clock::MonoTime end = environment_->clock->Monotonic() + kSyncLimit;
  while (!next.WaitSynced(cancel, kSyncStep)) {
    if (cancel->cancelled() || next.state() == State::kStopped)
      return MakeError(Code::kCancelled,
                       name() + ": stopped before the new build's caches were synced");
    const clock::MonoTime now = environment_->clock->Monotonic();
    const std::optional<OpenCall> open = next.Open();
    if (open && now - open->since >= environment_->swap_timeout)
      return MakeError(Code::kInvalid, name() + ": " + open->call +
                                           " of the new build does not return: the plugin hangs");
    if (now < end) continue;
    return MakeError(Code::kTimeout,
                     name() + ": caches of the new build do not sync (" + next.Unsynced() +
                         "): does the server have these resources, does RBAC allow to list them?");
  }
  return next.Health();
}

Result<SwapReport> Controller::Swap(std::shared_ptr<Image> image,
                                    const ControllerDeclaration* declaration,
                                    client::Cancellation* cancel) {
  const std::unique_lock life = LockLife();
  if (stopped_) return MakeError(Code::kStopped, name() + " was stopped");
  const std::shared_ptr<Instance> old = Current();
  if (active() && (!old || old->state() == State::kStopped))
    return MakeError(Code::kInternal,
                     name() + ": not running since a swap failed: restart the host");
  Services services;
  if (active()) {
    Result<Services> made = OrNoThread([&] { return ServicesFor(*declaration); });
    if (!made.ok()) return made.error();
    services = *std::move(made);
  }
  const uint32_t generation = generation_.fetch_add(1, std::memory_order_relaxed) + 1;
  auto next = std::make_shared<Instance>(share_, image, declaration, generation);
  next->UseServices(services);
  SetNext(next);
  const EndsWith ends(cancel, next);
  Result<SwapReport> report = SwapReport();
  if (Status s = Ready(*next, cancel); !s.ok()) {
    report = s.error();
  } else if (active()) {
    report = HandOver(old, next, std::move(image), declaration, std::move(services), cancel);
  } else {
    // Standby: nothing runs yet.
    {
      const std::lock_guard lock(mutex_);
      instance_ = next;
    }
    if (old) (void)Retire(old);
    report->keys_kept = ExchangeQueues(*declaration);
    {
      const std::lock_guard lock(mutex_);
      declaration_ = declaration;
    }
    image_ = std::move(image);
  }
  SetNext(nullptr);
  if (Current() != next && next->state() != State::kStopped) (void)Retire(std::move(next));
  return report;
}

// From the pause of the queues to their resumption.
Result<SwapReport> Controller::HandOver(const std::shared_ptr<Instance>& old,
                                        const std::shared_ptr<Instance>& next,
                                        std::shared_ptr<Image> image,
                                        const ControllerDeclaration* declaration, Services services,
                                        client::Cancellation* cancel) {
  SwapReport report;
  const clock::MonoTime paused = environment_->clock->Monotonic();
  std::vector<uint64_t> sequences;
  if (Status s = Quiesce(*old, &sequences); !s.ok()) return s.error();
  if (!next->WaitDelivered(*old, sequences, kCatchUpLimit)) {
    EndQuiet(*old);
    return MakeError(Code::kTimeout,
                     name() + ": the new build does not keep up with events: the swap is given up");
  }
  // A state that does not come in time is one that nobody needs (it only saves work).
  bool late = false;
  const std::string state = old->SaveState(&late);
  if (late) report.given_up.push_back("save_state()");
  next->LoadState(state);
  // From here on there is no way back to the old instance, only to its build. Nothing of it runs,
  // and what of it does not end can not write any more: the hand-over goes on without it.
  old->CancelAll();
  JoinThreads();
  if (!Retire(old) && !late) {
    const std::optional<OpenCall> open = old->Open();
    report.given_up.push_back(open ? open->call : "stop()");
  }
  shared_.ledger.Seal();
  report.keys_kept = ExchangeQueues(*declaration);
  for (auto& q : shared_.queues) q->Park();  // new ones too
  {
    const std::lock_guard lock(mutex_);
    instance_ = next;
    std::swap(declaration_, declaration);
  }
  std::swap(image_, image);
  std::swap(services_, services);
  ResetCounts();
  if (Status s = StartInstance(next); !s.ok()) {
    JoinThreads();
    (void)Retire(next);
    Services refused = services_;
    const Status back = Return(image, declaration, std::move(services), cancel);
    if (refused.recorder != services_.recorder) Retire(std::move(refused));
    for (auto& q : shared_.queues) q->Resume();
    if (!back.ok())
      return MakeError(Code::kInternal, s.error().message +
                                            "; and the old build could not be started again: " +
                                            back.error().message);
    return s.error();
  }
  for (auto& q : shared_.queues) q->Resume();
  report.pause = environment_->clock->Monotonic() - paused;
  if (services.recorder != services_.recorder) Retire(std::move(services));
  return report;
}

Status Controller::Return(const std::shared_ptr<Image>& image,
                          const ControllerDeclaration* declaration, Services services,
                          client::Cancellation* cancel) {
  const uint32_t generation = generation_.fetch_add(1, std::memory_order_relaxed) + 1;
  auto again = std::make_shared<Instance>(share_, image, declaration, generation);
  again->UseServices(services);
  services_ = std::move(services);
  SetNext(again);
  const EndsWith ends(cancel, again);
  Status s = OrNoThread([&] { return again->Create(cancel); });
  if (s.ok() && !again->WaitSynced(cancel, kSyncLimit))
    s = cancel->cancelled() ? MakeError(Code::kCancelled, name() + ": stopped")
                            : MakeError(Code::kTimeout, name() + ": caches do not sync (" +
                                                            again->Unsynced() + ")");
  if (!s.ok()) {
    (void)Retire(std::move(again));
    return s;
  }
  (void)ExchangeQueues(*declaration);
  {
    const std::lock_guard lock(mutex_);
    instance_ = again;
    declaration_ = declaration;
  }
  image_ = image;
  return StartInstance(again);
}

}  // namespace kcm::host::plugin
