// SPDX-License-Identifier: Apache-2.0
// Keys that wait, run and pause.
#include "devcluster/nodes/keyed_work.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace kcm::devcluster::nodes {
namespace {

using host::clock::Duration;

constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::minutes(1);

struct Entry {
  bool queued = false, running = false, woken = false;
  int failures = 0;
};

Duration PauseAfter(int failures) {
  Duration pause = kFirstPause;
  for (int i = 1; i < failures && pause < kLongestPause; ++i) pause *= 2;
  return std::min(pause, kLongestPause);
}

}  // namespace

struct KeyedWork::Impl {
  WorkPool& pool;
  const Step step;
  const std::function<void(const std::string&)> log;
  std::mutex mu;
  std::unordered_map<std::string, Entry> entries;  // guarded by mu; keys with something to do

  Impl(WorkPool& p, Step s, std::function<void(const std::string&)> l)
      : pool(p), step(std::move(s)), log(std::move(l)) {}

  void Wake(const std::string& key) {
    {
      const std::lock_guard lock(mu);
      Entry& e = entries[key];
      if (e.running) {
        e.woken = true;
        return;
      }
      if (std::exchange(e.queued, true)) return;
    }
    pool.Submit([this, key](WorkPool::Worker& w) { Run(w, key); });
  }

  void Run(WorkPool::Worker& worker, const std::string& key) {
    {
      const std::lock_guard lock(mu);
      Entry& e = entries[key];
      e.queued = e.woken = false;
      e.running = true;
    }
    const Outcome outcome = step(worker, key);
    if (!outcome.error.empty() && log) log(outcome.error);
    Duration again = outcome.after;
    bool woken = false;
    {
      const std::lock_guard lock(mu);
      Entry& e = entries[key];
      e.running = false;
      e.failures = outcome.error.empty() ? 0 : e.failures + 1;
      if (!outcome.error.empty()) again = PauseAfter(e.failures);
      woken = e.woken;
      if (!woken && again <= Duration::zero()) entries.erase(key);
    }
    if (woken && outcome.error.empty()) return Wake(key);
    if (again > Duration::zero()) {
      pool.SubmitAfter(again, [this, key](WorkPool::Worker&) { Wake(key); });
    }
  }
};

KeyedWork::KeyedWork(WorkPool& pool, Step step, std::function<void(const std::string&)> log)
    : impl_(std::make_unique<Impl>(pool, std::move(step), std::move(log))) {}
KeyedWork::~KeyedWork() = default;
void KeyedWork::Wake(const std::string& key) { impl_->Wake(key); }

}  // namespace kcm::devcluster::nodes
