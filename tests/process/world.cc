// SPDX-License-Identifier: Apache-2.0
// The pieces of a World put together.
#include "process/world.h"

#include <filesystem>
#include <stdexcept>

#include "host/client/kubeconfig.h"
#include "host/client/transport.h"
#include "kcm/rules/result.h"

namespace kcm::process {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
constexpr auto kStartLimit = 60s;  // real time, on a machine that is busy with other builds

template <class T>
T Must(Result<T> made) {
  if (!made.ok()) throw std::runtime_error(made.error().message);
  return *std::move(made);
}
void Must(const Status& s) {
  if (!s.ok()) throw std::runtime_error(s.error().message);
}

}  // namespace

World::World(const WorldOptions& options)
    : clock_(host::clock::MakeRealClock()),
      server_(std::make_unique<devcluster::Server>(devcluster::ServerOptions{})),
      ca_("test-ca"),
      admin_(ca_.Client("admin", {"system:masters"})) {
  Must(server_->Start());
  server_->EnableAudit(true);
  host::client::TransportOptions t;
  t.clock = clock_.get();
  host::client::ClientOptions c;
  c.transport = Must(host::client::MakeTransport(
      Must(host::client::ParseKubeconfig(server_->Kubeconfig(), "/")), t));
  c.user_agent = "test/1";
  c.qps = -1;
  c.clock = clock_.get();
  client_ = std::make_unique<host::client::Client>(std::move(c));
  if (options.nodes > 0) {
    devcluster::nodes::NodesOptions n;
    n.kubeconfig = server_->Kubeconfig();
    n.count = options.nodes;
    nodes_ = std::make_unique<devcluster::nodes::SimulatedNodes>(n);
    Must(nodes_->Start());
  }
  fs::create_directory(dir_.path() + "/plugins");
  for (const std::string& family : options.plugins)
    fs::copy_file(PluginFile(family), dir_.path() + "/plugins/kcm-" + family + ".so");
  // The setting of spec/host.md 16: the root user has every right that controllers need. Admission
  // wants the account of pods.
  dir_.Write("kubeconfig", server_->Kubeconfig("system:kube-controller-manager", "system:masters"));
  if (!Post(
          "/api/v1/namespaces/default/serviceaccounts",
          {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}}))
    throw std::runtime_error("no service account for pods");
  dir_.Write("client-ca.crt", ca_.pem());
}

World::~World() {
  hosts_.clear();  // before their server, so that they end quietly
  if (nodes_) nodes_->Stop();
  client_.reset();
  server_->Stop();
}

Process& World::StartHost(const std::string& name, const std::vector<std::string>& flags) {
  Running& running = hosts_[name];
  running.port = FreePort();
  std::vector<std::string> command{HostBinary(),
                                   "--kubeconfig=" + kubeconfig(),
                                   "--plugin-dir=" + dir_.path() + "/plugins",
                                   "--plugin-watch=false",
                                   "--bind-address=127.0.0.1",
                                   "--secure-port=" + std::to_string(running.port),
                                   "--client-ca-file=" + dir_.path() + "/client-ca.crt"};
  command.insert(command.end(), flags.begin(), flags.end());
  running.process = std::make_unique<Process>(std::move(command), dir_.path(), name);
  return *running.process;
}

test::Reply World::Ask(const std::string& name, const std::string& target) const {
  test::Call call;
  call.target = target;
  call.client = admin_;
  return test::Send(port(name), call);
}

test::Reply World::Order(const std::string& name, const std::string& target,
                         const Json& body) const {
  test::Call call;
  call.method = "POST";
  call.target = target;
  call.body = body.dump();
  call.client = admin_;
  return test::Send(port(name), call);
}

bool World::Serves(const std::string& name) const {
  return Until(kStartLimit,
               [&] {
                 return !hosts_.at(name).process->running() || Ask(name, "/healthz").status == 200;
               }) &&
         hosts_.at(name).process->running();
}

bool World::Healthy(const std::string& name, const std::string& check) const {
  return Until(kStartLimit, [&] {
    return Ask(name, "/healthz?verbose").body.find("[+]" + check + " ok") != std::string::npos;
  });
}

std::optional<Json> World::Send(host::client::Verb verb, const std::string& path,
                                const std::string& body) {
  host::client::Call call;
  call.verb = verb;
  call.raw_path = path;
  call.body = body;
  if (!body.empty()) call.content_type = "application/json";
  call.accept = "application/json";
  call.form = host::client::Form::kRaw;
  const Result<host::client::Answer> answer = client_->Do(call);
  if (!answer.ok()) return std::nullopt;
  Json parsed = Json::parse(answer->raw, nullptr, false);
  if (parsed.is_discarded()) return std::nullopt;
  return parsed;
}

std::optional<Json> World::Get(const std::string& path) {
  return Send(host::client::Verb::kGet, path, "");
}
std::optional<Json> World::Answer(const std::string& path, const Json& body) {
  return Send(host::client::Verb::kCreate, path, body.dump());
}

int World::Pods(const std::string& label_selector) {
  const std::optional<Json> list =
      Get("/api/v1/namespaces/default/pods?labelSelector=" + label_selector);
  return list ? static_cast<int>((*list)["items"].size()) : -1;
}

Json World::Lease() {
  const std::optional<Json> lease =
      Get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager");
  return lease ? lease->value("spec", Json()) : Json();
}

}  // namespace kcm::process
