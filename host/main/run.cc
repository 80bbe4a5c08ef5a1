// SPDX-License-Identifier: Apache-2.0
// Run: the life of a host from its command line to its exit code, in the order of spec/host.md 11.
#include "host/main/run.h"

#include <cstdio>

#include "host/clock/thread.h"
#include "host/file/open_limit.h"
#include "host/main/impl.h"
#include "host/main/peek.h"
#include "host/metric/process.h"

namespace kcm::host::main {
namespace {

constexpr auto kDiscoveryReset = std::chrono::seconds(30);
constexpr auto kStopGrace = std::chrono::seconds(5);  // after --controller-shutdown-timeout

}  // namespace

std::optional<int> Host::Impl::Parse() {
  config::ParseContext context;
  context.declare = [&](config::FlagSet& flags, config::ControllerNames& names) {
    return DeclarePlugins(run.args, &flags, &names);
  };
  config::ParseResult parsed = config::ParseOptions(run.args, context);
  const auto print = [](const std::function<void(const std::string&)>& to, const std::string& text,
                        FILE* stream) {
    if (text.empty()) return;
    if (to) {
      to(text);
    } else {
      std::fwrite(text.data(), 1, text.size(), stream);
      std::fflush(stream);
    }
  };
  print(run.out, parsed.out, stdout);
  print(run.err, parsed.err, stderr);
  options = std::move(parsed.options);
  log::Options l;
  l.json = options.logs.json;
  l.verbosity = options.logs.verbosity;
  l.vmodule = options.logs.vmodule;
  l.sink = run.err;
  l.clock = run.clock;
  log = log::Logger::Make(l);
  if (parsed.outcome == config::Outcome::kInvalid) {
    log.Error(parsed.failure, "command failed");
    log.Flush();
  }
  if (parsed.outcome != config::Outcome::kRun) return parsed.exit_code;
  for (const std::string& w : parsed.warnings) log.Warning(w);
  if (log.Enabled(1))
    for (const std::string& line : options.flags.DumpLines()) log.Print(1, line);
  return std::nullopt;
}

void Host::Impl::ResetDiscoveryLater() {
  const std::lock_guard lock(mutex);
  if (exit_code) return;
  discovery_timer = run.clock->After(kDiscoveryReset, [this] {
    discovery->Reset();
    ResetDiscoveryLater();
  });
}

void Host::Impl::Close() {
  stopping.Cancel();
  const clock::BusyPause pause(*run.clock);
  if (warm.joinable()) warm.join();
  for (std::thread& t : connecting) t.join();
  if (server) server->Stop();
  clock::TimerId timer = 0;
  {
    const std::lock_guard lock(mutex);
    if (!exit_code) exit_code = 0;
    timer = discovery_timer;
  }
  // A callback that runs now sees exit_code and sets no further timer.
  run.clock->Cancel(timer);
  if (manager) (void)manager->Stop(options.controller_shutdown_timeout);
  if (informers) informers->Stop();
  if (leader_events) leader_events->Stop();
  server.reset();
  std::unique_ptr<plugin::Manager> over;
  {
    const std::lock_guard lock(look_mutex);
    over.swap(manager);
  }
  over.reset();
  informers.reset();
}

void Host::Impl::WatchStop() {
  std::unique_lock lock(mutex);
  const std::chrono::nanoseconds patience =
      running ? std::chrono::nanoseconds(options.controller_shutdown_timeout)
              : std::chrono::nanoseconds(0);
  if (running && patience.count() == 0) return;  // asked to wait without limit
  if (ended_cv.wait_for(lock, patience + kStopGrace, [this] { return run_ended; })) return;
  const bool starting = !running;
  lock.unlock();
  constexpr char kWhy[] = "Ending at once: something of a plugin does not return";
  if (starting) {
    std::fprintf(stderr, "%s\n", kWhy);  // flags may not have been read yet: there is no log
  } else {
    log.Error("the stop did not end in time", kWhy);
    log.Flush();
  }
  run.exit_now(1);
}

int Host::Impl::Run() {
  clock::BusyScope busy(*run.clock);
  if (const std::optional<int> code = Parse()) return *code;
  if (Status s = file::CheckOpenLimit(); !s.ok()) return Fail(s.error().message);
  metrics.Disable(options.metrics.disabled);
  for (const auto& a : options.metrics.allowed_labels)
    metrics.AllowLabels(a.metric, a.label, a.values);
  metric::RegisterProcessMetrics(metrics);
  if (Status s = Connect(); !s.ok()) return Fail(s.error().message);
  BuildManager();
  if (Status s = manager->Load(); !s.ok()) return Fail(s.error().message);
  if (Status s = Serve(); !s.ok()) return Fail(s.error().message);
  log.Info(0, "Starting", {{"version", options.build.git_version}});
  ResetDiscoveryLater();
  {
    const std::lock_guard lock(mutex);
    running = true;
  }
  if (elector && options.warm_standby)
    warm = clock::StartThread("the warm standby", [this] {
      clock::BusyScope warm_busy(*run.clock);
      (void)PrepareLoop();
    });
  const int code = elector ? WithLease() : WithoutLease();
  Close();
  log.Flush();
  return code;
}

Host::Host(RunOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Host::~Host() = default;
int Host::Run() {
  int code = 0;
  try {
    code = impl_->Run();
  } catch (const clock::ThreadError& e) {
    code = impl_->Fail(e.what());
    // Others of this host may wait for what was to come: they are not waited for.
    if (impl_->run.exit_now) impl_->run.exit_now(code);
    throw;
  }
  std::thread watch;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->run_ended = true;
    watch = std::move(impl_->stop_watch);
  }
  impl_->ended_cv.notify_all();
  if (watch.joinable()) watch.join();
  return code;
}

void Host::Signal() {
  bool second = false;
  {
    const std::lock_guard lock(impl_->mutex);
    second = ++impl_->signals > 1;
    if (!second && impl_->run.exit_now && !impl_->run_ended)
      impl_->stop_watch =
          clock::StartThread("the watch over the stop", [this] { impl_->WatchStop(); });
    impl_->cv.notify_all();
  }
  impl_->stopping.Cancel();  // ends the waits of a start that is still under way
  if (second && impl_->run.exit_now) impl_->run.exit_now(1);
}

bool Host::CachesAtLeast(
    const std::function<uint64_t(const std::string&)>& resource_version_of) const {
  if (!ControllersStarted()) return false;
  const std::lock_guard lock(impl_->look_mutex);
  return impl_->manager && impl_->manager->CachesAtLeast(resource_version_of);
}

bool Host::ControllersActive() const {
  if (!ControllersStarted()) return false;
  const std::lock_guard lock(impl_->look_mutex);
  return impl_->manager && impl_->manager->AllActive();
}

bool Host::ControllersStarted() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->controllers_started;
}

int Host::secure_port() const { return impl_->server ? impl_->server->port() : 0; }

std::string Host::MetricsText() const { return impl_->metrics.Expose(false, false); }

plugin::Manager* Host::manager() const { return impl_->manager.get(); }

}  // namespace kcm::host::main
