// SPDX-License-Identifier: Apache-2.0
// Transport: pool, TLS contexts, identity.
#include <Poco/Net/IPAddress.h>

#include <algorithm>
#include <utility>

#include "host/client/refusal.h"
#include "host/client/transport_impl.h"

namespace kcm::host::client {
namespace {

constexpr size_t kMaxIdle = 25;
constexpr clock::Duration kMaxIdleTime = std::chrono::seconds(90);
constexpr clock::Duration kOutageAfter = std::chrono::seconds(10);
constexpr clock::Duration kSayRefusedAgain = std::chrono::minutes(10);

bool IsAddress(const std::string& host) {
  Poco::Net::IPAddress address;
  return Poco::Net::IPAddress::tryParse(host, address);
}

// A header value with a line end would become a header of its own.
std::string Header(const std::string& name, const std::string& value) {
  if (value.find_first_of("\r\n") != std::string::npos) return "";
  return name + ": " + value + "\r\n";
}

// Impersonate-Extra-<key>: what a header name can not hold is percent-encoded.
std::string EncodeExtraKey(const std::string& key) {
  static constexpr char kToken[] =
      "!#$&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : key) {
    if (c != '\0' && std::string_view(kToken).find(c) != std::string_view::npos) {
      out.push_back(c);
    } else {
      const unsigned char u = static_cast<unsigned char>(c);
      out += {'%', kHex[u >> 4], kHex[u & 15]};
    }
  }
  return out;
}

// Says where the material is that is wrong.
Error At(const std::string& field, const Material& material, Error error) {
  error.message =
      field + (material.file.empty() ? "-data" : " " + material.file) + ": " + error.message;
  return error;
}

std::string Impersonation(const Config& config) {
  std::string out;
  if (config.impersonate_user.empty()) return out;
  out += Header("Impersonate-User", config.impersonate_user);
  if (!config.impersonate_uid.empty()) out += Header("Impersonate-Uid", config.impersonate_uid);
  for (const std::string& group : config.impersonate_groups)
    out += Header("Impersonate-Group", group);
  for (const auto& [key, values] : config.impersonate_extra) {
    for (const std::string& value : values)
      out += Header("Impersonate-Extra-" + EncodeExtraKey(key), value);
  }
  return out;
}

}  // namespace

Transport::Transport(Config config, ServerAddress address, Proxy proxy, TransportOptions options)
    : config_(std::move(config)),
      address_(std::move(address)),
      proxy_(std::move(proxy)),
      options_(std::move(options)) {
  host_label_ = address_.HostPort();
  base_url_ = (address_.tls ? "https://" : "http://") + host_label_ + address_.path;
  const bool absolute = proxy_.kind == Proxy::Kind::kHttp && !address_.tls;
  target_prefix_ = absolute ? base_url_ : address_.path;
  common_headers_ = Header("Host", host_label_);
  if (absolute && !proxy_.username.empty())
    common_headers_ += Header("Proxy-Authorization", ProxyAuthorization(proxy_));
  // Over plain http no credentials are sent (2.2).
  if (address_.tls) identity_headers_ = Impersonation(config_);
  credentials_ = MakeCredentials(address_.tls ? config_ : Config(),
                                 {options_.clock, options_.log, options_.metrics,
                                  [this](const ExecPair& pair) { return UseExecPair(pair); }});
}

Transport::~Transport() {
  rotation_.reset();
  CloseIdle(false);
}

Status Transport::Init() {
  if (!address_.tls) return Ok();
  if (config_.insecure_skip_tls_verify && !config_.ca.empty()) {
    return MakeError(Code::kInvalid,
                     "specifying a root certificates file with the insecure flag is not allowed");
  }
  RotationOptions rotation{config_.ca,
                           config_.client_cert,
                           config_.client_key,
                           options_.clock,
                           options_.log,
                           options_.metrics,
                           {},
                           {}};
  rotation.on_pair = [this](const TlsFiles& files) {
    const Status built = Rebuild(files);
    if (built.ok()) CloseIdle(true);
    return built;
  };
  rotation.on_ca = [this](const TlsFiles& files) {
    const Status built = Rebuild(files);
    if (built.ok()) CloseIdle(false);
    return built;
  };
  rotation_ = std::make_unique<Rotation>(std::move(rotation));
  const Result<TlsFiles> files = rotation_->Load();
  return files.ok() ? Rebuild(*files) : Status(files.error());
}

Status Transport::Rebuild(const TlsFiles& files) {
  TlsMaterial material;
  material.ca_pem = files.ca_pem;
  material.insecure = config_.insecure_skip_tls_verify;
  material.server_name = config_.tls_server_name.empty() ? address_.host : config_.tls_server_name;
  Result<Poco::Net::Context::Ptr> bare = MakeTlsContext(material);
  if (!bare.ok()) return At("certificate-authority", config_.ca, bare.error());
  Poco::Net::Context::Ptr identity = *bare;
  if (!files.cert_pem.empty()) {
    material.cert_pem = files.cert_pem;
    material.key_pem = files.key_pem;
    Result<Poco::Net::Context::Ptr> with_pair = MakeTlsContext(material);
    if (!with_pair.ok()) return At("client-certificate", config_.client_cert, with_pair.error());
    identity = *with_pair;
    // The server has the last word, but what it says of it is seldom more than "Unauthorized".
    if (const std::string wrong = ValidityProblem(files.cert_pem); !wrong.empty())
      options_.log.Error(wrong, "The client certificate is not valid now, renew it",
                         {{"path", config_.client_cert.file}});
  }
  std::lock_guard<std::mutex> lock(mutex_);
  contexts_[static_cast<size_t>(Side::kIdentity)] = identity;
  contexts_[static_cast<size_t>(Side::kBare)] = *bare;
  files_ = files;
  ++generation_;
  return Ok();
}

Status Transport::UseExecPair(const ExecPair& pair) {
  TlsFiles files;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    files = files_;
  }
  files.cert_pem = pair.cert_pem;
  files.key_pem = pair.key_pem;
  const Status built = Rebuild(files);
  if (built.ok()) CloseIdle(true);
  return built;
}

void Transport::CloseIdle(bool also_active) {
  std::vector<Idle> closing;  // closed without the lock: closing writes
  std::lock_guard<std::mutex> lock(mutex_);
  for (std::vector<Idle>& side : idle_) {
    std::move(side.begin(), side.end(), std::back_inserter(closing));
    side.clear();
  }
  if (!also_active) return;
  for (Connection* c : active_) c->Abort();
}

void Transport::AbortAll() { CloseIdle(true); }

std::unique_ptr<Connection> Transport::TakeIdle(Side side) {
  if (rotation_) rotation_->BeforeRequest();
  const clock::MonoTime now = options_.clock->Monotonic();
  for (;;) {
    Idle taken;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      std::vector<Idle>& idle = idle_[static_cast<size_t>(side)];
      if (idle.empty()) return nullptr;
      taken = std::move(idle.back());  // the warmest; the oldest are left to expire
      idle.pop_back();
      active_.insert(taken.connection.get());
    }
    if (now - taken.since < kMaxIdleTime && !taken.connection->Stale())
      return std::move(taken.connection);
    GiveBack(std::move(taken.connection), side, false);
  }
}

std::unique_ptr<Connection> Transport::NewConnection(Side side) {
  if (rotation_ && side == Side::kIdentity) rotation_->BeforeHandshake();
  std::lock_guard<std::mutex> lock(mutex_);
  auto connection = std::make_unique<Connection>(generation_);
  active_.insert(connection.get());
  return connection;
}

Status Transport::Connect(Connection* connection, Side side, SocketDeadline deadline) {
  Endpoint endpoint;
  endpoint.host = address_.host;
  endpoint.port = address_.port;
  endpoint.proxy = proxy_;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    endpoint.tls = contexts_[static_cast<size_t>(side)];
  }
  const std::string& name =
      config_.tls_server_name.empty() ? address_.host : config_.tls_server_name;
  if (!IsAddress(name)) endpoint.sni = name;
  return connection->Connect(endpoint, deadline);
}

void Transport::GiveBack(std::unique_ptr<Connection> connection, Side side, bool reusable) {
  std::vector<Idle> closing;
  std::lock_guard<std::mutex> lock(mutex_);
  active_.erase(connection.get());
  if (!reusable || connection->generation() != generation_ || connection->aborted()) {
    closing.push_back({std::move(connection), {}});
    return;
  }
  const clock::MonoTime now = options_.clock->Monotonic();
  std::vector<Idle>& idle = idle_[static_cast<size_t>(side)];
  idle.push_back({std::move(connection), now});
  // Oldest first: too many, or too long idle.
  size_t drop = idle.size() > kMaxIdle ? idle.size() - kMaxIdle : 0;
  while (drop < idle.size() && now - idle[drop].since >= kMaxIdleTime) ++drop;
  std::move(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(drop),
            std::back_inserter(closing));
  idle.erase(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(drop));
}

void Transport::Unanswered(const Error& error) {
  if (!options_.log_outages) return;
  const clock::MonoTime now = options_.clock->Monotonic();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!silent_.exchange(true)) silent_since_ = now;
    if (silence_said_ || now - silent_since_ < kOutageAfter) return;
    silence_said_ = true;
  }
  options_.log.Error(error.message, "The API server does not answer: caches are as they were",
                     {{"server", base_url_}});
}

void Transport::Answered() {
  if (!silent_.load(std::memory_order_relaxed)) return;
  clock::Duration silent{0};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!silent_.exchange(false)) return;
    if (!std::exchange(silence_said_, false)) return;
    silent = options_.clock->Monotonic() - silent_since_;
  }
  options_.log.Info(
      0, "The API server answers again",
      {{"server", base_url_},
       {"silentSeconds", std::chrono::duration_cast<std::chrono::seconds>(silent).count()}});
}

void Transport::SayRefused(const Error& error) {
  const clock::MonoTime now = options_.clock->Monotonic();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (refused_said_ && now - *refused_said_ < kSayRefusedAgain) return;
    refused_said_ = now;
  }
  options_.log.Error(error.message, "The API server does not know our credentials",
                     {{"server", base_url_},
                      {"credentials", CredentialsText(config_)},
                      {"fix", CredentialsFix(config_)}});
}

size_t Transport::open_connections() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return active_.size() + idle_[0].size() + idle_[1].size();
}

Result<std::shared_ptr<Transport>> MakeTransport(const Config& config, TransportOptions options) {
  Result<ServerAddress> address = ParseServer(config.server);
  if (!address.ok()) return address.error();
  Result<Proxy> proxy = ChooseProxy(config.proxy_url, *address, options.env);
  if (!proxy.ok()) return proxy.error();
  auto transport = std::make_shared<Transport>(config, *std::move(address), *std::move(proxy),
                                               std::move(options));
  const Status ready = transport->Init();
  if (!ready.ok()) return ready.error();
  return transport;
}

const std::string& HostLabel(const Transport& transport) { return transport.host_label(); }
size_t OpenConnections(const Transport& transport) { return transport.open_connections(); }
std::string RefusalText(const Transport& transport) {
  return CredentialsText(transport.config()) + ": " + CredentialsFix(transport.config());
}
void AbortAll(Transport& transport) { transport.AbortAll(); }

}  // namespace kcm::host::client
