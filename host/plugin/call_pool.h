// SPDX-License-Identifier: Apache-2.0
// Threads of one instance for submitted calls and for timers. They enter the plugin, so they belong
// to one generation and are joined before its image is unmapped. Made when first needed.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "host/plugin/instance.h"

namespace kcm::host::plugin {

// Runs jobs in order of arrival on up to `limit` threads. Thread-safe.
struct Instance::CallPool {
  CallPool(clock::Clock& c, int l) : clock(c), limit(static_cast<size_t>(l)) {}
  ~CallPool() { Finish(); }
  // Errors: kStopped; kUnavailable when there is no thread for it.
  Status Add(std::function<void()> job);
  // No more jobs; runs those that wait (they end at once when the instance is cancelled); joins.
  void Finish();

 private:
  void Run();
  struct Job {
    std::function<void()> run;
    clock::BusyToken busy;
  };
  clock::Clock& clock;
  const size_t limit;
  std::mutex mutex;
  std::condition_variable cv;
  std::deque<Job> jobs;              // guarded by mutex
  std::vector<std::thread> threads;  // guarded by mutex until Finish joins
  size_t idle = 0;                   // guarded by mutex
  bool finished = false;             // guarded by mutex
};

// Timers of one instance: the clock says when, an own thread calls the plugin. Made held: what is
// armed inside create() may point to what a failing create takes down again. Thread-safe.
struct Instance::TimerThread {
  explicit TimerThread(Instance& i) : instance(i) {}
  ~TimerThread() { Finish(); }
  uint64_t Add(clock::Duration delay, void (*fire)(void*), void* data);
  bool Cancel(uint64_t id);
  // While held nothing fires; what is due meanwhile does so afterwards.
  void Hold();
  void Release();
  // False: a callback has not returned by `deadline`.
  bool WaitQuiet(clock::MonoTime deadline);
  // Since when a callback is in the plugin; the default value: none is.
  clock::MonoTime FiringSince();
  // Drops every timer; joins.
  void Finish();

 private:
  struct Timer {
    clock::TimerId clock_timer = 0;
    void (*fire)(void*) = nullptr;
    void* data = nullptr;
  };
  void Run();
  void OnDue(uint64_t id);
  Instance& instance;
  std::mutex mutex;
  std::condition_variable cv;
  std::map<uint64_t, Timer> timers;  // guarded by mutex
  // Due timers. They hold virtual time through their thread, which counts while its condition
  // holds: a token would stop time for ever when the callback before them waits on the clock.
  std::deque<uint64_t> due;      // guarded by mutex
  bool held = true;              // guarded by mutex
  uint64_t next = 1;             // guarded by mutex
  uint64_t firing = 0;           // id whose callback runs, guarded by mutex
  clock::MonoTime firing_since;  // guarded by mutex
  std::thread thread;            // started under mutex
  std::thread::id thread_id;     // guarded by mutex
  bool finished = false;         // guarded by mutex
};

}  // namespace kcm::host::plugin
