// SPDX-License-Identifier: Apache-2.0
// ControlCalls: the life cycle calls of one instance (create, start, health, save_state, ...), one
// at a time, each on a thread of its own. A call that never returns then holds up nobody: whoever
// made it goes on after a limit, and the thread stays until the call does return (it is joined by
// the next call, or at the end).
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/clock/clock.h"

namespace kcm::host::plugin {

// A call that a plugin has not returned from.
struct OpenCall {
  std::string call;  // "create()", "on_event of v1/pods"
  clock::MonoTime since;
};

// Thread-safe. The mutex is never held while a call runs.
class ControlCalls {
 public:
  explicit ControlCalls(clock::Clock& clock) : clock_(clock) {}
  // REQUIRES: Join was called, or Run never was.
  ~ControlCalls();

  enum class End {
    kReturned,  // `step` has returned, `after` has run
    kLate,      // not within the limit: it goes on, nobody waits any more
    kBusy,      // an earlier call has not returned: `step` was not begun
    kEnded,     // End was called: begun or not, nobody waits
    kNoThread,  // there is no thread to be had for it: `step` was not begun
  };
  // Runs `step`, then `after` (short, under the mutex). Both own what they use: they may outlive
  // the caller. `limit` counts from here on.
  End Run(const std::string& call, clock::Duration limit, std::function<void()> step,
          std::function<void()> after = {});
  // Ends every wait in Run, and later ones at once. Does not touch the call.
  void Finish();
  // Waits, without limit, until no call is under way, and joins its threads. REQUIRES: Finish was
  // called. Not from inside a call.
  void Join();
  // What the caller of Join does in the plugin, for Open. nullptr: nothing any more.
  void Mark(const char* call);
  // The call under way.
  std::optional<OpenCall> Open() const;
  // The call under way when nobody waits for it any more.
  std::optional<OpenCall> Late() const;

 private:
  struct Call {
    OpenCall open;
    bool done = false;
    bool late = false;
  };
  clock::Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable cv_;
  std::shared_ptr<Call> call_;             // under way; guarded by mutex_
  std::vector<std::thread> late_threads_;  // guarded by mutex_
  bool finished_ = false;                  // guarded by mutex_
};

}  // namespace kcm::host::plugin
