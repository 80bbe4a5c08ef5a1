// SPDX-License-Identifier: Apache-2.0
// Threads that end what is over.
#include "host/plugin/retired.h"

#include <algorithm>
#include <utility>

#include "host/clock/thread.h"

namespace kcm::host::plugin {
namespace {

std::string NameOf(const std::optional<OpenCall>& open) { return open ? open->call : "its end"; }

}  // namespace

bool Retired::End(Ending what, clock::Duration limit) {
  Reap();
  const clock::MonoTime now = clock_->Monotonic();
  auto work = std::make_shared<Work>();
  work->what = std::move(what);
  work->since = now;
  std::unique_lock lock(mutex_);
  if (hurrying_ && work->what.hurry) {
    lock.unlock();
    work->what.hurry();
    lock.lock();
  }
  works_.push_back(work);
  const std::function<void()> end = [this, work] {
    work->what.end();
    std::optional<Ending> rest;
    bool late = false;
    {
      const std::lock_guard inner(mutex_);
      // Reports look at it under the lock; what it owns is let go outside.
      rest = std::exchange(work->what, {});
      late = work->late;
    }
    const std::string plugin = rest->plugin, controller = rest->controller, build = rest->build;
    const bool of_plugin = rest->of_plugin;
    rest.reset();
    if (late && of_plugin)
      log_.Info(0, "Plugin has returned after all",
                {{"plugin", plugin}, {"controller", controller}, {"build", build}});
    const std::lock_guard inner(mutex_);
    work->done = true;
    some_ended_ = some_ended_ || late;
    cv_.notify_all();
  };
  try {
    work->thread = clock::StartBusyThread(*clock_, "the end of a build", end);
  } catch (const clock::ThreadError&) {
    lock.unlock();
    end();  // here, however long it takes
    lock.lock();
  }
  if (clock_->Wait(lock, cv_, now + limit, [&] { return work->done; })) {
    works_.remove(work);
    lock.unlock();
    if (work->thread.joinable()) work->thread.join();
    return true;
  }
  work->late = true;
  if (!work->what.of_plugin || !work->what.end) return false;
  const std::optional<OpenCall> open = work->what.open ? work->what.open() : std::nullopt;
  const std::string plugin = work->what.plugin, controller = work->what.controller,
                    build = work->what.build;
  lock.unlock();
  log_.Warning(
      "Plugin does not return, its thread and its mapping are kept",
      {{"plugin", plugin},
       {"controller", controller},
       {"build", build},
       {"call", NameOf(open)},
       {"seconds",
        std::chrono::duration<double>(clock_->Monotonic() - (open ? open->since : now)).count()}});
  return false;
}

std::vector<Lingering> Retired::Late() const {
  std::vector<Lingering> out;
  const std::lock_guard lock(mutex_);
  for (const auto& w : works_) {
    if (!w->late || w->done || !w->what.of_plugin || !w->what.end) continue;
    const std::optional<OpenCall> open = w->what.open ? w->what.open() : std::nullopt;
    out.push_back({w->what.plugin, w->what.controller, w->what.build, NameOf(open),
                   open ? open->since : w->since});
  }
  return out;
}

bool Retired::SomeEnded() {
  Reap();
  const std::lock_guard lock(mutex_);
  return std::exchange(some_ended_, false);
}

void Retired::Reap() {
  Works over;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = works_.begin(); it != works_.end();) {
      const auto at = it++;
      if ((*at)->late && (*at)->done) over.splice(over.end(), works_, at);
    }
  }
  for (const auto& w : over) w->thread.join();  // about to end
}

bool Retired::Wait(clock::MonoTime deadline) {
  std::vector<std::function<void()>> hurry;
  {
    const std::lock_guard lock(mutex_);
    hurrying_ = true;  // for what is still to come
    for (const auto& w : works_)
      if (w->what.hurry) hurry.push_back(w->what.hurry);
  }
  for (const auto& h : hurry) h();
  hurry.clear();
  std::unique_lock lock(mutex_);
  const bool all = clock_->Wait(lock, cv_, deadline, [this] {
    return std::all_of(works_.begin(), works_.end(), [](const auto& w) { return w->done; });
  });
  return all;
}

void Retired::Join() {
  (void)Wait(clock::MonoTime::Max());
  Reap();
}

}  // namespace kcm::host::plugin
