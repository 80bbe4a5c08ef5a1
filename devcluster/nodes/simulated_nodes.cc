// SPDX-License-Identifier: Apache-2.0
// Puts reflectors, kubelets, scheduler and drivers together.
#include "devcluster/nodes/simulated_nodes.h"

#include <map>
#include <utility>
#include <vector>

#include "devcluster/nodes/api_connection.h"
#include "devcluster/nodes/csi_driver.h"
#include "devcluster/nodes/dra_driver.h"
#include "devcluster/nodes/endpoint.h"
#include "devcluster/nodes/kubelets.h"
#include "devcluster/nodes/metrics_server.h"
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
  if (o.devices < 0 || o.devices > kMostDevicesOfANode) {
    return MakeError(Code::kInvalid, "the number of devices of a node must be from 0 to " +
                                         std::to_string(kMostDevicesOfANode));
  }
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
  std::unique_ptr<CsiDriver> csi;
  std::unique_ptr<DraDriver> dra;
  std::unique_ptr<MetricsServer> metrics;
  std::unique_ptr<Reflector<NodeObject>> nodes;
  std::unique_ptr<Reflector<Pod>> pods;
  std::unique_ptr<Reflector<Claim>> claims;
  std::vector<std::unique_ptr<Reflector<JsonObject>>> objects;
  std::map<std::string, std::function<uint64_t()>> seen;  // by watched resource

  explicit Impl(NodesOptions o)
      : options(std::move(o)),
        real_clock(options.clock == nullptr ? host::clock::MakeRealClock() : nullptr),
        clock(options.clock == nullptr ? *real_clock : *options.clock) {}

  void MakeParts(const std::shared_ptr<ApiServer>& server, bool devices_served);
  void MakeReflectors(const std::shared_ptr<ApiServer>& server, bool devices_served);
  using OnAll = std::function<void(std::vector<JsonObject>)>;
  using OnOne = std::function<void(Change, JsonObject)>;
  void WatchObjects(const std::shared_ptr<ApiServer>& server, const std::string& resource,
                    OnAll all, OnOne one);
  void WatchBook(const std::shared_ptr<ApiServer>& server, const std::string& resource, Book book);
  void WatchVolumes(const std::shared_ptr<ApiServer>& server);
  void StartReflectors();
};

namespace {
// "v1/pods" as "/api/v1/pods".
std::string PathOf(const std::string& resource) {
  return (resource.starts_with("v1/") ? "/api/" : "/apis/") + resource;
}
}  // namespace

void SimulatedNodes::Impl::WatchObjects(const std::shared_ptr<ApiServer>& server,
                                        const std::string& resource, OnAll all, OnOne one) {
  objects.push_back(std::make_unique<Reflector<JsonObject>>(
      clock, server, PathOf(resource),
      Reflector<JsonObject>::Listener{std::move(all), std::move(one), options.log}));
  seen[resource] = [reflector = objects.back().get()] { return reflector->Seen(); };
}

// A kind that only the scheduler reads.
void SimulatedNodes::Impl::WatchBook(const std::shared_ptr<ApiServer>& server,
                                     const std::string& resource, Book book) {
  WatchObjects(
      server, resource,
      [this, book](std::vector<JsonObject> all) { scheduler->OnObjects(book, std::move(all)); },
      [this, book](Change change, JsonObject o) {
        scheduler->OnObject(book, change, std::move(o));
      });
}

void SimulatedNodes::Impl::WatchVolumes(const std::shared_ptr<ApiServer>& server) {
  claims = std::make_unique<Reflector<Claim>>(
      clock, server, "/api/v1/persistentvolumeclaims",
      Reflector<Claim>::Listener{[this](std::vector<Claim> all) {
                                   if (csi) csi->OnClaims(all);
                                   if (scheduler) scheduler->OnClaims(std::move(all));
                                 },
                                 [this](Change change, Claim claim) {
                                   if (csi) csi->OnClaim(change, claim);
                                   if (scheduler) scheduler->OnClaim(change, claim);
                                 },
                                 options.log});
  seen["v1/persistentvolumeclaims"] = [this] { return claims->Seen(); };
  WatchObjects(
      server, "v1/persistentvolumes",
      [this](std::vector<JsonObject> all) {
        if (csi) csi->OnVolumes(all);
        if (scheduler) scheduler->OnObjects(Book::kVolumes, std::move(all));
      },
      [this](Change change, JsonObject o) {
        if (csi) csi->OnVolume(change, o);
        if (scheduler) scheduler->OnObject(Book::kVolumes, change, std::move(o));
      });
  WatchObjects(
      server, "storage.k8s.io/v1/storageclasses",
      [this](std::vector<JsonObject> all) {
        if (csi) csi->OnClasses(all);
        if (scheduler) scheduler->OnObjects(Book::kStorageClasses, std::move(all));
      },
      [this](Change change, JsonObject o) {
        if (csi) csi->OnClass(change, o);
        if (scheduler) scheduler->OnObject(Book::kStorageClasses, change, std::move(o));
      });
  if (!csi) return;
  WatchObjects(
      server, "storage.k8s.io/v1/volumeattachments",
      [this](std::vector<JsonObject> all) { csi->OnAttachments(std::move(all)); },
      [this](Change change, JsonObject o) { csi->OnAttachment(change, std::move(o)); });
}

// The kubelets come first: who else is told of a node or pod may ask them.
void SimulatedNodes::Impl::MakeReflectors(const std::shared_ptr<ApiServer>& server,
                                          bool devices_served) {
  nodes = std::make_unique<Reflector<NodeObject>>(
      clock, server, "/api/v1/nodes",
      Reflector<NodeObject>::Listener{[this](std::vector<NodeObject> all) {
                                        kubelets->OnNodes(all);
                                        if (csi) csi->OnNodes(all);
                                        if (dra) dra->OnNodes(all);
                                        if (scheduler) scheduler->OnNodes(std::move(all));
                                      },
                                      [this](Change change, NodeObject node) {
                                        kubelets->OnNode(change, node);
                                        if (csi) csi->OnNode(change, node);
                                        if (dra) dra->OnNode(change, node);
                                        if (scheduler) scheduler->OnNode(change, std::move(node));
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
  seen["v1/nodes"] = [this] { return nodes->Seen(); };
  seen["v1/pods"] = [this] { return pods->Seen(); };
  if (scheduler || csi) WatchVolumes(server);
  if (!scheduler || !devices_served) return;
  WatchBook(server, "resource.k8s.io/v1/resourceclaims", Book::kDeviceClaims);
  WatchBook(server, "resource.k8s.io/v1/deviceclasses", Book::kDeviceClasses);
  WatchBook(server, "resource.k8s.io/v1/resourceslices", Book::kDeviceSlices);
}

void SimulatedNodes::Impl::MakeParts(const std::shared_ptr<ApiServer>& server,
                                     bool devices_served) {
  pool = std::make_unique<WorkPool>(clock, server, options.connections);
  kubelets = std::make_unique<Kubelets>(
      clock, *pool,
      KubeletOptions{options.count, options.zones, options.prefix, options.heartbeat, options.log});
  if (options.scheduler) {
    scheduler = std::make_unique<Scheduler>(clock, *pool, devices_served, options.log);
  }
  const auto ours = [this](const std::string& node) { return kubelets->Simulates(node); };
  if (options.csi) csi = std::make_unique<CsiDriver>(clock, *pool, ours, options.log);
  if (options.devices > 0) {
    dra = std::make_unique<DraDriver>(*pool, options.devices, ours, options.log);
  }
  if (options.metrics) {
    metrics = std::make_unique<MetricsServer>(clock, server, *kubelets, options.metrics_address,
                                              options.log);
  }
}

void SimulatedNodes::Impl::StartReflectors() {
  nodes->Start();
  pods->Start();
  if (claims) claims->Start();
  for (const auto& reflector : objects) reflector->Start();
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
  ApiConnection first(*server);
  const Answer hello = first.Call("GET", "/api/v1/nodes?limit=1");
  if (!hello.ok()) {
    return MakeError(Code::kUnavailable, "can not list nodes at " + endpoint->host + ":" +
                                             std::to_string(endpoint->port) + ": " +
                                             hello.Describe());
  }
  const bool devices_served = first.Call("GET", "/apis/resource.k8s.io/v1").ok();
  if (impl.options.devices > 0 && !devices_served) {
    return MakeError(Code::kUnsupported,
                     "this server does not serve resource.k8s.io/v1 (Kubernetes 1.34): it has no "
                     "use for simulated devices");
  }
  impl.MakeParts(*server, devices_served);
  impl.MakeReflectors(*server, devices_served);
  impl.pool->Start();
  if (Status s = impl.kubelets->Register(); !s.ok()) return s;
  impl.kubelets->StartHeartbeats();
  if (impl.csi) impl.csi->Register();
  if (impl.dra) impl.dra->Register();
  impl.StartReflectors();
  return impl.metrics ? impl.metrics->Start() : Ok();
}

void SimulatedNodes::Stop() {
  if (impl_->metrics) impl_->metrics->Stop();
  if (impl_->nodes) impl_->nodes->Stop();
  if (impl_->pods) impl_->pods->Stop();
  if (impl_->claims) impl_->claims->Stop();
  for (const auto& reflector : impl_->objects) reflector->Stop();
  if (impl_->pool) impl_->pool->Stop();
}

std::vector<std::string> SimulatedNodes::Watched() const {
  std::vector<std::string> out;
  for (const auto& [resource, version] : impl_->seen) out.push_back(resource);
  return out;
}

uint64_t SimulatedNodes::ResourceVersionSeen(const std::string& resource) const {
  const auto it = impl_->seen.find(resource);
  return it == impl_->seen.end() ? 0 : it->second();
}

Status SimulatedNodes::Fail(const std::string& node) {
  if (!impl_->kubelets) return MakeError(Code::kStopped, "the simulated nodes are not started");
  return impl_->kubelets->Fail(node);
}

Status SimulatedNodes::Resume(const std::string& node) {
  if (!impl_->kubelets) return MakeError(Code::kStopped, "the simulated nodes are not started");
  return impl_->kubelets->Resume(node);
}

Status OrderFailure(const NodesOptions& options, const std::string& node, bool fail) {
  Result<Endpoint> endpoint = EndpointOf(options);
  if (!endpoint.ok()) return endpoint.error();
  Result<std::shared_ptr<ApiServer>> server = ApiServer::Make(*endpoint);
  if (!server.ok()) return server.error();
  const std::string body = std::string(R"({"metadata":{"annotations":{"sim/fail":)") +
                           (fail ? R"("true")" : "null") + "}}}";
  const Answer a = ApiConnection(*server).Call("PATCH", "/api/v1/nodes/" + node, body, kMergePatch);
  if (a.ok()) return Ok();
  return MakeError(a.status == 404 ? Code::kNotFound : Code::kUnavailable,
                   "annotate node " + node + ": " + a.Describe());
}

}  // namespace kcm::devcluster::nodes
