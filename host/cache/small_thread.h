// SPDX-License-Identifier: Apache-2.0
// SmallThread: a joined thread with a small, fixed stack; a host has hundreds (one per informer,
// one per handler).
#pragma once
#include <pthread.h>

#include <cstddef>
#include <functional>
#include <string>

#include "host/clock/clock.h"

namespace kcm::host::cache {

#ifdef KCM_SANITIZED
inline constexpr size_t kReflectorStack = 4 << 20;  // instrumented frames are several times larger
inline constexpr size_t kHandlerStack = 8 << 20;
#else
inline constexpr size_t kReflectorStack = 256 << 10;
inline constexpr size_t kHandlerStack =
    1 << 20;  // runs a plugin's on_event: address space only, until touched
#endif

// Start once, Join before destruction. Start throws clock::ThreadError when the system has no
// thread left, and may be tried again then.
class SmallThread {
 public:
  SmallThread() = default;
  ~SmallThread() { Join(); }
  SmallThread(const SmallThread&) = delete;
  SmallThread& operator=(const SmallThread&) = delete;

  // `name` is cut to the 15 characters that the kernel keeps.
  void Start(const std::string& name, size_t stack_bytes, std::function<void()> body);
  // The same for a thread that counts as work (clock.h) from this call on, but for its Clock::Wait.
  void StartBusy(clock::Clock& clock, const std::string& name, size_t stack_bytes,
                 std::function<void()> body);
  // Does nothing when not started or joined already.
  void Join();
  bool IsCurrent() const { return started_ && pthread_equal(pthread_self(), thread_) != 0; }

 private:
  static void* Main(void* self);
  pthread_t thread_{};
  bool started_ = false;
  std::function<void()> body_;
};

}  // namespace kcm::host::cache
