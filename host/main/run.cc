// SPDX-License-Identifier: Apache-2.0
// Run: start-up, standby, leadership and stop of a host, in the order of spec/host.md 11.
#include "host/main/run.h"

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <random>
#include <thread>

#include "host/cache/informer.h"
#include "host/client/discovery.h"
#include "host/client/kubeconfig.h"
#include "host/config/configz.h"
#include "host/config/options.h"
#include "host/http/server.h"
#include "host/leader/elector.h"
#include "host/main/admin.h"
#include "host/main/peek.h"
#include "host/main/wiring.h"
#include "host/metric/process.h"
#include "host/plugin/crash.h"
#include "host/plugin/manager.h"

namespace kcm::host::main {
namespace {

constexpr auto kHealthLimit = std::chrono::seconds(10);
constexpr auto kHealthStep = std::chrono::seconds(1);
constexpr auto kDiscoveryReset = std::chrono::seconds(30);
constexpr auto kPrepareRetry = std::chrono::seconds(1);

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? std::string(name) : std::string("localhost");
}

std::string NewUuid(std::mt19937_64& random) {
  uint64_t hi = random(), lo = random();
  hi = (hi & ~0xf000ull) | 0x4000ull;
  lo = (lo & ~(0xc000ull << 48)) | (0x8000ull << 48);
  char text[37];
  std::snprintf(text, sizeof(text), "%08x-%04x-%04x-%04x-%012llx", static_cast<unsigned>(hi >> 32), static_cast<unsigned>(hi >> 16 & 0xffff),
                static_cast<unsigned>(hi & 0xffff), static_cast<unsigned>(lo >> 48), static_cast<unsigned long long>(lo & 0xffffffffffffull));
  return text;
}

}  // namespace

// Everything of one host, in the order of its making. Members are torn down by Close, in reverse.
struct Host::Impl {
  explicit Impl(RunOptions o) : run(std::move(o)), random(std::random_device{}()) {
    if (run.clock == nullptr) {
      own_clock = clock::MakeRealClock();
      run.clock = own_clock.get();
    }
  }

  int Run();
  int Fail(const std::string& error) {
    log.Error(error, "command failed");
    log.Flush();
    return 1;
  }
  std::optional<int> Parse();
  Status Connect();
  Status Serve();
  void BuildManager();
  int WithLease();
  int WithoutLease();
  Status WaitForServer();
  bool PrepareLoop();
  Status StartControllers();
  bool StopControllers();
  void Close();
  void ResetDiscoveryLater();
  void End(int code, const std::string& why);
  double Random() {
    const std::lock_guard lock(mutex);
    return std::uniform_real_distribution<double>(0, 1)(random);
  }
  Result<std::shared_ptr<client::Transport>> TransportFor(const std::string& kubeconfig, const std::string& master);

  RunOptions run;
  std::unique_ptr<clock::Clock> own_clock;
  config::Options options;
  log::Logger log;
  metric::Registry metrics;
  std::mt19937_64 random;  // guarded by mutex

  std::shared_ptr<client::Transport> transport, lease_transport;
  std::unique_ptr<Clients> clients;
  std::shared_ptr<leader::Elector> elector;
  std::shared_ptr<const client::Fence> fence;
  std::unique_ptr<event::EventRecorder> leader_events;
  std::unique_ptr<cache::InformerFactory> informers;
  std::unique_ptr<client::Discovery> discovery;
  std::unique_ptr<plugin::Manager> manager;
  std::unique_ptr<ClientReviews> authentication_reviews, authorization_reviews;
  std::unique_ptr<http::Server> server;
  client::Cancellation stopping;
  std::thread warm;
  clock::TimerId discovery_timer = 0;

  std::mutex mutex;
  std::condition_variable cv;
  int signals = 0;               // guarded by mutex
  std::optional<int> exit_code;  // guarded by mutex: set once, ends Run
  bool prepared = false;         // guarded by mutex
  std::string prepare_error;     // guarded by mutex: not worth a retry
  bool controllers_started = false;  // guarded by mutex
  bool running = false;          // guarded by mutex: Signal has someone to tell
};

// The fence of the lease: an elector outlives its users through this.
class LeaseFence : public client::Fence {
 public:
  explicit LeaseFence(std::shared_ptr<leader::Elector> e) : elector_(std::move(e)) {}
  Status Check(clock::MonoTime* deadline) const override { return elector_->Check(deadline); }

 private:
  std::shared_ptr<leader::Elector> elector_;
};

std::optional<int> Host::Impl::Parse() {
  config::ParseContext context;
  context.declare = [&](config::FlagSet& flags, config::ControllerNames& names) {
    const std::vector<std::string> keys = config::ScanFlag(run.args, "plugin-trust-key");
    return DeclarePlugins(config::ScanFlag(run.args, "plugin-dir"), keys.empty() ? "" : keys.back(), &flags, &names);
  };
  config::ParseResult parsed = config::ParseOptions(run.args, context);
  const auto print = [](const std::function<void(const std::string&)>& to, const std::string& text, FILE* stream) {
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
    for (const std::string& line : options.flags.DumpLines()) log.Info(1, line);
  return std::nullopt;
}

Result<std::shared_ptr<client::Transport>> Host::Impl::TransportFor(const std::string& kubeconfig, const std::string& master) {
  client::LoadOptions load;
  load.kubeconfig = kubeconfig;
  load.master = master;
  load.warn = [this](const std::string& line) { log.Warning(line); };
  Result<client::Config> config = client::LoadConfig(load);
  if (!config.ok()) return config.error();
  client::TransportOptions t;
  t.clock = run.clock;
  t.log = log;
  t.metrics = &metrics;
  return client::MakeTransport(*config, std::move(t));
}

Status Host::Impl::Connect() {
  Result<std::shared_ptr<client::Transport>> made = TransportFor(options.client.kubeconfig, options.client.master);
  if (!made.ok()) return made.error();
  transport = *std::move(made);
  // Lease requests share no connection and no limiter with anything (trap T6).
  Result<std::shared_ptr<client::Transport>> lease = TransportFor(options.client.kubeconfig, options.client.master);
  if (!lease.ok()) return lease.error();
  lease_transport = *std::move(lease);
  clients = std::make_unique<Clients>(Clients::Settings{&options, run.program, run.clock, log, &metrics}, transport);
  if (options.leader_election.per_plugin)
    return MakeError(Code::kUnsupported, "--leader-elect-per-plugin: not available in this build: leave it out, one lease covers all plugins");
  if (options.leader_migration)
    return MakeError(Code::kUnsupported, "--enable-leader-migration: not available in this build: leave it out");
  if (options.leader_election.enabled) {
    const config::LeaderElectionOptions& le = options.leader_election;
    leader::Options o;
    o.lease_namespace = le.resource_namespace;
    o.lease_name = le.resource_name;
    o.lease_duration = le.lease_duration;
    o.renew_deadline = le.renew_deadline;
    o.retry_period = le.retry_period;
    o.identity = HostName() + "_" + NewUuid(random);
    o.client = clients->On(lease_transport, "leader-election", options.client.qps, static_cast<int>(options.client.burst));
    o.clock = run.clock;
    o.log = log;
    o.metrics = &metrics;
    o.random = [this] { return Random(); };
    event::RecorderOptions r;
    r.component = std::string(config::kComponent);
    r.sink = std::make_shared<ClientEventSink>(clients->Root(std::string(config::kComponent), nullptr));
    r.clock = run.clock;
    r.log = log;
    r.log_level = 0;
    leader_events = std::make_unique<event::EventRecorder>(std::move(r));
    o.event = [this, ns = le.resource_namespace, name = le.resource_name](const std::string& message) {
      event::ObjectReference lease_ref;
      lease_ref.kind = "Lease";
      lease_ref.api_version = "coordination.k8s.io/v1";
      lease_ref.namespace_ = ns;
      lease_ref.name = name;
      leader_events->Record(lease_ref, event::EventType::kNormal, "LeaderElection", message);
    };
    if (const std::string wrong = leader::ValidateTimings(o); !wrong.empty()) return MakeError(Code::kInvalid, wrong);
    elector = std::make_shared<leader::Elector>(std::move(o));
    fence = std::make_shared<LeaseFence>(elector);
  }
  return Ok();
}

Status Host::Impl::Serve() {
  if (options.serving.port == 0) return Ok();
  http::ServerOptions o;
  o.serving = options.serving;
  if (run.any_secure_port) o.serving.port = 0;
  o.authentication = options.authentication;
  o.authorization = options.authorization;
  o.clock = run.clock;
  o.metrics = &metrics;
  o.log = log;
  o.configz = [this] { return config::ConfigzJson(options, nullptr); };
  o.flags = config::FlagValues(options.flags);
  o.profiling = options.profiling;
  o.flagz = options.gates.Enabled("ComponentFlagz");
  o.statusz = options.gates.Enabled("ComponentStatusz");
  o.build = options.build;
  o.emulation = options.emulation;
  const auto reviews = [&](const std::string& kubeconfig, std::unique_ptr<ClientReviews>* out) -> Status {
    if (kubeconfig.empty()) return Ok();
    Result<std::shared_ptr<client::Transport>> t = TransportFor(kubeconfig, "");
    if (!t.ok()) return t.error();
    *out = std::make_unique<ClientReviews>(clients->On(*std::move(t), "", 200, 400));
    return Ok();
  };
  if (Status s = reviews(options.authentication.kubeconfig, &authentication_reviews); !s.ok()) return s;
  if (Status s = reviews(options.authorization.kubeconfig, &authorization_reviews); !s.ok()) return s;
  o.authentication_client = authentication_reviews.get();
  o.authorization_client = authorization_reviews.get();
  Result<std::unique_ptr<http::Server>> started = http::Server::Start(std::move(o));
  if (!started.ok()) return started.error();
  server = *std::move(started);
  if (elector)
    server->health().Add("leaderElection", [this]() -> Status {
      const std::string wrong = elector->HealthError();
      return wrong.empty() ? Ok() : Status(MakeError(Code::kInternal, wrong));
    });
  if (options.plugins.admin_api)
    server->Handle("/plugins", {.prefix = true}, [this](const http::Request& r) { return ServeAdmin(*manager, r); });
  return Ok();
}

void Host::Impl::BuildManager() {
  cache::FactoryOptions f;
  // Lists are limited like any request of a client, watches are not (spec/host.md 7.1).
  f.client = clients->Root("shared-informers", nullptr);
  f.clock = run.clock;
  f.log = log;
  f.metrics = &metrics;
  f.resync_period = options.min_resync_period;
  f.watch_list = options.gates.Enabled("WatchListClient");
  f.random = [this] { return Random(); };
  informers = std::make_unique<cache::InformerFactory>(std::move(f));
  discovery = std::make_unique<client::Discovery>(clients->Root("controller-discovery", nullptr, 1, 200.0 / 30), run.clock, log);

  plugin::Environment e;
  e.clock = run.clock;
  e.log = log;
  e.metrics = &metrics;
  e.informers = informers.get();
  e.discovery = discovery.get();
  e.make_client = [this](const plugin::ControllerDeclaration& c) { return clients->ForController(c, fence); };
  e.make_recorder = [this](const plugin::ControllerDeclaration& c, std::shared_ptr<client::Client> with) {
    event::RecorderOptions r;
    r.component = c.event_source;
    r.sink = std::make_shared<ClientEventSink>(std::move(with));
    r.clock = run.clock;
    r.log = log.Named(c.name);
    return std::make_unique<event::EventRecorder>(std::move(r));
  };
  e.flag = [this](std::string_view name) -> std::optional<std::string> {
    if (options.flags.Find(name) == nullptr) return std::nullopt;
    return options.flags.Text(name);
  };
  e.gate = [this](std::string_view name) { return options.gates.Enabled(name); };
  e.host_version = options.build.git_version;

  plugin::ManagerOptions m;
  m.dirs = options.plugins.dirs;
  m.trust_key = options.plugins.trust_key;
  m.probation = options.plugins.probation;
  m.watch_directories = options.plugins.watch;
  m.enabled = [this](const plugin::ControllerDeclaration& c, std::string* why) {
    for (const std::string& gate : c.feature_gates)
      if (!options.gates.Enabled(gate)) {
        *why = "Controller is disabled by a feature gate";
        return false;
      }
    return options.ControllerEnabled(c.name);
  };
  if (!options.plugins.state_dir.empty() && options.plugins.quarantine_threshold > 0)
    m.quarantined = [dir = options.plugins.state_dir, limit = options.plugins.quarantine_threshold](const std::string& digest) {
      return plugin::CrashCount(dir, digest.substr(0, 16)) >= limit;
    };
  m.on_fatal = [this](const std::string& why) { End(1, why); };
  manager = std::make_unique<plugin::Manager>(std::move(e), std::move(m));
}

void Host::Impl::End(int code, const std::string& why) {
  const std::lock_guard lock(mutex);
  if (exit_code) return;
  exit_code = code;
  if (!why.empty()) prepare_error = why;
  cv.notify_all();
  stopping.Cancel();
}

void Host::Impl::ResetDiscoveryLater() {
  const std::lock_guard lock(mutex);
  if (exit_code) return;
  discovery_timer = run.clock->After(kDiscoveryReset, [this] {
    discovery->Reset();
    ResetDiscoveryLater();
  });
}

// Instances and caches, tried until the server answers. False: the host ends.
bool Host::Impl::PrepareLoop() {
  while (true) {
    const Status s = manager->Prepare();
    std::unique_lock lock(mutex);
    if (s.ok()) {
      prepared = true;
      cv.notify_all();
      return true;
    }
    const bool passing = s.code() == Code::kTransport || s.code() == Code::kUnavailable || s.code() == Code::kTimeout ||
                         s.code() == Code::kServerTimeout || s.code() == Code::kTooManyRequests || s.code() == Code::kInternal;
    if (!passing || stopping.cancelled()) {
      if (!exit_code) {
        exit_code = 1;
        prepare_error = s.error().message;
      }
      cv.notify_all();
      return false;
    }
    lock.unlock();
    log.Info(4, "Caches can not be prepared yet", {{"err", s.error().message}});
    lock.lock();
    if (run.clock->WaitFor(lock, cv, kPrepareRetry, [this] { return exit_code.has_value(); })) return false;
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
    if (stopping.cancelled()) return MakeError(Code::kCancelled, last);
    if (run.clock->Monotonic() + kHealthStep > end)
      return MakeError(Code::kUnavailable, "failed to wait for apiserver being healthy: timed out waiting for the condition: " + last);
    std::unique_lock lock(mutex);
    run.clock->WaitFor(lock, cv, kHealthStep, [this] { return exit_code.has_value(); });
  }
}

// What leadership (or --leader-elect=false) starts.
Status Host::Impl::StartControllers() {
  if (Status s = WaitForServer(); !s.ok()) return s;
  if (!warm.joinable()) {
    if (!PrepareLoop()) return MakeError(Code::kInvalid, prepare_error);
  } else {
    std::unique_lock lock(mutex);
    run.clock->Wait(lock, cv, clock::MonoTime::Max(), [this] { return prepared || exit_code.has_value(); });
    if (!prepared) return MakeError(Code::kInvalid, prepare_error);
  }
  if (server)
    for (const auto& [name, status] : manager->Health())
      server->health().Add(name, [this, n = name]() -> Status {
        for (const auto& [have, health] : manager->Health())
          if (have == n) return health;
        return Ok();  // unloaded meanwhile
      });
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
  log.Error("controller shutdown timeout reached", "Controller shutdown timeout reached", {{"controller", late.front()}});
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
    run.clock->Wait(lock, cv, clock::MonoTime::Max(), [this] { return exit_code.has_value() || signals > 0; });
    code = exit_code.value_or(0);
    why = prepare_error;
  }
  stopping.Cancel();
  if (!StopControllers() && code == 0) code = 1;
  if (code != 0 && !why.empty()) log.Error(why, "command failed");
  return code;
}

int Host::Impl::WithLease() {
  std::thread leading;
  // The elector runs on a thread of its own: signals and fatal errors must not wait for it.
  std::thread election([&] {
    clock::BusyScope busy(*run.clock);
    const leader::Elector::End end = elector->Run([&] {
      clock::BusyScope leading_busy(*run.clock);
      if (Status s = StartControllers(); !s.ok()) End(1, s.error().message);
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
    run.clock->Wait(lock, cv, clock::MonoTime::Max(), [this] { return exit_code.has_value() || signals > 0; });
    code = exit_code.value_or(0);
    why = prepare_error;
  }
  const bool release = options.gates.Enabled("ControllerManagerReleaseLeaderElectionLockOnExit");
  if (code == 0) {
    log.Info(0, "Requested to terminate. Exiting.");
    log.Flush();
    // Default: end at once, the lease stays (spec/host.md 11.4). The fence and the closed connections end all writes.
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
  if (released) {
    if (const Status s = elector->Release(); !s.ok()) log.Error(s.error().message, "Failed to release lease");
  }
  return code;
}

void Host::Impl::Close() {
  stopping.Cancel();
  const clock::BusyPause pause(*run.clock);
  if (warm.joinable()) warm.join();
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
  manager.reset();
  informers.reset();
}

int Host::Impl::Run() {
  clock::BusyScope busy(*run.clock);
  if (const std::optional<int> code = Parse()) return *code;
  metrics.Disable(options.metrics.disabled);
  for (const auto& a : options.metrics.allowed_labels) metrics.AllowLabels(a.metric, a.label, a.values);
  metric::RegisterProcessMetrics(metrics);
  if (Status s = Connect(); !s.ok()) return Fail(s.error().message);
  if (!options.plugins.state_dir.empty()) plugin::SetCrashDir(options.plugins.state_dir);
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
    warm = std::thread([this] {
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
int Host::Run() { return impl_->Run(); }

void Host::Signal() {
  bool second = false;
  {
    const std::lock_guard lock(impl_->mutex);
    second = ++impl_->signals > 1;
    impl_->cv.notify_all();
  }
  impl_->stopping.Cancel();  // ends the waits of a start that is still under way
  if (second && impl_->run.exit_now) impl_->run.exit_now(1);
}

bool Host::CachesAtLeast(const std::function<uint64_t(const std::string&)>& resource_version_of) const {
  return ControllersStarted() && impl_->manager->AllActive() && impl_->manager->CachesAtLeast(resource_version_of);
}

bool Host::ControllersStarted() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->controllers_started;
}

int Host::secure_port() const { return impl_->server ? impl_->server->port() : 0; }

std::string Host::MetricsText() const { return impl_->metrics.Expose(false, false); }

plugin::Manager* Host::manager() const { return impl_->manager.get(); }

}  // namespace kcm::host::main
