// SPDX-License-Identifier: Apache-2.0
// The test's own requests: objects, status, events, audit. Uses the host's client library, on a
// connection of its own.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/impl.h"
#include "harness/resources.h"
#include "host/client/client.h"
#include "host/client/kubeconfig.h"
#include "host/client/transport.h"

namespace kcm::harness {

struct Cluster::Impl::Http {
  std::shared_ptr<host::client::Transport> transport;
  std::unique_ptr<host::client::Client> client;
};

Cluster::Impl::Impl() = default;
Cluster::Impl::~Impl() = default;

void Cluster::Impl::Connect(devcluster::Server& server, host::clock::VirtualClock& clock) {
  const Result<host::client::Config> config =
      host::client::ParseKubeconfig(server.Kubeconfig(), "/");
  if (!config.ok()) throw std::runtime_error(config.error().message);
  host::client::TransportOptions t;
  t.clock = &clock;
  Result<std::shared_ptr<host::client::Transport>> transport =
      host::client::MakeTransport(*config, t);
  if (!transport.ok()) throw std::runtime_error(transport.error().message);
  http = std::make_unique<Http>();
  http->transport = *transport;
  host::client::ClientOptions o;
  o.transport = *transport;
  o.user_agent = "harness/1";
  o.qps = -1;
  o.clock = &clock;
  http->client = std::make_unique<host::client::Client>(std::move(o));
}

void Cluster::Impl::Disconnect() { http.reset(); }

Reply Cluster::Impl::Send(const std::string& method, const std::string& path,
                          const std::string& body, const std::string& content_type,
                          const std::string& accept) {
  host::client::Call call;
  call.verb = method == "POST"     ? host::client::Verb::kCreate
              : method == "PUT"    ? host::client::Verb::kUpdate
              : method == "PATCH"  ? host::client::Verb::kPatch
              : method == "DELETE" ? host::client::Verb::kDelete
                                   : host::client::Verb::kGet;
  call.raw_path = path;
  call.body = body;
  call.content_type = content_type.empty() && !body.empty() ? "application/json" : content_type;
  call.accept = accept.empty() ? "application/json" : accept;
  call.form = host::client::Form::kRaw;
  const Result<host::client::Answer> answer = http->client->Do(call);
  Reply reply;
  if (answer.ok()) {
    reply.status = answer->http_status;
    reply.body = Json::parse(answer->raw, nullptr, false);
    if (reply.body.is_discarded()) reply.body = answer->raw;
  } else {
    reply.status = answer.error().http_status;
    reply.body = {{"message", answer.error().message}, {"reason", answer.error().reason}};
  }
  return reply;
}

bool Cluster::Impl::Idle(const devcluster::Server& server) const {
  if (stopping) return true;
  if (server.RequestsInFlight() > 0) return false;
  if (nodes_running)
    for (const std::string& r : nodes->Watched()) {
      const uint64_t seen = nodes->ResourceVersionSeen(r);
      if (seen == 0 || seen < Needed(server, r)) return false;
    }
  if (starting || lagging) return true;
  host::main::Host* h = host_running.load();
  return h == nullptr ||
         h->CachesAtLeast([&](const std::string& resource) { return Needed(server, resource); });
}

uint64_t Cluster::Impl::Needed(const devcluster::Server& server,
                               const std::string& resource) const {
  const std::lock_guard lock(mutex);
  return resource == held ? 0 : server.ResourceVersion(resource);
}

std::string Cluster::Impl::WhyBusy(const devcluster::Server& server) const {
  std::string out = std::to_string(server.RequestsInFlight()) + " requests in flight";
  if (nodes_running)
    for (const std::string& r : nodes->Watched())
      out += ", nodes have seen " + r + " " + std::to_string(nodes->ResourceVersionSeen(r)) +
             " of " + std::to_string(server.ResourceVersion(r));
  if (host::main::Host* h = host_running.load()) {
    out += h->ControllersStarted() ? ", controllers started" : ", controllers not started";
    out += h->CachesAtLeast([&](const std::string& resource) { return Needed(server, resource); })
               ? ", caches current"
               : ", caches behind";
  }
  return out;
}

std::string Cluster::Path(const std::string& resource, const std::string& ns,
                          const std::string& name) {
  const size_t slash = resource.find('/');
  const std::string plural = resource.substr(0, slash);
  const KnownResource* r = FindResource(plural);
  if (r == nullptr) {
    ADD_FAILURE() << "resource unknown to the harness: " << plural;
    return "/";
  }
  std::string path = r->api_version == "v1" ? "/api/v1" : "/apis/" + std::string(r->api_version);
  if (r->namespaced && !ns.empty()) path += "/namespaces/" + ns;
  path += "/" + plural;
  if (!name.empty()) path += "/" + name;
  if (slash != std::string::npos) path += resource.substr(slash);
  return path;
}

Reply Cluster::Request(const std::string& method, const std::string& path, const std::string& body,
                       const std::string& content_type, const std::string& accept) {
  return impl_->Send(method, path, body, content_type, accept);
}

namespace {
Json Expect(const Reply& reply, const std::string& what) {
  if (!reply.ok()) ADD_FAILURE() << what << ": " << reply.status << " " << reply.body.dump();
  return reply.body;
}
std::string PluralOf(const Json& manifest) {
  const KnownResource* r = FindResource(manifest.value("kind", ""));
  return r == nullptr ? manifest.value("kind", "no kind") : std::string(r->plural);
}
std::string NamespaceOf(const Json& object) {
  return object.value("/metadata/namespace"_json_pointer, std::string("default"));
}
}  // namespace

Reply Cluster::TryCreate(const Json& manifest) {
  return Request("POST", Path(PluralOf(manifest), NamespaceOf(manifest), ""), manifest.dump());
}
Json Cluster::Create(const Json& manifest) {
  return Expect(TryCreate(manifest), "create " + manifest.value("kind", "?"));
}

std::optional<Json> Cluster::Find(const std::string& resource, const std::string& name,
                                  const std::string& ns) {
  Reply reply = Request("GET", Path(resource, ns, name));
  if (reply.status == 404) return std::nullopt;
  return Expect(reply, "get " + resource + " " + name);
}
Json Cluster::Get(const std::string& resource, const std::string& name, const std::string& ns) {
  return Expect(Request("GET", Path(resource, ns, name)), "get " + resource + " " + name);
}
std::vector<Json> Cluster::List(const std::string& resource, const std::string& ns,
                                const std::string& label_selector) {
  std::string path = Path(resource, ns, "");
  if (!label_selector.empty()) {
    path += "?labelSelector=";
    for (char c : label_selector)
      path += c == '='   ? std::string("%3D")
              : c == ',' ? "%2C"
              : c == ' ' ? "%20"
                         : std::string(1, c);
  }
  const Json list = Expect(Request("GET", path), "list " + resource);
  if (!list.contains("items") || !list["items"].is_array()) return {};
  return list["items"].get<std::vector<Json>>();
}
Reply Cluster::TryUpdate(const std::string& resource, const Json& object) {
  return Request(
      "PUT",
      Path(resource.substr(0, resource.find('/')), NamespaceOf(object),
           object["metadata"]["name"]) +
          (resource.find('/') == std::string::npos ? "" : resource.substr(resource.find('/'))),
      object.dump());
}
Json Cluster::Update(const std::string& resource, const Json& object) {
  return Expect(TryUpdate(resource, object), "update " + resource);
}

namespace {
// "pods/status" with a name: .../pods/NAME/status.
std::string ItemPath(const std::string& resource, const std::string& ns, const std::string& name) {
  const size_t slash = resource.find('/');
  return Cluster::Path(resource.substr(0, slash), ns, name) +
         (slash == std::string::npos ? "" : resource.substr(slash));
}
}  // namespace

Json Cluster::MergePatch(const std::string& resource, const std::string& name, const Json& patch,
                         const std::string& ns) {
  return Expect(
      Request("PATCH", ItemPath(resource, ns, name), patch.dump(), "application/merge-patch+json"),
      "patch " + resource + " " + name);
}
Json Cluster::PatchStatus(const std::string& resource, const std::string& name, const Json& status,
                          const std::string& ns) {
  return MergePatch(resource + "/status", name, {{"status", status}}, ns);
}
Reply Cluster::TryDelete(const std::string& resource, const std::string& name, const Json& options,
                         const std::string& ns) {
  Json body = options;
  body["kind"] = "DeleteOptions";
  body["apiVersion"] = "v1";
  return Request("DELETE", ItemPath(resource, ns, name), body.dump());
}
void Cluster::Delete(const std::string& resource, const std::string& name, const Json& options,
                     const std::string& ns) {
  (void)Expect(TryDelete(resource, name, options, ns), "delete " + resource + " " + name);
}

void Cluster::Bind(const std::string& pod, const std::string& node, const std::string& ns) {
  const Json body{{"apiVersion", "v1"},
                  {"kind", "Binding"},
                  {"metadata", {{"name", pod}}},
                  {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  (void)Expect(Request("POST", ItemPath("pods/binding", ns, pod), body.dump()), "bind " + pod);
}

namespace {
Json ReadyStatus(const std::string& now, bool ready) {
  const std::string value = ready ? "True" : "False";
  return {{"phase", "Running"},
          {"conditions",
           {{{"type", "Ready"}, {"status", value}, {"lastTransitionTime", now}},
            {{"type", "ContainersReady"}, {"status", value}, {"lastTransitionTime", now}}}}};
}
}  // namespace

void Cluster::MakeReady(const std::string& pod, const std::string& ns) {
  (void)PatchStatus("pods", pod, ReadyStatus(Now(), true), ns);
}
void Cluster::MakeNotReady(const std::string& pod, const std::string& ns) {
  (void)PatchStatus("pods", pod, ReadyStatus(Now(), false), ns);
}
void Cluster::MakeAllReady(const std::string& label_selector, const std::string& ns) {
  for (const Json& pod : List("pods", ns, label_selector)) MakeReady(pod["metadata"]["name"], ns);
}

std::vector<std::string> Cluster::Events(const std::string& kind, const std::string& name,
                                         const std::string& ns) {
  std::vector<std::string> out;
  for (const Json& e : List("events", ns)) {
    const Json& about = e["involvedObject"];
    if (about.value("kind", "") != kind || about.value("name", "") != name) continue;
    out.push_back(e.value("type", "") + " " + e.value("reason", "") + " " + e.value("message", ""));
  }
  return out;
}
bool Cluster::HasEvent(const std::string& kind, const std::string& name, const std::string& reason,
                       const std::string& text, const std::string& ns) {
  const std::vector<std::string> all = Events(kind, name, ns);
  return std::any_of(all.begin(), all.end(), [&](const std::string& line) {
    return line.find(" " + reason + " ") != std::string::npos &&
           line.find(text) != std::string::npos;
  });
}

std::vector<devcluster::Server::AuditEntry> Cluster::Audit() { return server_->TakeAudit(); }

std::vector<std::string> Cluster::HostWrites() {
  std::vector<std::string> out;
  for (const devcluster::Server::AuditEntry& e : server_->TakeAudit()) {
    if (e.method == "GET" || e.user_agent.find("kube-controller-manager/") != 0) continue;
    if (e.uri.find("/events") != std::string::npos || e.uri.find("/leases") != std::string::npos ||
        e.uri.find("tokenreviews") != std::string::npos ||
        e.uri.find("subjectaccessreviews") != std::string::npos)
      continue;
    out.push_back(e.method + " " + e.uri.substr(0, e.uri.find('?')));
  }
  return out;
}

}  // namespace kcm::harness
