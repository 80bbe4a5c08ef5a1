// SPDX-License-Identifier: Apache-2.0
// Puts reflectors, kubelets and scheduler together.
#include "devcluster/nodes/simulated_nodes.h"

#include <utility>
#include <vector>

#include "devcluster/nodes/api_connection.h"
#include "devcluster/nodes/endpoint.h"
#include "devcluster/nodes/kubelets.h"
#include "devcluster/nodes/reflector.h"
#include "devcluster/nodes/scheduler.h"
#include "devcluster/nodes/work_pool.h"

namespace kcm::devcluster::nodes {
namespace {

Status Check(const NodesOptions& o) {
  if (o.count < 0) return MakeError(Code::kInvalid, "the number of nodes can not be negative");
  if (o.zones < 1) return MakeError(Code::kInvalid, "there must be at least one zone");
  if (o.connections < 1) return MakeError(Code::kInvalid, "there must be at least one connection");
  if (o.heartbeat <= host::clock::Duration::zero()) {
    return MakeError(Code::kInvalid, "the heartbeat period must be positive");
  }
  if (o.prefix.empty())
    return MakeError(Code::kInvalid, "the prefix of node names can not be empty");
  return Ok();
}

Result<Endpoint> EndpointOf(const NodesOptions& o) {
  if (o.kubeconfig.empty()) {
    if (o.server.empty())
      return MakeError(Code::kInvalid, "neither a kubeconfig nor a server is given");
    return ParseServerUrl(o.server);
  }
  Result<Endpoint> e = ParseKubeconfig(o.kubeconfig, o.kubeconfig_dir);
  if (!e.ok() || o.server.empty()) return e;
  Result<Endpoint> address = ParseServerUrl(o.server);
  if (!address.ok()) return address;
  e->tls = address->tls;
  e->host = address->host;
  e->port = address->port;
  e->path = address->path;
  return e;
}

}  // namespace

struct SimulatedNodes::Impl {
  const NodesOptions options;
  std::unique_ptr<host::clock::Clock> real_clock;  // when none was given
  host::clock::Clock& clock;
  // Set once in Start. In order of destruction: reflectors call what comes before them.
  std::unique_ptr<WorkPool> pool;
  std::unique_ptr<Kubelets> kubelets;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<Reflector<NodeObject>> nodes;
  std::unique_ptr<Reflector<Pod>> pods;
  std::unique_ptr<Reflector<Claim>> claims;

  explicit Impl(NodesOptions o)
      : options(std::move(o)),
        real_clock(options.clock == nullptr ? host::clock::MakeRealClock() : nullptr),
        clock(options.clock == nullptr ? *real_clock : *options.clock) {}

  void MakeReflectors(const std::shared_ptr<ApiServer>& server);
};

void SimulatedNodes::Impl::MakeReflectors(const std::shared_ptr<ApiServer>& server) {
  nodes = std::make_unique<Reflector<NodeObject>>(
      clock, server, "/api/v1/nodes",
      Reflector<NodeObject>::Listener{[this](std::vector<NodeObject> all) {
                                        if (scheduler) scheduler->OnNodes(all);
                                        kubelets->OnNodes(std::move(all));
                                      },
                                      [this](Change change, NodeObject node) {
                                        if (scheduler) scheduler->OnNode(change, node);
                                        kubelets->OnNode(change, std::move(node));
                                      },
                                      options.log});
  pods = std::make_unique<Reflector<Pod>>(
      clock, server, "/api/v1/pods",
      Reflector<Pod>::Listener{[this](std::vector<Pod> all) {
                                 kubelets->OnPods(all);
                                 if (scheduler) scheduler->OnPods(std::move(all));
                               },
                               [this](Change change, Pod pod) {
                                 kubelets->OnPod(change, pod);
                                 if (scheduler) scheduler->OnPod(change, std::move(pod));
                               },
                               options.log});
  if (!scheduler) return;
  claims = std::make_unique<Reflector<Claim>>(
      clock, server, "/api/v1/persistentvolumeclaims",
      Reflector<Claim>::Listener{
          [this](std::vector<Claim> all) { scheduler->OnClaims(std::move(all)); },
          [this](Change change, Claim claim) { scheduler->OnClaim(change, claim); }, options.log});
}

SimulatedNodes::SimulatedNodes(NodesOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

SimulatedNodes::~SimulatedNodes() { Stop(); }

Status SimulatedNodes::Start() {
  Impl& impl = *impl_;
  if (Status s = Check(impl.options); !s.ok()) return s;
  Result<Endpoint> endpoint = EndpointOf(impl.options);
  if (!endpoint.ok()) return endpoint.error();
  Result<std::shared_ptr<ApiServer>> server = ApiServer::Make(*endpoint);
  if (!server.ok()) return server.error();

  // One request first: a server that is not there is one clear error rather than one per node.
  const Answer hello = ApiConnection(*server).Call("GET", "/api/v1/nodes?limit=1");
  if (!hello.ok()) {
    return MakeError(Code::kUnavailable, "can not list nodes at " + endpoint->host + ":" +
                                             std::to_string(endpoint->port) + ": " +
                                             hello.Describe());
  }
  impl.pool = std::make_unique<WorkPool>(impl.clock, *server, impl.options.connections);
  impl.kubelets = std::make_unique<Kubelets>(
      impl.clock, *impl.pool,
      KubeletOptions{impl.options.count, impl.options.zones, impl.options.prefix,
                     impl.options.heartbeat, impl.options.log});
  if (impl.options.scheduler) {
    impl.scheduler = std::make_unique<Scheduler>(impl.clock, *impl.pool, impl.options.log);
  }
  impl.MakeReflectors(*server);
  impl.pool->Start();
  if (Status s = impl.kubelets->Register(); !s.ok()) return s;
  impl.kubelets->StartHeartbeats();
  impl.nodes->Start();
  impl.pods->Start();
  if (impl.claims) impl.claims->Start();
  return Ok();
}

void SimulatedNodes::Stop() {
  if (impl_->nodes) impl_->nodes->Stop();
  if (impl_->pods) impl_->pods->Stop();
  if (impl_->claims) impl_->claims->Stop();
  if (impl_->pool) impl_->pool->Stop();
}

uint64_t SimulatedNodes::ResourceVersionSeen(const std::string& resource) const {
  if (resource == "v1/pods") return impl_->pods ? impl_->pods->Seen() : 0;
  if (resource == "v1/nodes") return impl_->nodes ? impl_->nodes->Seen() : 0;
  if (resource == "v1/persistentvolumeclaims") return impl_->claims ? impl_->claims->Seen() : 0;
  return 0;
}

Status SimulatedNodes::Fail(const std::string& node) {
  if (!impl_->kubelets) return MakeError(Code::kStopped, "the simulated nodes are not started");
  return impl_->kubelets->Fail(node);
}

Status SimulatedNodes::Resume(const std::string& node) {
  if (!impl_->kubelets) return MakeError(Code::kStopped, "the simulated nodes are not started");
  return impl_->kubelets->Resume(node);
}

}  // namespace kcm::devcluster::nodes
