// SPDX-License-Identifier: Apache-2.0
// The parts of a Cluster put together, and time.
#include "harness/cluster.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <thread>

#include "build_paths.h"
#include "devcluster/nodes/simulated_nodes.h"
#include "harness/impl.h"
#include "harness/resources.h"
#include "kcm/rules/time.h"

namespace kcm::harness {
namespace {

namespace fs = std::filesystem;
// Real time.
constexpr auto kStartLimit = std::chrono::seconds(120);  // only a hang lasts so long
constexpr auto kStopLimit = std::chrono::seconds(60);
constexpr auto kStopStep = std::chrono::milliseconds(10);

}  // namespace

Cluster::Cluster(Options options)
    : options_(std::move(options)),
      clock_(std::make_unique<host::clock::VirtualClock>()),
      impl_(std::make_unique<Impl>()) {
  devcluster::ServerOptions s;
  s.clock = clock_.get();
  s.watch_list = options_.watch_list;
  s.server_version = options_.server_version;
  server_ = std::make_unique<devcluster::Server>(s);
  if (const Status started = server_->Start(); !started.ok())
    throw std::runtime_error(started.error().message);
  impl_->Connect(*server_, *clock_);
  fs::create_directory(plugin_dir());
  for (const std::string& family : options_.plugins) {
    const std::string file = "kcm-" + family + ".so";
    const fs::path build(KCM_BUILD_DIR);
    const bool shipped = fs::exists(build / "plugins" / file);
    fs::copy_file(build / (shipped ? "plugins" : "test-plugins") / file, plugin_dir() + "/" + file);
  }
  dir_.Write("kubeconfig", server_->Kubeconfig("system:kube-controller-manager", ""));
  dir_.Write("admin.kubeconfig", server_->Kubeconfig());
  clock_->AddProbe([this] { return impl_->Idle(*server_); });
  server_->EnableAudit(true);
  if (options_.nodes > 0 || options_.scheduler) {
    devcluster::nodes::NodesOptions n;
    n.kubeconfig = server_->Kubeconfig();
    n.count = options_.nodes;
    n.scheduler = options_.scheduler && options_.nodes > 0;
    n.metrics = options_.metrics;
    n.clock = clock_.get();
    impl_->nodes = std::make_unique<devcluster::nodes::SimulatedNodes>(n);
    if (const Status started = impl_->nodes->Start(); !started.ok())
      throw std::runtime_error(started.error().message);
    impl_->nodes_running = true;
  }
  if (options_.start_host) StartHost();
}

Cluster::~Cluster() {
  if (host_running()) (void)StopHost();
  if (impl_->nodes) impl_->nodes->Stop();
  impl_->nodes_running = false;
  impl_->Disconnect();
  server_->Stop();
}

void Cluster::StartHost(const std::vector<std::string>& more_flags) {
  host::main::RunOptions run;
  run.clock = clock_.get();
  run.any_secure_port = true;
  run.args = {"--kubeconfig=" + dir_ / "kubeconfig",
              "--authentication-kubeconfig=" + dir_ / "admin.kubeconfig",
              "--authorization-kubeconfig=" + dir_ / "admin.kubeconfig",
              "--bind-address=127.0.0.1",
              "--plugin-dir=" + plugin_dir(),
              "--plugin-watch=false",
              "--leader-elect=false",
              "--kube-api-qps=2000",
              "--kube-api-burst=4000",
              ::getenv("KCM_TEST_LOG") != nullptr ? "-v=4" : "-v=0",
              std::string("--use-service-account-credentials=") +
                  (options_.service_account_credentials ? "true" : "false")};
  if (!options_.secure_port) run.args.push_back("--secure-port=0");
  run.args.insert(run.args.end(), options_.flags.begin(), options_.flags.end());
  run.args.insert(run.args.end(), more_flags.begin(), more_flags.end());
  run.out = run.err = [log = impl_->log](const std::string& line) {
    const std::lock_guard lock(log->mutex);
    log->lines.push_back(line);
    if (::getenv("KCM_TEST_LOG") != nullptr && line.find("FLAG: ") == std::string::npos)
      std::fprintf(stderr, "%s\n", line.c_str());
  };
  host_ = std::make_unique<host::main::Host>(std::move(run));
  impl_->exit_code.reset();
  impl_->host_running = host_.get();
  impl_->host_thread = std::thread([this] {
    const int code = host_->Run();
    impl_->host_running = nullptr;
    const std::lock_guard lock(impl_->mutex);
    impl_->exit_code = code;
    impl_->ended.notify_all();
  });
  WaitForStart();
}

void Cluster::WaitForStart() {
  // Its timers (health polls, elections) are virtual, so time moves while it comes up.
  const auto end = std::chrono::steady_clock::now() + kStartLimit;
  while (impl_->host_running.load() != nullptr) {
    host::main::Host* h = impl_->host_running.load();
    // Active, too: a controller waits for its caches by the virtual clock, which Settle() does not
    // move.
    if (h != nullptr && h->ControllersActive()) {
      Settle();
      return;
    }
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "the host did not start its controllers in time";
      return;
    }
    impl_->starting = true;
    (void)clock_->Advance(50ms, std::chrono::seconds(20));
    impl_->starting = false;
    std::this_thread::yield();
  }
}

int Cluster::StopHost() {
  if (host::main::Host* h = impl_->host_running.load()) h->Signal();
  impl_->stopping = true;
  if (impl_->host_thread.joinable()) {
    std::unique_lock lock(impl_->mutex);
    const auto ended = [this] { return impl_->exit_code.has_value(); };
    bool in_time = impl_->ended.wait_for(lock, kStopLimit, ended);
    if (!in_time) ADD_FAILURE() << "the host does not stop while time stands still";
    for (; !in_time; in_time = impl_->ended.wait_for(lock, kStopStep, ended)) {
      lock.unlock();
      (void)clock_->Advance(1s, std::chrono::seconds(1));  // so that the test ends
      lock.lock();
    }
    lock.unlock();
    impl_->host_thread.join();
  }
  impl_->stopping = false;
  host_.reset();
  const std::lock_guard lock(impl_->mutex);
  return impl_->exit_code.value_or(-1);
}

bool Cluster::host_running() const { return impl_->host_thread.joinable(); }

const std::vector<std::string>& Cluster::log() const {
  const std::lock_guard lock(impl_->log->mutex);
  impl_->log_copy = impl_->log->lines;
  return impl_->log_copy;
}

void Cluster::Settle() {
  if (!clock_->Settle())
    ADD_FAILURE() << "the cluster did not settle: " << clock_->WhyBusy() << "; "
                  << impl_->WhyBusy(*server_);
}

void Cluster::Advance(std::chrono::nanoseconds d) {
  if (!clock_->Advance(d))
    ADD_FAILURE() << "the cluster did not settle while time advanced: " << clock_->WhyBusy() << "; "
                  << impl_->WhyBusy(*server_);
}

void Cluster::Until(const std::string& what, const std::function<bool()>& done,
                    std::chrono::nanoseconds limit, std::chrono::nanoseconds step) {
  Settle();
  for (std::chrono::nanoseconds passed{0}; !done(); passed += step) {
    if (passed >= limit) {
      ADD_FAILURE() << "not reached: " << what;
      return;
    }
    Advance(step);
  }
}

void Cluster::HoldCaches(const std::string& resource) {
  const KnownResource* r = FindResource(resource);
  if (r == nullptr || !impl_->held.empty())
    throw std::invalid_argument("caches that can not be held: " + resource);
  const std::string full = std::string(r->api_version) + "/" + std::string(r->plural);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->held = full;
  }
  server_->HoldWatches(full, true);
}

void Cluster::ReleaseCaches() {
  server_->HoldWatches(impl_->held, false);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->held.clear();
  }
  Settle();
}

void Cluster::LetCachesLag(bool lag) { impl_->lagging = lag; }

std::string Cluster::Now(std::chrono::seconds offset) const {
  return rules::FormatTime(clock_->Now() + offset);
}

Json Manifest(const std::string& text) {
  Json j = Json::parse(text, nullptr, false);
  if (j.is_discarded()) ADD_FAILURE() << "bad manifest: " << text;
  return j;
}

Json PodTemplate(const Json& labels, const std::string& image) {
  return {{"metadata", {{"labels", labels}}},
          {"spec", {{"containers", {{{"name", "c"}, {"image", image}}}}}}};
}

}  // namespace kcm::harness
