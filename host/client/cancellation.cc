// SPDX-License-Identifier: Apache-2.0
// Cancellation: one flag and the aborts that hang on it.
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "host/client/client.h"
#include "host/client/pause.h"

namespace kcm::host::client {

struct Cancellation::Impl {
  std::mutex mutex;
  std::condition_variable done;
  std::map<int, std::function<void()>> aborts;  // guarded by mutex
  int next = 1;                                 // guarded by mutex
  int running = 0;         // id of the abort that runs now, 0: none. Guarded by mutex
  std::thread::id runner;  // guarded by mutex
};

Cancellation::Cancellation() : impl_(std::make_unique<Impl>()) {}
Cancellation::~Cancellation() = default;

void Cancellation::Cancel() {
  std::unique_lock<std::mutex> lock(impl_->mutex);
  if (flag_.exchange(true, std::memory_order_acq_rel)) return;
  impl_->runner = std::this_thread::get_id();
  // No lock is held over an abort: it may take locks of its own.
  while (!impl_->aborts.empty()) {
    auto node = impl_->aborts.extract(impl_->aborts.begin());
    impl_->running = node.key();
    lock.unlock();
    node.mapped()();
    node.mapped() = nullptr;
    lock.lock();
    impl_->running = 0;
    impl_->done.notify_all();
  }
  impl_->runner = std::thread::id();
}

int Cancellation::OnCancel(std::function<void()> abort) {
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    if (!flag_.load(std::memory_order_acquire)) {
      const int id = impl_->next++;
      impl_->aborts.emplace(id, std::move(abort));
      return id;
    }
  }
  abort();
  return 0;
}

void Cancellation::Remove(int id) {
  if (id == 0) return;
  std::unique_lock<std::mutex> lock(impl_->mutex);
  impl_->aborts.erase(id);
  if (impl_->runner == std::this_thread::get_id()) return;  // called from inside that very abort
  impl_->done.wait(lock, [&] { return impl_->running != id; });
}

bool Pause(clock::Clock* clock, clock::Duration d, Cancellation* cancel) {
  std::mutex mutex;
  std::condition_variable wake;
  bool cancelled = false;
  int id = 0;
  if (cancel != nullptr) {
    id = cancel->OnCancel([&] {
      std::lock_guard<std::mutex> lock(mutex);
      cancelled = true;
      wake.notify_all();
    });
  }
  {
    std::unique_lock<std::mutex> lock(mutex);
    clock->WaitFor(lock, wake, d, [&] { return cancelled; });
  }
  if (cancel != nullptr) cancel->Remove(id);
  return !cancelled;
}

}  // namespace kcm::host::client
