// SPDX-License-Identifier: Apache-2.0
// WorkQueue: one table of keys; a key is in line, delayed and in processing independently of each
// other.
#include "host/queue/workqueue.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <unordered_map>

#include "host/queue/queue_metrics.h"
#include "host/queue/rate_limiter.h"

namespace kcm::host::queue {
namespace {

using clock::Duration;
using clock::MonoTime;

}  // namespace

struct WorkQueue::Impl {
  struct Entry {
    bool dirty = false;  // will be handed out (again); in line unless it is being processed
    bool processing = false;
    bool delayed = false;
    int failures = 0;
    MonoTime added;    // valid while dirty
    MonoTime started;  // valid while processing
    MonoTime due;      // valid while delayed
  };

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };

  using Entries = std::unordered_map<std::string, Entry, Hash, std::equal_to<>>;
  using Slot = Entries::value_type;  // its address is stable

  explicit Impl(Options o)
      : options(std::move(o)),
        limit(options.limit),
        bucket(limit.bucket ? limit.bucket_qps : 0, limit.bucket_burst),
        metrics(options.metrics, options.name, [this] { return Running(); }) {}

  clock::Clock& Time() const { return *options.clock; }

  Slot& Find(std::string_view key) {
    const auto it = entries.find(key);
    return it != entries.end() ? *it : *entries.emplace(std::string(key), Entry()).first;
  }

  void DropIfUnused(Slot& slot) {
    const Entry& e = slot.second;
    if (!e.dirty && !e.processing && !e.delayed && e.failures == 0)
      entries.erase(entries.find(slot.first));
  }

  // Ready keys hold virtual time back, but not while keys are processed: then the workers
  // themselves count (each may wait on the clock, and no key is taken before one is through), and a
  // free worker inside Get is seen by the clock.
  void UpdateBusy() {
    const bool busy = !ready.empty() && !parked && running.empty();
    if (busy == counted) return;
    counted = busy;
    token = busy ? clock::BusyToken(Time()) : clock::BusyToken();
  }

  void MarkDirty(Slot& slot) {
    Entry& e = slot.second;
    if (shut_down || e.dirty) return;
    e.dirty = true;
    e.added = Time().Monotonic();
    metrics.Added();
    if (e.processing) return;  // Done puts it in line
    PutInLine(slot);
  }

  void PutInLine(Slot& slot) {
    ready.push_back(&slot);
    UpdateBusy();
    if (getters > 0) can_get.notify_one();
  }

  void Delay(Slot& slot, MonoTime due) {
    Entry& e = slot.second;
    if (e.delayed) {
      if (e.due <= due) return;
      delayed.erase({e.due, &slot});
    }
    e.delayed = true;
    e.due = due;
    delayed.emplace(due, &slot);
  }

  // Starts a timer for the earliest delayed key unless one fires early enough. Returns a timer that
  // the caller cancels after unlocking (Cancel waits for a callback that wants the lock).
  [[nodiscard]] clock::TimerId Arm(MonoTime now) {
    if (delayed.empty()) return 0;
    const MonoTime next = delayed.begin()->first;
    if (timer != 0 && timer_due <= next) return 0;
    const clock::TimerId old = timer;
    const uint64_t generation = ++timer_generation;
    timer_due = next;
    timer = Time().After(next - now, [this, generation] { OnTimer(generation); });
    return old;
  }

  void OnTimer(uint64_t generation) {
    std::lock_guard lock(mutex);
    if (generation == timer_generation) timer = 0;
    const MonoTime now = Time().Monotonic();
    while (!delayed.empty() && delayed.begin()->first <= now) {
      Slot& slot = *delayed.begin()->second;
      delayed.erase(delayed.begin());
      slot.second.delayed = false;
      MarkDirty(slot);
      DropIfUnused(slot);
    }
    const clock::TimerId old = Arm(now);
    (void)old;  // 0, or a timer that will find nothing to do: Cancel is not for here
  }

  void AddAfter(std::string_view key, Duration delay, std::unique_lock<std::mutex>& lock) {
    if (shut_down) return;
    metrics.Retried();
    Slot& slot = Find(key);
    if (delay <= Duration::zero()) {
      MarkDirty(slot);
      return;
    }
    const MonoTime now = Time().Monotonic();
    Delay(slot, now + delay);
    const clock::TimerId old = Arm(now);
    lock.unlock();
    if (old != 0) Time().Cancel(old);
  }

  bool CanGet() const {
    return interrupted || (!ready.empty() && !paused) || (shut_down && ready.empty());
  }

  // Drops the delays; keys that are also in line or in processing stay.
  void DropDelayed() {
    for (const auto& [due, slot] : delayed) slot->second.delayed = false;
    for (const auto& [due, slot] : delayed) DropIfUnused(*slot);
    delayed.clear();
  }

  QueueMetrics::Running Running() const {
    std::lock_guard lock(mutex);
    QueueMetrics::Running r;
    const MonoTime now = options.clock->Monotonic();
    for (const Slot* slot : running) {
      const Duration age = now - slot->second.started;
      r.total += age;
      r.longest = std::max(r.longest, age);
    }
    return r;
  }

  KeyState StateOf(const Slot& slot, MonoTime now) const {
    const Entry& e = slot.second;
    KeyState state{slot.first, "", Duration::zero(), e.failures};
    const auto say = [&](const char* word) {
      state.state += (state.state.empty() ? "" : "+") + std::string(word);
    };
    if (e.processing) say("processing");
    if (e.dirty) say("ready");
    if (e.delayed) {
      say("delayed");
      state.due_in = std::max(e.due - now, Duration::zero());
    }
    return state;
  }

  const Options options;
  mutable std::mutex mutex;
  std::condition_variable can_get;
  std::condition_variable idle;
  Entries entries;
  std::deque<Slot*> ready;                       // dirty and not in processing, first in line first
  std::set<std::pair<MonoTime, Slot*>> delayed;  // by due time
  std::set<Slot*> running;                       // in processing
  RateLimit limit;
  TokenBucket bucket;
  int getters = 0;
  bool paused = false;
  bool parked = false;
  bool interrupted = false;
  bool shut_down = false;
  bool counted = false;
  clock::BusyToken token;
  clock::TimerId timer = 0;
  MonoTime timer_due;
  uint64_t timer_generation = 0;
  QueueMetrics metrics;  // last: its collector looks at the members above
};

WorkQueue::WorkQueue(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}

WorkQueue::~WorkQueue() {
  clock::TimerId timer = 0;
  {
    std::lock_guard lock(impl_->mutex);
    impl_->shut_down = true;
    impl_->delayed.clear();
    timer = impl_->timer;
    size_t dirty = 0;
    for (const auto& [key, entry] : impl_->entries) dirty += entry.dirty ? 1 : 0;
    impl_->metrics.Dropped(dirty);
  }
  impl_->Time().Cancel(timer);
}

void WorkQueue::Add(std::string_view key) {
  std::lock_guard lock(impl_->mutex);
  if (impl_->shut_down) return;
  impl_->MarkDirty(impl_->Find(key));
}

void WorkQueue::AddAfter(std::string_view key, Duration delay) {
  std::unique_lock lock(impl_->mutex);
  impl_->AddAfter(key, delay, lock);
}

void WorkQueue::AddRateLimited(std::string_view key) {
  std::unique_lock lock(impl_->mutex);
  if (impl_->shut_down) return;
  const RateLimit& limit = impl_->limit;
  Impl::Entry& e = impl_->Find(key).second;
  Duration delay = ItemDelay(limit, e.failures);
  if (e.failures < INT32_MAX) ++e.failures;
  delay = std::max(delay, impl_->bucket.Reserve(impl_->Time().Monotonic()));
  impl_->AddAfter(key, std::min(delay, limit.max_wait), lock);
}

void WorkQueue::Forget(std::string_view key) {
  std::lock_guard lock(impl_->mutex);
  const auto it = impl_->entries.find(key);
  if (it == impl_->entries.end()) return;
  it->second.failures = 0;
  impl_->DropIfUnused(*it);
}

void WorkQueue::SetLimit(const RateLimit& limit) {
  std::lock_guard lock(impl_->mutex);
  impl_->limit = limit;
  impl_->bucket.SetRate(limit.bucket ? limit.bucket_qps : 0, limit.bucket_burst,
                        impl_->Time().Monotonic());
}

int WorkQueue::NumRequeues(std::string_view key) const {
  std::lock_guard lock(impl_->mutex);
  const auto it = impl_->entries.find(key);
  return it == impl_->entries.end() ? 0 : it->second.failures;
}

size_t WorkQueue::Length() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->ready.size();
}

size_t WorkQueue::Waiting() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->delayed.size();
}

size_t WorkQueue::Processing() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->running.size();
}

std::optional<std::string> WorkQueue::Get() {
  std::unique_lock lock(impl_->mutex);
  ++impl_->getters;
  impl_->Time().Wait(lock, impl_->can_get, MonoTime::Max(), [this] { return impl_->CanGet(); });
  --impl_->getters;
  if (impl_->interrupted || impl_->ready.empty()) return std::nullopt;
  Impl::Slot& slot = *impl_->ready.front();
  impl_->ready.pop_front();
  Impl::Entry& e = slot.second;
  e.dirty = false;
  e.processing = true;
  e.started = impl_->Time().Monotonic();
  impl_->running.insert(&slot);
  impl_->metrics.Taken(e.started - e.added);
  std::string key = slot.first;
  impl_->UpdateBusy();  // the thread's own BusyScope, if any, is back: no gap
  return key;
}

void WorkQueue::Done(std::string_view key) {
  std::lock_guard lock(impl_->mutex);
  const auto it = impl_->entries.find(key);
  if (it == impl_->entries.end() || !it->second.processing) return;
  Impl::Entry& e = it->second;
  e.processing = false;
  impl_->running.erase(&*it);
  impl_->metrics.Finished(impl_->Time().Monotonic() - e.started);
  if (e.dirty) {
    impl_->PutInLine(*it);
  } else {
    impl_->DropIfUnused(*it);
  }
  if (!impl_->running.empty()) return;
  impl_->UpdateBusy();
  impl_->idle.notify_all();
}

void WorkQueue::Pause() {
  std::lock_guard lock(impl_->mutex);
  if (!impl_->shut_down) impl_->paused = true;
  impl_->UpdateBusy();
}

void WorkQueue::Park() {
  std::lock_guard lock(impl_->mutex);
  if (!impl_->shut_down) impl_->paused = impl_->parked = true;
  impl_->UpdateBusy();
}

void WorkQueue::Resume() {
  std::lock_guard lock(impl_->mutex);
  impl_->paused = impl_->parked = false;
  impl_->UpdateBusy();
  impl_->can_get.notify_all();
}

bool WorkQueue::WaitIdle(Duration limit) {
  std::unique_lock lock(impl_->mutex);
  return impl_->Time().WaitFor(lock, impl_->idle, limit, [this] { return impl_->running.empty(); });
}

void WorkQueue::Interrupt() {
  std::lock_guard lock(impl_->mutex);
  impl_->interrupted = true;
  impl_->can_get.notify_all();
}

void WorkQueue::Uninterrupt() {
  std::lock_guard lock(impl_->mutex);
  impl_->interrupted = false;
}

void WorkQueue::ShutDown() {
  std::lock_guard lock(impl_->mutex);
  impl_->shut_down = true;
  impl_->paused = impl_->parked = false;
  impl_->DropDelayed();
  impl_->UpdateBusy();
  impl_->can_get.notify_all();
}

void WorkQueue::Clear() {
  std::lock_guard lock(impl_->mutex);
  impl_->DropDelayed();
  impl_->metrics.Dropped(impl_->ready.size());
  impl_->ready.clear();
  std::erase_if(impl_->entries, [](const Impl::Slot& slot) { return !slot.second.processing; });
  impl_->UpdateBusy();
}

std::vector<WorkQueue::KeyState> WorkQueue::Keys(size_t limit) const {
  std::lock_guard lock(impl_->mutex);
  const MonoTime now = impl_->Time().Monotonic();
  std::vector<KeyState> keys;
  const auto list = [&](const Impl::Slot& slot) {
    if (keys.size() < limit) keys.push_back(impl_->StateOf(slot, now));
  };
  for (const Impl::Slot* slot : impl_->running) list(*slot);
  for (const Impl::Slot* slot : impl_->ready) list(*slot);
  for (const auto& [due, slot] : impl_->delayed) {
    if (keys.size() >= limit) break;
    if (!slot->second.dirty && !slot->second.processing) list(*slot);
  }
  return keys;
}

}  // namespace kcm::host::queue
