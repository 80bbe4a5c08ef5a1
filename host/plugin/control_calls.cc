// SPDX-License-Identifier: Apache-2.0
// One call at a time, and who waits how long for it.
#include "host/plugin/control_calls.h"

#include <utility>

#include "host/clock/thread.h"

namespace kcm::host::plugin {

ControlCalls::~ControlCalls() {
  for (std::thread& t : late_threads_) t.join();
}

ControlCalls::End ControlCalls::Run(const std::string& call, clock::Duration limit,
                                    std::function<void()> step, std::function<void()> after) {
  const clock::MonoTime deadline = clock_.Monotonic() + limit;
  auto mine = std::make_shared<Call>();
  std::vector<std::thread> ended;
  {
    std::unique_lock lock(mutex_);
    const bool free = clock_.Wait(lock, cv_, deadline, [this] {
      return finished_ || !call_ || call_->late;  // a late call may never return
    });
    if (finished_) return End::kEnded;
    if (!free || call_) return End::kBusy;
    ended.swap(late_threads_);  // no call is under way: theirs are over
    mine->open = {call, clock_.Monotonic()};
    call_ = mine;
  }
  for (std::thread& t : ended) t.join();
  std::thread thread;
  try {
    thread = clock::StartBusyThread(clock_, call,
                                    [this, mine, step = std::move(step), after = std::move(after)] {
                                      step();
                                      const std::lock_guard lock(mutex_);
                                      if (after) after();
                                      mine->done = true;
                                      call_ = nullptr;
                                      cv_.notify_all();
                                    });
  } catch (const clock::ThreadError&) {
    const std::lock_guard lock(mutex_);
    call_ = nullptr;
    cv_.notify_all();
    return End::kNoThread;
  }
  {
    std::unique_lock lock(mutex_);
    clock_.Wait(lock, cv_, deadline, [&] { return mine->done || finished_; });
    if (!mine->done) {
      mine->late = true;
      late_threads_.push_back(std::move(thread));
      cv_.notify_all();
      return finished_ ? End::kEnded : End::kLate;
    }
  }
  thread.join();
  return End::kReturned;
}

void ControlCalls::Finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  cv_.notify_all();
}

void ControlCalls::Join() {
  std::vector<std::thread> threads;
  {
    std::unique_lock lock(mutex_);
    clock_.Wait(lock, cv_, clock::MonoTime::Max(), [this] { return !call_; });
    threads.swap(late_threads_);
  }
  for (std::thread& t : threads) t.join();  // about to end
}

void ControlCalls::Mark(const char* call) {
  const std::lock_guard lock(mutex_);
  call_ = nullptr;
  if (call == nullptr) return;
  call_ = std::make_shared<Call>();
  call_->open = {call, clock_.Monotonic()};
}

std::optional<OpenCall> ControlCalls::Open() const {
  const std::lock_guard lock(mutex_);
  return call_ ? std::optional(call_->open) : std::nullopt;
}

std::optional<OpenCall> ControlCalls::Late() const {
  const std::lock_guard lock(mutex_);
  return call_ && call_->late ? std::optional(call_->open) : std::nullopt;
}

}  // namespace kcm::host::plugin
