// SPDX-License-Identifier: Apache-2.0
// Starting threads.
#include "host/clock/thread.h"

#include <cstring>
#include <memory>
#include <utility>

namespace kcm::host::clock {

std::string NoThreadText(const std::string& what, int error) {
  return "cannot start a thread" + (what.empty() ? "" : " (" + what + ")") + ": " +
         std::strerror(error) +
         ": raise the limit of processes (ulimit -u, pids.max of the control group, TasksMax= of "
         "the unit) or of memory (ulimit -v), or give fewer workers";
}

std::thread StartThread(const std::string& what, std::function<void()> run) {
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error& e) {
    throw ThreadError(what, e.code());
  }
}

std::thread StartBusyThread(Clock& clock, const std::string& what, std::function<void()> run) {
  auto starting = std::make_shared<BusyToken>(
      clock);  // std::thread copies or moves: shared, and dropped by hand
  return StartThread(what, [&clock, starting, run = std::move(run)] {
    const BusyScope busy(clock);
    starting->Reset();
    run();
    clock.ThreadEnds();
  });
}

std::thread StartBusyThread(Clock& clock, std::function<void()> run) {
  return StartBusyThread(clock, "", std::move(run));
}

}  // namespace kcm::host::clock
