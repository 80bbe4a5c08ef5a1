// SPDX-License-Identifier: Apache-2.0
// Queue, workers and timer heap of the simulated nodes.
#include "devcluster/nodes/work_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace kcm::devcluster::nodes {
namespace {

using host::clock::BusyScope;
using host::clock::BusyToken;
using host::clock::Clock;
using host::clock::Duration;
using host::clock::MonoTime;

constexpr int kTries = 3;
constexpr Duration kPauseOfCall = std::chrono::milliseconds(200);

struct Task {
  WorkPool::Work work;
  BusyToken busy;
};

struct Timed {
  MonoTime due;
  uint64_t sequence = 0;  // first in, first out among equal times
  WorkPool::Work work;
  WorkPool::Lane lane = WorkPool::Lane::kNormal;
  // As a heap with the earliest on top.
  friend bool operator<(const Timed& x, const Timed& y) {
    return x.due != y.due ? x.due > y.due : x.sequence > y.sequence;
  }
};

// A write to a connection that the server closed must be an error of that write, not the end of the
// process.
void BlockBrokenPipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

struct WorkPool::Impl {
  Clock& clock;
  std::shared_ptr<ApiServer> server;
  const int count;

  std::mutex mu;
  std::condition_variable cv;
  bool stopping = false;       // all below guarded by mu
  std::deque<Task> queues[2];  // by Lane
  std::vector<Timed> timers;   // heap
  uint64_t next_sequence = 0;
  host::clock::TimerId armed = 0;  // the clock's timer for the top of the heap
  MonoTime armed_for = MonoTime::Max();
  std::vector<std::unique_ptr<ApiConnection>> connections;
  std::vector<std::thread> threads;

  Impl(Clock& c, std::shared_ptr<ApiServer> s, int n) : clock(c), server(std::move(s)), count(n) {}

  bool Ready() const { return stopping || !queues[0].empty() || !queues[1].empty(); }
  void Run(ApiConnection& connection);
  bool Pause();
  host::clock::TimerId ArmLocked();
  void Fire();
};

namespace {
class CallingWorker : public WorkPool::Worker {
 public:
  CallingWorker(ApiConnection& connection, std::function<bool()> pause)
      : connection_(connection), pause_(std::move(pause)) {}
  Answer Call(const std::string& method, const std::string& path, const std::string& body,
              const char* content_type) override {
    Answer answer = connection_.Call(method, path, body, content_type);
    for (int i = 1; i < kTries && answer.Passing() && pause_(); ++i) {
      answer = connection_.Call(method, path, body, content_type);
    }
    return answer;
  }

 private:
  ApiConnection& connection_;
  std::function<bool()> pause_;
};
}  // namespace

// Waits before another try; false when the pool stops.
bool WorkPool::Impl::Pause() {
  std::unique_lock lock(mu);
  return !clock.WaitFor(lock, cv, kPauseOfCall, [this] { return stopping; });
}

void WorkPool::Impl::Run(ApiConnection& connection) {
  BlockBrokenPipe();
  CallingWorker worker(connection, [this] { return Pause(); });
  std::unique_lock lock(mu);
  while (true) {
    clock.Wait(lock, cv, MonoTime::Max(), [this] { return Ready(); });
    if (stopping) return;
    std::deque<Task>& queue = queues[1].empty() ? queues[0] : queues[1];
    Task task = std::move(queue.front());
    queue.pop_front();
    const BusyScope busy(clock);
    task.busy.Reset();
    lock.unlock();
    task.work(worker);
    task.work = nullptr;  // what it holds is freed outside the lock
    lock.lock();
  }
}

// One timer of the clock for the earliest entry: the clock sees one timer, however many pods wait.
// Returns the timer that is no longer needed: to be cancelled without `mu`, because Cancel waits
// for a Fire that waits for `mu`.
host::clock::TimerId WorkPool::Impl::ArmLocked() {
  if (timers.empty() || stopping) return 0;
  const MonoTime due = timers.front().due;
  if (armed != 0 && armed_for <= due) return 0;
  armed_for = due;
  return std::exchange(armed, clock.After(due - clock.Monotonic(), [this] { Fire(); }));
}

void WorkPool::Impl::Fire() {
  const std::lock_guard lock(mu);
  armed = 0;
  armed_for = MonoTime::Max();
  const MonoTime now = clock.Monotonic();
  bool any = false;
  while (!stopping && !timers.empty() && timers.front().due <= now) {
    std::pop_heap(timers.begin(), timers.end());
    Timed t = std::move(timers.back());
    timers.pop_back();
    queues[static_cast<size_t>(t.lane)].push_back({std::move(t.work), BusyToken(clock)});
    any = true;
  }
  ArmLocked();  // nothing to cancel: this timer was the only one
  if (any) cv.notify_all();
}

WorkPool::WorkPool(Clock& clock, std::shared_ptr<ApiServer> server, int workers)
    : impl_(std::make_unique<Impl>(clock, std::move(server), workers)) {}

WorkPool::~WorkPool() { Stop(); }

void WorkPool::Start() {
  const std::lock_guard lock(impl_->mu);
  for (int i = 0; i < impl_->count; ++i) {
    impl_->connections.push_back(std::make_unique<ApiConnection>(impl_->server));
    // Its own pointer: the list of connections still grows while the thread runs.
    impl_->threads.emplace_back([impl = impl_.get(), connection = impl_->connections.back().get()] {
      impl->Run(*connection);
    });
  }
}

void WorkPool::Stop() {
  std::vector<std::thread> threads;
  host::clock::TimerId timer = 0;
  {
    const std::lock_guard lock(impl_->mu);
    impl_->stopping = true;
    timer = std::exchange(impl_->armed, 0);
    threads.swap(impl_->threads);
    for (auto& c : impl_->connections) c->Abort();
    impl_->cv.notify_all();
  }
  if (timer != 0) impl_->clock.Cancel(timer);
  for (std::thread& t : threads) t.join();
  const std::lock_guard lock(impl_->mu);
  for (auto& queue : impl_->queues) queue.clear();  // their busy marks end
  impl_->timers.clear();
}

void WorkPool::Submit(Work work, Lane lane) {
  {
    const std::lock_guard lock(impl_->mu);
    if (impl_->stopping) return;
    impl_->queues[static_cast<size_t>(lane)].push_back({std::move(work), BusyToken(impl_->clock)});
  }
  impl_->cv.notify_one();
}

void WorkPool::SubmitAfter(Duration delay, Work work, Lane lane) {
  if (delay <= Duration::zero()) return Submit(std::move(work), lane);
  host::clock::TimerId replaced = 0;
  {
    const std::lock_guard lock(impl_->mu);
    if (impl_->stopping) return;
    impl_->timers.push_back(
        {impl_->clock.Monotonic() + delay, impl_->next_sequence++, std::move(work), lane});
    std::push_heap(impl_->timers.begin(), impl_->timers.end());
    replaced = impl_->ArmLocked();
  }
  if (replaced != 0) impl_->clock.Cancel(replaced);
}

}  // namespace kcm::devcluster::nodes
