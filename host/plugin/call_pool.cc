// SPDX-License-Identifier: Apache-2.0
// The threads of an instance.
#include "host/plugin/call_pool.h"

#include "host/clock/thread.h"
#include "host/plugin/entry.h"

namespace kcm::host::plugin {

// ---- submitted calls ----

Status Instance::CallPool::Add(std::function<void()> job) {
  const std::lock_guard lock(mutex);
  if (finished) return MakeError(Code::kStopped, "stopped");
  jobs.push_back({std::move(job), clock::BusyToken(clock)});
  if (idle < jobs.size() && threads.size() < limit) {
    try {
      threads.push_back(clock::StartBusyThread(clock, "submitted calls", [this] { Run(); }));
    } catch (const clock::ThreadError& e) {
      if (threads.empty()) {
        jobs.pop_back();
        return MakeError(Code::kUnavailable, e.what());
      }
      // The threads that are there do it later.
    }
  }
  cv.notify_one();
  return Ok();
}

void Instance::CallPool::Run() {
  std::unique_lock lock(mutex);
  while (true) {
    ++idle;
    clock.Wait(lock, cv, clock::MonoTime::Max(), [this] { return finished || !jobs.empty(); });
    --idle;
    if (jobs.empty()) return;
    Job job = std::move(jobs.front());
    jobs.pop_front();
    lock.unlock();
    job.busy.Reset();
    job.run();
    lock.lock();
  }
}

void Instance::CallPool::Finish() {
  std::vector<std::thread> all;
  {
    const std::lock_guard lock(mutex);
    finished = true;
    all.swap(threads);
    cv.notify_all();
  }
  if (all.empty()) return;
  const clock::BusyPause pause(clock);
  for (std::thread& t : all) t.join();
}

// ---- timers ----

uint64_t Instance::TimerThread::Add(clock::Duration delay, void (*fire)(void*), void* data) {
  const std::lock_guard lock(mutex);
  if (finished) return 0;
  // Here and not when it is due: then nobody could be told that there is none.
  if (!thread.joinable()) {
    try {
      thread = clock::StartBusyThread(
          *instance.env().clock, "timers of " + instance.declaration().name, [this] { Run(); });
    } catch (const clock::ThreadError& e) {
      instance.shared().log.Error(e.what(), "A timer of the plugin can not be set");
      return 0;
    }
    thread_id = thread.get_id();
  }
  const uint64_t id = next++;
  // After never runs the callback inside itself, so the entry is complete before OnDue looks for
  // it.
  timers[id] = {instance.env().clock->After(delay, [this, id] { OnDue(id); }), fire, data};
  return id;
}

void Instance::TimerThread::OnDue(uint64_t id) {
  const std::lock_guard lock(mutex);
  if (finished || !timers.contains(id)) return;
  due.push_back(id);
  cv.notify_all();
}

void Instance::TimerThread::Run() {
  std::unique_lock lock(mutex);
  while (true) {
    instance.env().clock->Wait(lock, cv, clock::MonoTime::Max(),
                               [this] { return finished || (!held && !due.empty()); });
    if (finished) return;
    const uint64_t now = due.front();
    due.pop_front();
    const auto it = timers.find(now);
    if (it == timers.end()) continue;  // cancelled after it was due
    const Timer timer = it->second;
    timers.erase(it);
    firing = now;
    firing_since = instance.env().clock->Monotonic();
    lock.unlock();
    {
      const Entry entry(instance.shared().plugin_name, instance.image().build(),
                        instance.declaration().name, Role::kTimer);
      timer.fire(timer.data);
    }
    lock.lock();
    firing = 0;
    cv.notify_all();
  }
}

bool Instance::TimerThread::Cancel(uint64_t id) {
  std::unique_lock lock(mutex);
  const auto it = timers.find(id);
  if (it != timers.end()) {
    const clock::TimerId clock_timer = it->second.clock_timer;
    timers.erase(it);
    lock.unlock();
    instance.env().clock->Cancel(clock_timer);
    return true;
  }
  // Running now: wait for its end, unless it is the one that asks.
  if (firing == id && std::this_thread::get_id() != thread_id)
    instance.env().clock->Wait(lock, cv, clock::MonoTime::Max(),
                               [this, id] { return firing != id; });
  return false;
}

void Instance::TimerThread::Hold() {
  const std::lock_guard lock(mutex);
  held = true;
}

void Instance::TimerThread::Release() {
  const std::lock_guard lock(mutex);
  held = false;
  cv.notify_all();
}

bool Instance::TimerThread::WaitQuiet(clock::MonoTime deadline) {
  std::unique_lock lock(mutex);
  return instance.env().clock->Wait(lock, cv, deadline, [this] { return firing == 0; });
}

clock::MonoTime Instance::TimerThread::FiringSince() {
  const std::lock_guard lock(mutex);
  return firing == 0 ? clock::MonoTime() : firing_since;
}

void Instance::TimerThread::Finish() {
  std::map<uint64_t, Timer> rest;
  {
    const std::lock_guard lock(mutex);
    finished = true;
    rest.swap(timers);
    due.clear();
    cv.notify_all();
  }
  for (const auto& [id, timer] : rest) instance.env().clock->Cancel(timer.clock_timer);
  if (thread.joinable()) {
    const clock::BusyPause pause(*instance.env().clock);
    thread.join();
  }
}

}  // namespace kcm::host::plugin
