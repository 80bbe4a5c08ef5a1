// SPDX-License-Identifier: Apache-2.0
// From standby to running controllers and back (spec/host.md 4.5, 11.2, 11.4).
#include "host/clock/thread.h"
#include "host/main/impl.h"

namespace kcm::host::main {
namespace {

constexpr auto kHealthLimit = std::chrono::seconds(10);
constexpr auto kHealthStep = std::chrono::seconds(1);
constexpr auto kPrepareRetry = std::chrono::seconds(1);
constexpr auto kPluginStep = std::chrono::seconds(1);  // how often a host without plugins looks
constexpr int kReadyConnections = 4;
constexpr auto kConnectLimit = std::chrono::seconds(5);

}  // namespace

void Host::Impl::End(int code, const std::string& why) {
  const std::lock_guard lock(mutex);
  if (exit_code || signals > 0) return;  // asked to stop: what fails now is no failure
  exit_code = code;
  if (!why.empty()) prepare_error = why;
  cv.notify_all();
  stopping.Cancel();
}

// Instances and caches, tried until the server answers. False: the host ends. A stop ends its
// waits.
bool Host::Impl::PrepareLoop() {
  const int id = stopping.OnCancel([this] { manager->Cancel(); });
  const bool done = PrepareUntilDone();
  stopping.Remove(id);
  return done;
}

bool Host::Impl::PrepareUntilDone() {
  std::string said;  // each reason once: it is tried every second
  while (true) {
    Status s = Ok();
    try {
      s = manager->Prepare();
    } catch (const clock::ThreadError& e) {
      s = MakeError(Code::kUnavailable, e.what());  // the limit may be raised meanwhile
    }
    std::unique_lock lock(mutex);
    if (s.ok()) {
      prepared = true;
      cv.notify_all();
      return true;
    }
    const bool passing = s.code() == Code::kTransport || s.code() == Code::kUnavailable ||
                         s.code() == Code::kTimeout || s.code() == Code::kServerTimeout ||
                         s.code() == Code::kTooManyRequests || s.code() == Code::kInternal;
    if (!passing || stopping.cancelled()) {
      if (!exit_code && signals == 0) {
        exit_code = 1;
        prepare_error = s.error().message;
      }
      cv.notify_all();
      return false;
    }
    lock.unlock();
    log.Info(said == s.error().message ? 4 : 0, "Caches can not be prepared yet, trying again",
             {{"err", s.error().message}});
    said = s.error().message;
    lock.lock();
    if (run.clock->WaitFor(lock, cv, kPrepareRetry, [this] { return exit_code.has_value(); }))
      return false;
  }
}

Status Host::Impl::WaitForServer() {
  client::Call call;
  call.raw_path = "/healthz";
  call.form = client::Form::kRaw;
  call.cancel = &stopping;
  const std::shared_ptr<client::Client> c = clients->Root("shared-informers", nullptr);
  const clock::MonoTime end = run.clock->Monotonic() + kHealthLimit;
  std::string last = "timed out";
  while (true) {
    const Result<client::Answer> answer = c->Do(call);
    if (answer.ok()) return Ok();
    last = answer.error().message;
    if (answer.code() == Code::kUnauthorized) last += ": " + client::RefusalText(*transport);
    if (stopping.cancelled()) return MakeError(Code::kCancelled, last);
    if (run.clock->Monotonic() + kHealthStep > end)
      return MakeError(
          Code::kUnavailable,
          "failed to wait for apiserver being healthy: timed out waiting for the condition: " +
              last);
    std::unique_lock lock(mutex);
    run.clock->WaitFor(lock, cv, kHealthStep, [this] { return exit_code.has_value(); });
  }
}

void Host::Impl::OpenConnections() {
  if (connections_pending > 0) return;
  for (std::thread& t : connecting) t.join();
  connecting.clear();
  connections_pending = kReadyConnections;
  // Side by side, so that no two of them use the same connection.
  const auto connect = [this] {
    client::Call call;
    call.raw_path = "/healthz";
    call.form = client::Form::kRaw;
    call.timeout = kConnectLimit;
    call.cancel = &stopping;
    (void)clients->Root("shared-informers", nullptr)->Do(call);  // only an attempt
    --connections_pending;
  };
  for (int i = 0; i < kReadyConnections; ++i) {
    try {
      connecting.push_back(clock::StartBusyThread(*run.clock, "a connection", connect));
    } catch (const clock::ThreadError&) {
      --connections_pending;  // the take-over connects itself
    }
  }
}

// What leadership (or --leader-elect=false) starts.
Status Host::Impl::StartControllers() {
  if (Status s = WaitForServer(); !s.ok()) return s;
  if (!warm.joinable()) {
    if (!PrepareLoop()) return MakeError(Code::kInvalid, prepare_error);
  } else {
    std::unique_lock lock(mutex);
    run.clock->Wait(lock, cv, clock::MonoTime::Max(),
                    [this] { return prepared || exit_code.has_value(); });
    if (!prepared) return MakeError(Code::kInvalid, prepare_error);
  }
  if (server)
    for (const auto& [name, status] : manager->Health())
      server->health().Add(name, [this, n = name] { return manager->Health(n); });
  manager->Start();
  const std::lock_guard lock(mutex);
  controllers_started = true;
  return Ok();
}

// False: some did not end within --controller-shutdown-timeout (exit code 1, spec/host.md 1.2).
bool Host::Impl::StopControllers() {
  const std::vector<std::string> late = manager->Stop(options.controller_shutdown_timeout);
  if (late.empty()) {
    log.Info(0, "All controllers terminated");
    return true;
  }
  log.Error("controller shutdown timeout reached", "Controller shutdown timeout reached",
            {{"controller", late.front()}});
  return false;
}

int Host::Impl::WithoutLease() {
  if (Status s = StartControllers(); !s.ok()) {
    const std::lock_guard lock(mutex);
    if (signals == 0) exit_code = Fail(s.error().message);
  }
  std::string why;
  int code = 0;
  {
    std::unique_lock lock(mutex);
    run.clock->Wait(lock, cv, clock::MonoTime::Max(),
                    [this] { return exit_code.has_value() || signals > 0; });
    code = exit_code.value_or(0);
    why = prepare_error;
  }
  stopping.Cancel();
  if (!StopControllers() && code == 0) code = 1;
  if (code != 0 && !why.empty()) log.Error(why, "command failed");
  return code;
}

bool Host::Impl::WaitForPlugin() {
  if (!manager->Empty()) return true;
  log.Warning("The election is left to others until a plugin is loaded");
  // From here on the directories are watched; without plugins nothing else is prepared.
  if (!warm.joinable() && !PrepareLoop()) return false;
  while (manager->Empty()) {
    std::unique_lock lock(mutex);
    if (run.clock->WaitFor(lock, cv, kPluginStep,
                           [this] { return exit_code.has_value() || signals > 0; }))
      return false;
  }
  return true;
}

int Host::Impl::WithLease() {
  // The elector runs on a thread of its own: signals and fatal errors must not wait for it.
  std::thread election = clock::StartThread("leader election", [&] {
    clock::BusyScope busy(*run.clock);
    if (!WaitForPlugin()) return;
    const leader::Elector::End end = elector->Run([&] {
      clock::BusyScope leading_busy(*run.clock);
      {
        const std::lock_guard lock(mutex);
        if (exit_code || signals > 0) return;
        leading = true;
      }
      if (Status s = StartControllers(); !s.ok()) End(1, s.error().message);
      const std::lock_guard lock(mutex);
      leading = false;
      cv.notify_all();
    });
    if (end == leader::Elector::End::kLost) {
      log.Error("leaderelection lost/stopped", "leaderelection lost/stopped");
      log.Flush();
      if (run.exit_now) run.exit_now(1);
      End(1, "");
    }
  });
  int code = 0;
  std::string why;
  {
    std::unique_lock lock(mutex);
    run.clock->Wait(lock, cv, clock::MonoTime::Max(),
                    [this] { return exit_code.has_value() || signals > 0; });
    code = exit_code.value_or(0);
    why = prepare_error;
  }
  const bool release = options.gates.Enabled("ControllerManagerReleaseLeaderElectionLockOnExit");
  if (code == 0) {
    log.Info(0, "Requested to terminate. Exiting.");
    log.Flush();
    // Default: end at once, the lease stays (spec/host.md 11.4). The fence and the closed
    // connections end all writes.
    if (!release && run.exit_now) run.exit_now(0);
  } else if (!why.empty()) {
    log.Error(why, "command failed");
  }
  stopping.Cancel();
  // Writers first, then the release: nothing of ours may follow it (spec/host.md 4.6).
  const bool released = code == 0 && release;
  if (released && !StopControllers()) code = 1;
  elector->Stop();
  {
    const clock::BusyPause pause(*run.clock);
    election.join();
  }
  {
    // The start of controllers runs on the elector's thread: it must be over before anything is
    // torn down.
    std::unique_lock lock(mutex);
    run.clock->Wait(lock, cv, clock::MonoTime::Max(), [this] { return !leading; });
  }
  if (released) {
    if (const Status s = elector->Release(); !s.ok())
      log.Error(s.error().message, "Failed to release lease");
  }
  return code;
}

}  // namespace kcm::host::main
