// SPDX-License-Identifier: Apache-2.0
// Retired: ends what is over (an instance, a controller, an Event recorder) on a thread of its own.
// Whoever lets go of it waits for a while and then goes on; what a plugin does not return from
// stays here, with its thread and its mapping, is counted, and is named until it returns.
#pragma once
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/clock/clock.h"
#include "host/log/log.h"
#include "host/plugin/control_calls.h"

namespace kcm::host::plugin {

// What is to end, and how. The functions own what they use.
struct Ending {
  std::string plugin, controller, build;
  std::function<void()> end;                        // may take for ever
  std::function<std::optional<OpenCall>()> open{};  // what holds it up; null: nothing can be told
  std::function<void()> hurry{};  // the host is stopping: `end` is to return soon. Null: nothing
  bool of_plugin = true;          // late: worth a warning and a place in the report
};

// Something that has not ended within its limit.
struct Lingering {
  std::string plugin, controller, build, call;
  clock::MonoTime since;
};

// Thread-safe. The mutex is never held over `end` and `hurry`.
class Retired {
 public:
  Retired(clock::Clock* clock, log::Logger log) : clock_(clock), log_(std::move(log)) {}
  ~Retired() { Join(); }

  // True: it has ended and all that `what` owned is let go. False: it has not within `limit`, and
  // goes on here.
  bool End(Ending what, clock::Duration limit);
  // What is late, oldest first.
  std::vector<Lingering> Late() const;
  // Something that was late has ended since the last call.
  bool SomeEnded();
  // Asks all to hurry; waits until `deadline` (not for ever when it is near). True: nothing is
  // left.
  bool Wait(clock::MonoTime deadline);
  void Join();

 private:
  struct Work {
    Ending what;
    clock::MonoTime since;
    std::thread thread;
    bool late = false, done = false;
  };
  using Works = std::list<std::shared_ptr<Work>>;
  void Reap();

  clock::Clock* clock_;
  log::Logger log_;
  mutable std::mutex mutex_;
  std::condition_variable cv_;
  Works works_;              // guarded by mutex_
  bool some_ended_ = false;  // guarded by mutex_
  bool hurrying_ = false;    // the host is stopping; guarded by mutex_
};

}  // namespace kcm::host::plugin
