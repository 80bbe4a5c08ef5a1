// SPDX-License-Identifier: Apache-2.0
// Making the parts of a host: connections, elector, endpoints, caches, plugin manager
// (spec/host.md 11.1).
#include <unistd.h>

#include <cstdio>

#include "host/client/kubeconfig.h"
#include "host/config/configz.h"
#include "host/main/admin.h"
#include "host/main/impl.h"
#include "host/plugin/crash.h"

namespace kcm::host::main {
namespace {

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? std::string(name) : std::string("localhost");
}

std::string NewUuid(std::mt19937_64& random) {
  uint64_t hi = random(), lo = random();
  hi = (hi & ~0xf000ull) | 0x4000ull;
  lo = (lo & ~(0xc000ull << 48)) | (0x8000ull << 48);
  char text[37];
  std::snprintf(text, sizeof(text), "%08x-%04x-%04x-%04x-%012llx", static_cast<unsigned>(hi >> 32),
                static_cast<unsigned>(hi >> 16 & 0xffff), static_cast<unsigned>(hi & 0xffff),
                static_cast<unsigned>(lo >> 48),
                static_cast<unsigned long long>(lo & 0xffffffffffffull));
  return text;
}

}  // namespace

// The fence of the lease: an elector outlives its users through this.
class LeaseFence : public client::Fence {
 public:
  explicit LeaseFence(std::shared_ptr<leader::Elector> e) : elector_(std::move(e)) {}
  Status Check(clock::MonoTime* deadline) const override { return elector_->Check(deadline); }

 private:
  std::shared_ptr<leader::Elector> elector_;
};

Result<std::shared_ptr<client::Transport>> Host::Impl::TransportFor(const std::string& kubeconfig,
                                                                    const std::string& master) {
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
  t.log_outages = transport == nullptr;  // once, however many transports lead to the server
  Result<std::shared_ptr<client::Transport>> made = client::MakeTransport(*config, std::move(t));
  if (!made.ok() && !kubeconfig.empty()) {
    Error e = made.error();
    e.message += ": correct " + kubeconfig + " or the files it names";
    return e;
  }
  return made;
}

Status Host::Impl::Connect() {
  Result<std::shared_ptr<client::Transport>> made =
      TransportFor(options.client.kubeconfig, options.client.master);
  if (!made.ok()) return made.error();
  transport = *std::move(made);
  // Lease requests share no connection and no limiter with anything (trap T6).
  Result<std::shared_ptr<client::Transport>> lease =
      TransportFor(options.client.kubeconfig, options.client.master);
  if (!lease.ok()) return lease.error();
  lease_transport = *std::move(lease);
  clients = std::make_unique<Clients>(
      Clients::Settings{&options, run.program, run.clock, log, &metrics, &stopping}, transport);
  if (options.leader_election.per_plugin)
    return MakeError(Code::kUnsupported,
                     "--leader-elect-per-plugin: not available in this build: leave it out, one "
                     "lease covers all plugins");
  if (options.leader_migration)
    return MakeError(Code::kUnsupported,
                     "--enable-leader-migration: not available in this build: leave it out");
  if (options.leader_election.enabled) {
    const config::LeaderElectionOptions& le = options.leader_election;
    leader::Options o;
    o.lease_namespace = le.resource_namespace;
    o.lease_name = le.resource_name;
    o.lease_duration = le.lease_duration;
    o.renew_deadline = le.renew_deadline;
    o.retry_period = le.retry_period;
    o.identity = HostName() + "_" + NewUuid(random);
    o.client = clients->On(lease_transport, "leader-election", options.client.qps,
                           static_cast<int>(options.client.burst));
    o.clock = run.clock;
    o.log = log;
    o.metrics = &metrics;
    o.random = [this] { return Random(); };
    event::RecorderOptions r;
    r.component = std::string(config::kComponent);
    r.sink =
        std::make_shared<ClientEventSink>(clients->Root(std::string(config::kComponent), nullptr));
    r.clock = run.clock;
    r.log = log;
    r.log_level = 0;
    leader_events = std::make_unique<event::EventRecorder>(std::move(r));
    o.event = [this, ns = le.resource_namespace,
               name = le.resource_name](const std::string& message) {
      event::ObjectReference lease_ref;
      lease_ref.kind = "Lease";
      lease_ref.api_version = "coordination.k8s.io/v1";
      lease_ref.namespace_ = ns;
      lease_ref.name = name;
      leader_events->Record(lease_ref, event::EventType::kNormal, "LeaderElection", message);
    };
    if (options.warm_standby) o.on_holder_silent = [this] { OpenConnections(); };
    if (const std::string wrong = leader::ValidateTimings(o); !wrong.empty())
      return MakeError(Code::kInvalid, wrong);
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
  const auto reviews = [&](const std::string& kubeconfig,
                           std::unique_ptr<ClientReviews>* out) -> Status {
    if (kubeconfig.empty()) return Ok();
    Result<std::shared_ptr<client::Transport>> t = TransportFor(kubeconfig, "");
    if (!t.ok()) return t.error();
    *out = std::make_unique<ClientReviews>(clients->On(*std::move(t), "", 200, 400));
    return Ok();
  };
  if (Status s = reviews(options.authentication.kubeconfig, &authentication_reviews); !s.ok())
    return s;
  if (Status s = reviews(options.authorization.kubeconfig, &authorization_reviews); !s.ok())
    return s;
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
    server->Handle("/plugins", {.prefix = true},
                   [this](const http::Request& r) { return ServeAdmin(*manager, r); });
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
  discovery = std::make_unique<client::Discovery>(
      clients->Root("controller-discovery", nullptr, 1, 200.0 / 30), run.clock, log, &stopping);

  plugin::Environment e;
  e.clock = run.clock;
  e.log = log;
  e.metrics = &metrics;
  e.informers = informers.get();
  e.discovery = discovery.get();
  e.make_client = [this](const plugin::ControllerDeclaration& c) {
    return clients->ForController(c, fence);
  };
  e.make_recorder = [this](const plugin::ControllerDeclaration& c,
                           std::shared_ptr<client::Client> with) {
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
  e.swap_timeout = options.plugins.swap_timeout;

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
  m.admit = [dir = options.plugins.state_dir, limit = options.plugins.quarantine_threshold](
                const std::string& file, const std::string& digest) {
    return plugin::Admit(dir, limit, file, digest);
  };
  m.on_stuck = [this](const std::vector<std::string>& late) {
    log.Error("controller shutdown timeout reached", "Controller shutdown timeout reached",
              {{"controller", late.front()}});
    log.Flush();
    if (run.exit_now) run.exit_now(1);
  };
  m.on_fatal = [this](const std::string& why) { End(1, why); };
  manager = std::make_unique<plugin::Manager>(std::move(e), std::move(m));
}

}  // namespace kcm::host::main
