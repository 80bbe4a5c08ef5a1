// SPDX-License-Identifier: Apache-2.0
// Claims of plugins and the threads that work for one plugin each.
#include <algorithm>
#include <cstdio>

#include "host/plugin/manager.h"
#include "kcm/rules/time.h"

namespace kcm::host::plugin {

Manager::Claim Manager::Take(Plugin& plugin, const char* what) {
  plugin.operation = {what, environment_.clock->Monotonic(), environment_.clock->Now()};
  return {this, &plugin};
}

std::string Manager::UnderWay(const Plugin& plugin) const {
  const Operation& o = *plugin.operation;
  std::string waits;
  const auto ask = [&](const std::shared_ptr<Controller>& c) {
    if (!c || !waits.empty()) return;
    const std::optional<Controller::Waiting> w = c->WaitsFor();
    if (!w) return;
    const clock::Duration passed = environment_.clock->Monotonic() - w->open.since;
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.1f s",
                  std::chrono::duration<double>(passed).count());
    waits = " has been waiting for " + c->name() + " (build " + w->build + ") in " + w->open.call +
            " since " + rules::FormatTime(environment_.clock->Now() - passed) + ", " + seconds;
  };
  ask(plugin.preparing);
  for (const auto& [name, controller] : plugin.controllers) ask(controller);
  return std::string("a ") + o.what + " of plugin " + plugin.name +
         (waits.empty() ? " is under way since " + rules::FormatTime(o.at) : waits) +
         ": try again when it is over";
}

Result<Manager::Claim> Manager::Want(const std::string& name, const char* what) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return MakeError(Code::kStopped, "the host is stopping");
  const auto it = plugins_.find(name);
  if (it == plugins_.end())
    return MakeError(Code::kNotFound, "no plugin " + name + " is loaded: see kcmctl plugins list");
  if (it->second->operation) return MakeError(Code::kConflict, UnderWay(*it->second));
  return Take(*it->second, what);
}

std::optional<Manager::Claim> Manager::WaitFor(const std::string& name, const char* what) {
  std::unique_lock lock(mutex_);
  const auto find = [&]() -> Plugin* {
    const auto it = plugins_.find(name);
    return it == plugins_.end() ? nullptr : it->second.get();
  };
  environment_.clock->Wait(lock, work_cv_, clock::MonoTime::Max(), [&] {
    const Plugin* p = find();
    return stopped_ || p == nullptr || !p->operation;
  });
  Plugin* const p = find();
  if (stopped_ || p == nullptr) return std::nullopt;
  return Take(*p, what);
}

void Manager::Release(Plugin* plugin) {
  {
    const std::lock_guard lock(mutex_);
    plugin->operation.reset();
    work_cv_.notify_all();
  }
  CountHung();
}

std::shared_ptr<Manager::Work> Manager::StartWork(std::function<void()> run) {
  auto work = std::make_shared<Work>();
  work->thread = clock::StartBusyThread(*environment_.clock, "an operation on a plugin",
                                        [this, work, run = std::move(run)]() mutable {
                                          run();
                                          run = nullptr;  // gives back what it holds
                                          const std::lock_guard lock(mutex_);
                                          work->ended = true;
                                          work_cv_.notify_all();
                                        });
  works_.push_back(work);
  return work;
}

void Manager::JoinEnded() {
  std::erase_if(works_, [](const std::shared_ptr<Work>& w) {
    if (!w->ended) return false;
    w->thread.join();  // needs nothing any more
    return true;
  });
}

std::shared_ptr<Manager::Work> Manager::Begin(Claim claim, std::function<void(Claim&)> operation) {
  std::function<void()> run = [held = std::make_shared<Claim>(std::move(claim)),
                               operation = std::move(operation)] { operation(*held); };
  try {
    const std::lock_guard lock(mutex_);
    JoinEnded();
    return StartWork(run);
  } catch (const clock::ThreadError&) {
    // On this thread then: whatever it begins answers for itself.
  }
  run();
  auto over = std::make_shared<Work>();
  over->ended = true;
  return over;
}

void Manager::Await(const Works& works) {
  std::unique_lock lock(mutex_);
  environment_.clock->Wait(lock, work_cv_, clock::MonoTime::Max(), [&] {
    return std::all_of(works.begin(), works.end(), [](const auto& w) { return w->ended; });
  });
  JoinEnded();
}

void Manager::AwaitOperations(clock::MonoTime deadline,
                              const std::function<void(std::vector<std::string>)>& stuck) {
  std::unique_lock lock(mutex_);
  const auto idle = [this] {
    return std::none_of(plugins_.begin(), plugins_.end(),
                        [](const auto& p) { return p.second->operation.has_value(); });
  };
  if (!environment_.clock->Wait(lock, work_cv_, deadline, idle)) {
    std::vector<std::string> names;
    for (const auto& [name, plugin] : plugins_)
      if (plugin->operation)
        for (const auto& [controller, ignored] : plugin->controllers) names.push_back(controller);
    lock.unlock();
    stuck(std::move(names));
    lock.lock();
    environment_.clock->Wait(lock, work_cv_, clock::MonoTime::Max(), idle);
  }
  Works all;
  all.swap(works_);
  lock.unlock();
  for (const auto& w : all) w->thread.join();
}

void Manager::CountHung() {
  std::map<std::string, int> hung;
  for (const Lingering& l : retired_.Late()) ++hung[l.plugin];
  if (!hung.empty()) WakeMaintainer();  // it sees them return
  const std::lock_guard lock(mutex_);
  for (const auto& [name, n] : hung_counts_)
    if (!hung.contains(name)) hung_.With({name}).Set(0);
  for (const auto& [name, n] : hung) hung_.With({name}).Set(n);
  hung_counts_.swap(hung);
}

}  // namespace kcm::host::plugin
