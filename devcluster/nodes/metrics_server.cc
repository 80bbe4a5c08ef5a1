// SPDX-License-Identifier: Apache-2.0
// Routes of the metrics APIs and their registration.
#include "devcluster/nodes/metrics_server.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "devcluster/nodes/json_text.h"
#include "devcluster/nodes/metrics.h"
#include "devcluster/server/http_connection.h"
#include "devcluster/server/http_server.h"
#include "devcluster/server/tls.h"
#include "devcluster/server/url.h"

namespace kcm::devcluster::nodes {
namespace {

using nlohmann::json;
using rules::LabelSelector;
using rules::WallTime;

constexpr char kNamespace[] = "kube-system";
constexpr char kService[] = "kcm-sim-metrics";
constexpr char kApiServices[] = "/apis/apiregistration.k8s.io/v1/apiservices";
constexpr char kMetrics[] = "metrics.k8s.io";
constexpr char kCustom[] = "custom.metrics.k8s.io";
constexpr char kExternal[] = "external.metrics.k8s.io";

struct GroupVersion {
  const char *group, *version;
  int priority;  // among the versions of its group
};
constexpr GroupVersion kServed[] = {{kMetrics, "v1beta1", 100},
                                    {kCustom, "v1beta2", 200},
                                    {kCustom, "v1beta1", 100},
                                    {kExternal, "v1beta1", 100}};

struct Reply {
  int code = 200;
  json body;
};

Reply Failed(int code, const char* reason, const std::string& message) {
  return {code,
          {{"kind", "Status"},
           {"apiVersion", "v1"},
           {"metadata", json::object()},
           {"status", "Failure"},
           {"reason", reason},
           {"message", message},
           {"code", code}}};
}
Reply NotFound(const std::string& what) { return Failed(404, "NotFound", what + " not found"); }

json ListOf(const char* kind, const std::string& group_version, json items) {
  return {{"kind", kind},
          {"apiVersion", group_version},
          {"metadata", json::object()},
          {"items", std::move(items)}};
}

std::string AnnotationIn(const json& object, const std::string& name) {
  const json::json_pointer annotations("/metadata/annotations");
  if (!object.contains(annotations)) return {};
  return object.at(annotations).value(name, "");
}

json ResourceList(const std::string& group, const std::string& version) {
  json resources = json::array();
  if (group == kMetrics) {
    const json verbs = {"get", "list"};
    resources.push_back({{"name", "nodes"},
                         {"singularName", ""},
                         {"namespaced", false},
                         {"kind", "NodeMetrics"},
                         {"verbs", verbs}});
    resources.push_back({{"name", "pods"},
                         {"singularName", ""},
                         {"namespaced", true},
                         {"kind", "PodMetrics"},
                         {"verbs", verbs}});
  }
  // The names of custom and external metrics are whatever annotations say.
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", group + "/" + version},
          {"resources", std::move(resources)}};
}

}  // namespace

struct MetricsServer::Impl {
  host::clock::Clock& clock;
  std::shared_ptr<ApiServer> server;
  Kubelets& kubelets;
  const std::string address;
  const std::function<void(const std::string&)> log;
  CertificateAuthority authority;
  std::unique_ptr<HttpServer> http;
  bool registered = false;

  std::mutex mu;  // serializes the use of `api`
  ApiConnection api;

  Impl(host::clock::Clock& c, std::shared_ptr<ApiServer> s, Kubelets& k, std::string a,
       std::function<void(const std::string&)> l)
      : clock(c), server(s), kubelets(k), address(std::move(a)), log(std::move(l)), api(s) {}

  Answer Call(const std::string& method, const std::string& path, const std::string& body = {},
              const char* type = kJson) {
    const std::lock_guard lock(mu);
    return api.Call(method, path, body, type);
  }
  Status Put(const std::string& collection, const std::string& name, const json& body);
  Status Register();
  std::optional<json> Read(const std::string& path);

  void Handle(const HttpRequest& request, Connection& connection);
  Reply Route(const HttpRequest& request);
  Reply Resources(const std::vector<std::string>& path, const Query& query);
  Reply Custom(const std::vector<std::string>& path, const Query& query);
  Reply External(const std::vector<std::string>& path, const Query& query);
  Reply CustomOfPods(const std::string& version, const std::string& ns, const std::string& metric,
                     const Query& query);
  Reply CustomOfObject(const std::string& version, const std::string& ns,
                       const std::string& resource, const std::string& name,
                       const std::string& metric);
  std::string PathOf(const std::string& ns, const std::string& resource, const std::string& name);
};

// ---- routes; `path` is what follows /apis/GROUP, the version first

void MetricsServer::Impl::Handle(const HttpRequest& request, Connection& connection) {
  Reply reply;
  try {
    reply = Route(request);
  } catch (const std::exception& e) {
    reply = Failed(500, "InternalError", e.what());
  }
  connection.Send(reply.code, "application/json", "", Dump(reply.body));
}

Reply MetricsServer::Impl::Route(const HttpRequest& request) {
  if (request.method != "GET") return Failed(405, "MethodNotAllowed", "only GET is served here");
  std::vector<std::string> path = ParsePath(request.path()).segments;
  const Query query(request.query());
  if (path.size() == 1 && path[0] == "healthz") return {200, "ok"};
  if (path.size() < 3 || path[0] != "apis") return NotFound(request.target);
  const std::string group = path[1];
  path.erase(path.begin(), path.begin() + 2);
  const bool served = std::any_of(std::begin(kServed), std::end(kServed), [&](const auto& s) {
    return group == s.group && path[0] == s.version;
  });
  if (!served) return NotFound(request.target);
  if (path.size() == 1) return {200, ResourceList(group, path[0])};
  const auto selector = LabelSelector::Parse(query.Get("labelSelector"));
  if (!selector.ok()) return Failed(400, "BadRequest", selector.error().message);
  if (group == kMetrics) return Resources(path, query);
  if (group == kCustom) return Custom(path, query);
  return External(path, query);
}

Reply MetricsServer::Impl::Resources(const std::vector<std::string>& path, const Query& query) {
  const LabelSelector selector = *LabelSelector::Parse(query.Get("labelSelector"));
  const WallTime now = clock.Now();
  const std::vector<MeteredPod> pods = kubelets.pods().Running("");
  const std::vector<PodUsage> usages = UsageOf(pods);
  const std::string version = std::string(kMetrics) + "/v1beta1";
  if (path[1] == "nodes" && path.size() <= 3) {
    json items = json::array();
    for (const auto& [name, labels] : kubelets.RunningNodes()) {
      if (path.size() == 3 ? name != path[2] : !Matches(selector, labels)) continue;
      std::vector<const PodUsage*> here;
      for (const PodUsage& u : usages) {
        if (u.pod->node == name) here.push_back(&u);
      }
      items.push_back(NodeMetricsJson(name, here, now));
    }
    if (path.size() == 2) return {200, ListOf("NodeMetricsList", version, std::move(items))};
    if (items.empty()) return NotFound("nodemetrics.metrics.k8s.io \"" + path[2] + "\"");
    return {200, items[0]};
  }
  const bool all = path.size() == 2 && path[1] == "pods";
  const bool some =
      path.size() >= 4 && path.size() <= 5 && path[1] == "namespaces" && path[3] == "pods";
  if (!all && !some) return NotFound("the resource");
  json items = json::array();
  for (const PodUsage& u : usages) {
    if (some && u.pod->ns != path[2]) continue;
    if (path.size() == 5 ? u.pod->name != path[4] : !Matches(selector, u.pod->labels)) continue;
    items.push_back(PodMetricsJson(u, now));
  }
  if (path.size() != 5) return {200, ListOf("PodMetricsList", version, std::move(items))};
  if (items.empty()) {
    return NotFound("podmetrics.metrics.k8s.io \"" + path[2] + "/" + path[4] + "\"");
  }
  return {200, items[0]};
}

Reply MetricsServer::Impl::Custom(const std::vector<std::string>& path, const Query& query) {
  if (path.size() < 5 || path[1] != "namespaces") return NotFound("the metric");
  // .../namespaces/NS/metrics/METRIC is about the namespace itself.
  if (path.size() == 5 && path[3] == "metrics") {
    return CustomOfObject(path[0], "", "namespaces", path[2], path[4]);
  }
  if (path.size() != 6) return NotFound("the metric");
  if (path[3] == "pods" && path[4] == "*") return CustomOfPods(path[0], path[2], path[5], query);
  return CustomOfObject(path[0], path[2], path[3], path[4], path[5]);
}

Reply MetricsServer::Impl::CustomOfPods(const std::string& version, const std::string& ns,
                                        const std::string& metric, const Query& query) {
  const LabelSelector selector = *LabelSelector::Parse(query.Get("labelSelector"));
  json items = json::array();
  for (const MeteredPod& pod : kubelets.pods().Running(ns)) {
    const auto value = pod.annotations.find("sim/metric." + metric);
    if (value == pod.annotations.end() || !Matches(selector, pod.labels)) continue;
    items.push_back(
        MetricValueJson(version, {"Pod", "v1", ns, pod.name}, metric, value->second, clock.Now()));
  }
  if (items.empty()) {
    return Failed(404, "NotFound", "the server could not find the metric " + metric + " for pods");
  }
  return {200, ListOf("MetricValueList", std::string(kCustom) + "/" + version, std::move(items))};
}

std::optional<json> MetricsServer::Impl::Read(const std::string& path) {
  const Answer a = Call("GET", path);
  json object = json::parse(a.body, nullptr, false);
  if (!a.ok() || !object.is_object()) return std::nullopt;
  return object;
}

// "deployments.apps" as its path in the version that the server prefers; empty when there is none.
std::string MetricsServer::Impl::PathOf(const std::string& ns, const std::string& resource,
                                        const std::string& name) {
  const size_t dot = resource.find('.');
  std::string path = "/api/v1";
  if (dot != std::string::npos) {
    const std::string group = resource.substr(dot + 1);
    const std::optional<json> found = Read("/apis/" + group);
    const json::json_pointer preferred("/preferredVersion/version");
    if (!found || !found->contains(preferred)) return {};
    path = "/apis/" + group + "/" + found->at(preferred).get<std::string>();
  }
  if (!ns.empty()) path += "/namespaces/" + ns;
  return path + "/" + resource.substr(0, dot) + "/" + name;
}

Reply MetricsServer::Impl::CustomOfObject(const std::string& version, const std::string& ns,
                                          const std::string& resource, const std::string& name,
                                          const std::string& metric) {
  const std::string path = PathOf(ns, resource, name);
  const std::optional<json> object = path.empty() ? std::nullopt : Read(path);
  const std::string value = object ? AnnotationIn(*object, "sim/metric." + metric) : "";
  if (value.empty()) {
    return Failed(
        404, "NotFound",
        "the server could not find the metric " + metric + " for " + resource + " " + name);
  }
  json items = json::array();
  items.push_back(MetricValueJson(
      version, {object->value("kind", ""), object->value("apiVersion", ""), ns, name}, metric,
      value, clock.Now()));
  return {200, ListOf("MetricValueList", std::string(kCustom) + "/" + version, std::move(items))};
}

Reply MetricsServer::Impl::External(const std::vector<std::string>& path, const Query& query) {
  if (path.size() != 4 || path[1] != "namespaces") return NotFound("the metric");
  const LabelSelector selector = *LabelSelector::Parse(query.Get("labelSelector"));
  const std::optional<json> ns = Read("/api/v1/namespaces/" + path[2]);
  if (!ns) return NotFound("namespace " + path[2]);
  const std::string text = AnnotationIn(*ns, "sim/external." + path[3]);
  json items = json::array();
  if (!text.empty()) {
    Result<json> values = ExternalValues(path[3], text, selector, clock.Now());
    if (!values.ok()) return Failed(400, "BadRequest", values.error().message);
    items = std::move(*values);
  }
  return {200,
          ListOf("ExternalMetricValueList", std::string(kExternal) + "/v1beta1", std::move(items))};
}

// ---- registration

// Creates the object, or changes the one that an earlier run has left.
Status MetricsServer::Impl::Put(const std::string& collection, const std::string& name,
                                const json& body) {
  Answer a = Call("POST", collection, Dump(body));
  if (a.status == 409) {
    a = Call("PATCH", collection + "/" + name, Dump({{"spec", body["spec"]}}), kMergePatch);
  }
  if (a.ok()) return Ok();
  return MakeError(Code::kUnavailable, "register simulated metrics: " + name + ": " + a.Describe());
}

Status MetricsServer::Impl::Register() {
  const json service = {{"apiVersion", "v1"},
                        {"kind", "Service"},
                        {"metadata", {{"name", kService}, {"namespace", kNamespace}}},
                        {"spec", {{"type", "ExternalName"}, {"externalName", address}}}};
  registered = true;  // whatever got there goes again at the end
  Status s = Put(std::string("/api/v1/namespaces/") + kNamespace + "/services", kService, service);
  for (const GroupVersion& v : kServed) {
    if (!s.ok()) return s;
    const std::string name = std::string(v.version) + "." + v.group;
    const json body = {
        {"apiVersion", "apiregistration.k8s.io/v1"},
        {"kind", "APIService"},
        {"metadata", {{"name", name}}},
        {"spec",
         {{"group", v.group},
          {"version", v.version},
          {"groupPriorityMinimum", 100},
          {"versionPriority", v.priority},
          {"insecureSkipTLSVerify", true},
          {"service", {{"name", kService}, {"namespace", kNamespace}, {"port", http->port()}}}}}};
    s = Put(kApiServices, name, body);
  }
  return s;
}

MetricsServer::MetricsServer(host::clock::Clock& clock, std::shared_ptr<ApiServer> server,
                             Kubelets& kubelets, std::string address,
                             std::function<void(const std::string&)> log)
    : impl_(std::make_unique<Impl>(clock, std::move(server), kubelets, std::move(address),
                                   std::move(log))) {}
MetricsServer::~MetricsServer() { Stop(); }

Status MetricsServer::Start() {
  if (Status s = impl_->authority.Init(CertificateAuthority::NewAuthorityPem(), impl_->address);
      !s.ok())
    return s;
  impl_->http = std::make_unique<HttpServer>(
      impl_->authority.server_context(),
      [impl = impl_.get()](const HttpRequest& request, Connection& connection) {
        impl->Handle(request, connection);
      });
  if (Status s = impl_->http->Start(impl_->address, 0); !s.ok()) return s;
  return impl_->Register();
}

void MetricsServer::Stop() {
  if (std::exchange(impl_->registered, false)) {
    for (const GroupVersion& v : kServed) {
      const std::string path = std::string(kApiServices) + "/" + v.version + "." + v.group;
      const Answer a = impl_->Call("DELETE", path);
      if (a.status == 0)
        break;  // the server has gone: so has the registration, or it is out of reach
      if (!a.ok() && a.status != 404 && impl_->log)
        impl_->log("delete " + path + ": " + a.Describe());
    }
    impl_->Call("DELETE",
                std::string("/api/v1/namespaces/") + kNamespace + "/services/" + kService);
  }
  if (impl_->http) impl_->http->Stop();
}

}  // namespace kcm::devcluster::nodes
