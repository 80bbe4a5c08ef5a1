// SPDX-License-Identifier: Apache-2.0
// The server as a whole (server.h): parts, life cycle, what happens around each request.
#include "devcluster/server/server.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "devcluster/server/authenticate.h"
#include "devcluster/server/convert.h"
#include "devcluster/server/core.h"
#include "devcluster/server/crd.h"
#include "devcluster/server/data_dir.h"
#include "devcluster/server/dispatch.h"
#include "devcluster/server/faults.h"
#include "devcluster/server/gzip.h"
#include "devcluster/server/http_server.h"
#include "devcluster/server/tls.h"
#include "devcluster/server/tokens.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

// What admission, strategies and the authorizer read.
class StoreReader final : public Reader {
 public:
  explicit StoreReader(const State* state) : state_(state) {}

  std::optional<Json> Get(const Gvr& gvr, std::string_view ns,
                          std::string_view name) const override {
    const ResourcePtr r = state_->resources->Find(gvr);
    if (!r) return std::nullopt;
    const ObjectPtr object = state_->store->Get(*r->table, Store::Key(ns, name));
    if (!object) return std::nullopt;
    return EditableInVersion(*r, *object);
  }

  std::vector<Json> List(const Gvr& gvr, std::string_view ns) const override {
    std::vector<Json> out;
    const ResourcePtr r = state_->resources->Find(gvr);
    if (!r) return out;
    for (const ObjectPtr& object : state_->store->List(*r->table, ns, "", 0).items) {
      out.push_back(EditableInVersion(*r, *object));
    }
    return out;
  }

  uint64_t AuthorizationRevision() const override {
    uint64_t highest = 0;
    for (const char* name : {"roles", "rolebindings", "clusterroles", "clusterrolebindings"}) {
      const ResourcePtr r = state_->resources->Find(Gvr{"rbac.authorization.k8s.io", "v1", name});
      if (r) highest = std::max(highest, r->table->revision());
    }
    return highest;
  }

 private:
  const State* state_;
};

// Large answers go out compressed to who can read that, as the reference does it.
constexpr size_t kCompressAbove = 128 * 1024;

void Compress(const HttpRequest& request, Answer* answer) {
  if (answer->code != 200 || answer->body.size() <= kCompressAbove || request.method != "GET")
    return;
  if (!AcceptsGzip(request.Header("Accept-Encoding"))) return;
  std::optional<std::string> compressed = Gzip(answer->body);
  if (!compressed) return;
  answer->body = std::move(*compressed);
  answer->headers += "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n";
}

// The user agent up to the first slash names the field manager (spec C1.10).
std::string ManagerOf(std::string_view user_agent) {
  const std::string_view name = user_agent.substr(0, user_agent.find('/'));
  return name.empty() ? "unknown" : std::string(name);
}

}  // namespace

struct Server::Impl {
  explicit Impl(ServerOptions o) : options(std::move(o)) {}

  Status Start();
  void Stop();
  Status OpenStore(host::clock::Clock* clock);
  Status MakeKeys();
  void SeedStore();
  void Handle(const HttpRequest& http, Connection& connection);
  bool BreakIt(const Fault& fault, Request* request, Connection& connection, Answer* answer);
  void Record(const HttpRequest& http, const Request& request, int code);
  // nullptr: no such resource ("v1/pods", "apps/v1/replicasets"), or not started
  Store::Table* TableOf(const std::string& resource) const;

  const ServerOptions options;
  std::unique_ptr<host::clock::Clock> own_clock;
  std::unique_ptr<KindRegistry> kinds;
  std::unique_ptr<DataDir> data;  // nullptr: memory only
  std::unique_ptr<Store> store;
  std::unique_ptr<Resources> resources;
  std::unique_ptr<TokenIssuer> tokens;
  CertificateAuthority authority;
  State state;
  StoreReader reader{&state};
  std::unique_ptr<CustomKinds> custom;
  std::unique_ptr<HttpServer> http;
  Faults faults;
  Waker stop_waker;  // readable once the server stops: ends hanging faults
  std::atomic<int> in_flight{0};
  std::mutex audit_mutex;  // guards the two below
  bool audit_on = false;
  std::vector<AuditEntry> audit;
  bool running = false;
};

Status Server::Impl::Start() {
  if (running) return MakeError(Code::kInternal, "the server is already started");
  host::clock::Clock* clock = options.clock;
  if (clock == nullptr) {
    own_clock = host::clock::MakeRealClock();
    clock = own_clock.get();
  }
  kinds = MakeKindRegistry();
  if (const Status opened = OpenStore(clock); !opened.ok()) return opened;
  resources = std::make_unique<Resources>(kinds.get(), store.get());
  if (const Status keys = MakeKeys(); !keys.ok()) return keys;
  state.clock = clock;
  state.kinds = kinds.get();
  state.store = store.get();
  state.resources = resources.get();
  state.tokens = tokens.get();
  state.reader = &reader;
  state.server_version = options.server_version;
  state.watch_list = options.watch_list;
  state.gather_events = options.clock == nullptr;  // a test's own time must not wait for real time
  state.stopping = false;
  stop_waker.Drain();
  custom = std::make_unique<CustomKinds>(&state);
  state.custom = custom.get();
  try {
    SeedStore();
    custom->ServeStored();
  } catch (const Failure& f) {
    return MakeError(Code::kInvalid, f.error.message);
  }
  http =
      std::make_unique<HttpServer>(options.tls ? authority.server_context() : nullptr,
                                   [this](const HttpRequest& r, Connection& c) { Handle(r, c); });
  if (const Status started = http->Start(options.address, options.port); !started.ok())
    return started;
  state.address_and_port = options.address + ":" + std::to_string(http->port());
  state.url = (options.tls ? "https://" : "http://") + state.address_and_port;
  running = true;
  return Ok();
}

Status Server::Impl::OpenStore(host::clock::Clock* clock) {
  // An earlier run of this server still holds the directory.
  store.reset();
  data.reset();
  store = std::make_unique<Store>(clock);
  if (options.data_dir.empty()) return Ok();
  Result<std::unique_ptr<DataDir>> dir = DataDir::Open(options.data_dir);
  if (!dir.ok()) return dir.error();
  data = std::move(*dir);
  Result<std::unique_ptr<Journal>> journal = Journal::Open(data->File("objects.sqlite"));
  if (!journal.ok()) return journal.error();
  return store->Open(std::move(*journal));
}

Status Server::Impl::MakeKeys() {
  const auto text = [this](const char* name,
                           const std::function<std::string()>& make) -> Result<std::string> {
    return data ? data->ReadOrMake(name, make) : Result<std::string>(make());
  };
  const auto in_file = [this](const char* name, const std::string& why) {
    return MakeError(Code::kInvalid, data ? "cannot use " + data->File(name) + ": " + why +
                                                ": restore it, or remove it to get a new one"
                                          : why);
  };
  const Result<std::string> key = text("service-account.pem", NewKeyPem);
  if (!key.ok()) return key.error();
  tokens = std::make_unique<TokenIssuer>(*key);
  if (!tokens->ok()) return in_file("service-account.pem", "it is not a private key on P-256");
  if (!options.tls) return Ok();
  const Result<std::string> ca = text("ca.pem", CertificateAuthority::NewAuthorityPem);
  if (!ca.ok()) return ca.error();
  if (const Status made = authority.Init(*ca, options.address); !made.ok())
    return in_file("ca.pem", made.error().message);
  return Ok();
}

void Server::Impl::SeedStore() {
  std::vector<Store::Creation> creations;
  for (const KindRegistry::Seed& seed : kinds->Seeds()) {
    const ResourcePtr r = resources->Find(seed.gvr);
    if (!r) continue;
    Json object = seed.object;
    // Whoever delegates authentication to this server reads there whose client certificates count.
    if (options.tls && seed.gvr.resource == "configmaps" &&
        TextAt(object, {"metadata", "name"}) == "extension-apiserver-authentication")
      object["data"]["client-ca-file"] = authority.ca_pem();
    object["kind"] = r->stored_type.kind;
    object["apiVersion"] = r->stored_type.api_version;
    Json& metadata = object["metadata"];
    if (!metadata.contains("uid")) metadata["uid"] = NewUid();
    if (!metadata.contains("creationTimestamp"))
      metadata["creationTimestamp"] = FormatSeconds(state.clock->Now());
    const std::string key =
        Store::Key(TextAt(object, {"metadata", "namespace"}), TextAt(object, {"metadata", "name"}));
    creations.push_back({r->table, key, [object = std::move(object)](uint64_t revision) {
                           return ToFlat(object, revision);
                         }});
  }
  store->CreateMissing(creations);
}

void Server::Impl::Stop() {
  if (!running) return;
  running = false;
  state.stopping = true;
  stop_waker.Arm();
  stop_waker.Wake();
  store->WakeAll();
  http->Stop();
  store->Close();
  data.reset();
}

// True when the request is over (answered or dropped); false: handle it as usual.
bool Server::Impl::BreakIt(const Fault& fault, Request* request, Connection& connection,
                           Answer* answer) {
  switch (fault.kind) {
    case Fault::Kind::kStatus: {
      ApiError e;
      e.code = fault.status;
      e.reason = fault.reason;
      e.message = fault.message;
      *answer = StatusAnswer(e);
      if (fault.retry_after_seconds >= 0) {
        answer->headers = "Retry-After: " + std::to_string(fault.retry_after_seconds) + "\r\n";
      }
      return true;
    }
    case Fault::Kind::kDropBefore:
      connection.CloseAfter();
      answer->sent = true;
      return true;
    case Fault::Kind::kHang:
      connection.AwaitWake(stop_waker.fd(),
                           fault.delay_ms > 0 ? static_cast<int>(fault.delay_ms) : -1);
      connection.CloseAfter();
      answer->sent = true;
      return true;
    case Fault::Kind::kSlow:
      connection.AwaitWake(stop_waker.fd(), static_cast<int>(fault.delay_ms));
      return false;
    case Fault::Kind::kWatchClose:
    case Fault::Kind::kWatchGone: {
      connection.CloseAfter();
      connection.BeginChunked(200, "application/json", "");
      if (fault.kind == Fault::Kind::kWatchGone) {
        connection.Chunk("{\"type\":\"ERROR\",\"object\":" +
                         ToStatusText(Expired("too old resource version")) + "}\n");
      }
      connection.EndChunked();
      answer->sent = true;
      return true;
    }
    case Fault::Kind::kWatchCut:
      request->cut_watch = true;
      break;
    case Fault::Kind::kDropAfter:
      break;
  }
  return false;
}

void Server::Impl::Record(const HttpRequest& request, const Request& handled, int code) {
  const std::lock_guard lock(audit_mutex);
  if (!audit_on) return;
  AuditEntry e;
  e.method = request.method;
  e.uri = request.target;
  e.user = handled.user.name;
  e.user_agent = std::string(request.Header("User-Agent"));
  e.body = request.body;
  e.code = code;
  audit.push_back(std::move(e));
}

void Server::Impl::Handle(const HttpRequest& http_request, Connection& connection) {
  std::optional<host::clock::BusyScope> busy;
  busy.emplace(*state.clock);
  in_flight.fetch_add(1);
  bool counted = true;
  Request request;
  request.http = &http_request;
  request.connection = &connection;
  request.settled = [&] {
    if (!counted) return;
    counted = false;
    Record(http_request, request, 200);
    in_flight.fetch_sub(1);
    busy.reset();
  };
  request.target = ParsePath(http_request.path());
  request.query = Query(http_request.query());
  request.field_manager = ManagerOf(http_request.Header("User-Agent"));
  Answer answer;
  bool drop_after = false;
  const bool watch = request.target.legacy_watch || request.query.Flag("watch");
  const std::optional<Fault> fault = faults.Match(http_request.method, http_request.target, watch);
  bool over = false;
  if (fault) {
    drop_after = fault->kind == Fault::Kind::kDropAfter;
    // A hanging request must not keep virtual time from moving.
    if (fault->kind == Fault::Kind::kHang) busy.reset();
    over = BreakIt(*fault, &request, connection, &answer);
  }
  if (!over) {
    try {
      request.user = Authenticate(state, http_request, connection.peer(), !options.tls);
      answer = Dispatch(state, request);
    } catch (const Failure& f) {
      answer = StatusAnswer(f.error);
    }
  }
  // Counted as done before the client can know: who has an answer in hand finds it in the audit.
  if (counted) {
    counted = false;
    Record(http_request, request, answer.code);
    in_flight.fetch_sub(1);
  }
  if (drop_after) {
    connection.CloseAfter();
  } else if (!answer.sent) {
    Compress(http_request, &answer);
    connection.Send(answer.code, answer.content_type, answer.headers, answer.body);
  }
}

Server::Server(ServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Server::~Server() { Stop(); }

Status Server::Start() { return impl_->Start(); }
void Server::Stop() { impl_->Stop(); }
uint16_t Server::port() const { return impl_->http ? impl_->http->port() : uint16_t{0}; }
std::string Server::url() const { return impl_->state.url; }
std::string Server::CaPem() const { return impl_->authority.ca_pem(); }

std::string Server::Kubeconfig(const std::string& user, const std::string& group) const {
  std::string cluster = "    server: " + url() + "\n", credentials = "  user: {}\n";
  if (impl_->options.tls) {
    cluster += "    certificate-authority-data: " + Base64(CaPem()) + "\n";
    const Result<KeyPair> pair = impl_->authority.IssueClient(
        user, group.empty() ? std::vector<std::string>() : std::vector<std::string>{group});
    if (pair.ok()) {
      credentials = "  user:\n    client-certificate-data: " + Base64(pair->certificate_pem) +
                    "\n    client-key-data: " + Base64(pair->key_pem) + "\n";
    }
  }
  return "apiVersion: v1\nkind: Config\nclusters:\n- name: devcluster\n  cluster:\n" + cluster +
         "users:\n- name: " + Dump(user) + "\n" + credentials +
         "contexts:\n- name: devcluster\n  context:\n    cluster: devcluster\n    user: " +
         Dump(user) + "\ncurrent-context: devcluster\n";
}

uint64_t Server::ResourceVersion() const { return impl_->store ? impl_->store->revision() : 0; }

Store::Table* Server::Impl::TableOf(const std::string& resource) const {
  if (!resources) return nullptr;
  const size_t last = resource.rfind('/'), first = resource.find('/');
  if (last == std::string::npos) return nullptr;
  Gvr gvr;
  gvr.resource = resource.substr(last + 1);
  gvr.group = first == last ? "" : resource.substr(0, first);
  gvr.version =
      first == last ? resource.substr(0, first) : resource.substr(first + 1, last - first - 1);
  const ResourcePtr r = resources->Find(gvr);
  return r ? r->table : nullptr;
}

uint64_t Server::ResourceVersion(const std::string& resource) const {
  const Store::Table* table = impl_->TableOf(resource);
  return table != nullptr ? table->revision() : 0;
}

int Server::RequestsInFlight() const { return impl_->in_flight.load(); }

void Server::EnableAudit(bool on) {
  const std::lock_guard lock(impl_->audit_mutex);
  impl_->audit_on = on;
}

std::vector<Server::AuditEntry> Server::TakeAudit() {
  const std::lock_guard lock(impl_->audit_mutex);
  return std::exchange(impl_->audit, {});
}

void Server::AddFault(const Fault& fault) { impl_->faults.Add(fault); }
void Server::ClearFaults() { impl_->faults.Clear(); }
void Server::Compact() {
  if (impl_->store) impl_->store->Compact();
}
void Server::CloseWatches() {
  if (!impl_->store) return;
  impl_->state.watch_epoch.fetch_add(1);
  impl_->store->WakeAll();
}

void Server::HoldWatches(const std::string& resource, bool hold) {
  if (Store::Table* table = impl_->TableOf(resource)) impl_->store->Hold(*table, hold);
}

void Server::SetReachable(bool reachable) {
  if (!impl_->running) return;
  if (!reachable) return impl_->http->Suspend();
  (void)impl_->http->Resume();
}
int Server::Connections(const std::string& user) const { return impl_->http->Connections(user); }

}  // namespace kcm::devcluster
