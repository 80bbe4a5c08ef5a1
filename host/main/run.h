// SPDX-License-Identifier: Apache-2.0
// Run: the whole host as a library call. No process-wide state, so tests run two hosts and a
// devcluster in one process.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/clock/clock.h"

namespace kcm::host::plugin {
class Manager;
}

namespace kcm::host::main {

struct RunOptions {
  std::vector<std::string> args;                         // without argv[0]
  std::string program = "kube-controller-manager";       // basename for the user agent
  clock::Clock* clock = nullptr;                         // nullptr: real
  std::function<void(const std::string&line)> out, err;  // nullptr: stdout, stderr
  // Ends the process at once: a lost lease must not wait for anything (spec/host.md 4.5), nor a
  // second signal. Null (tests): Run tears down in order and returns the code.
  std::function<void(int code)> exit_now;
  bool any_secure_port =
      false;  // tests: serve on a free port, whatever --secure-port says (0 still means none)
};

// A running host. Thread-safe.
class Host {
 public:
  explicit Host(RunOptions options);
  ~Host();
  // Blocks until the host has ended; the exit code of spec/host.md 1.2.
  int Run();
  // As SIGTERM/SIGINT: first call stops orderly, a second one ends Run at once with 1. Any thread.
  void Signal();
  // True when all caches of enabled controllers are at or past what `resource_version_of` says per
  // resource; for tests.
  bool CachesAtLeast(
      const std::function<uint64_t(const std::string& resource)>& resource_version_of) const;
  // True once controllers have been started (leadership won, caches synced).
  bool ControllersStarted() const;
  // True while every controller that was started has its workers at work. One that a swap adds is
  // not, for a moment.
  bool ControllersActive() const;
  // Loopback port of the HTTPS endpoint; 0 when there is none.
  int secure_port() const;
  // What /metrics would answer. For tests.
  std::string MetricsText() const;
  // The plugins, for tests of swaps; null before Run has come so far. Lives until Run returns.
  plugin::Manager* manager() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::host::main
