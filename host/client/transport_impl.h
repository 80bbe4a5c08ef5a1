// SPDX-License-Identifier: Apache-2.0
// Transport's inside: the pool and the TLS contexts. Private to host/client; the contract is in
// transport.h.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/client/connection.h"
#include "host/client/credentials.h"
#include "host/client/kubeconfig.h"
#include "host/client/rotation.h"
#include "host/client/tls_context.h"
#include "host/client/transport.h"

namespace kcm::host::client {

// Whose connections: those that show our client certificate, and those for requests with a token of
// their own.
enum class Side : uint8_t { kIdentity, kBare };
inline constexpr size_t kSides = 2;

class Transport {
 public:
  Transport(Config config, ServerAddress address, Proxy proxy, TransportOptions options);
  ~Transport();

  // First load of certificate, key and CA.
  Status Init();

  // An idle connection that is not stale, or null.
  std::unique_ptr<Connection> TakeIdle(Side side);
  // A new one, not connected yet, so that the caller can arrange its abort first.
  std::unique_ptr<Connection> NewConnection(Side side);
  Status Connect(Connection* connection, Side side, SocketDeadline deadline);
  // Gives back a connection that was taken. `reusable`: it goes to the pool (when that is allowed).
  void GiveBack(std::unique_ptr<Connection> connection, Side side, bool reusable);

  // "" or the credential of the Config. Impersonation headers are part of `FixedHeaders`.
  Result<std::string> Authorization() { return credentials_->Authorization(); }
  void Rejected(const std::string& authorization) { credentials_->Rejected(authorization); }

  // The server does not know who asks: says so, with where our credentials come from, once in a
  // while.
  void SayRefused(const Error& error);
  // What a request came to: an answer, or that nobody gave one.
  void Answered();
  void Unanswered(const Error& error);
  const Config& config() const { return config_; }
  const ServerAddress& address() const { return address_; }
  const std::string& host_label() const { return host_label_; }
  // What stands in front of a path in the request line: the path prefix, with an http proxy the
  // whole URL.
  const std::string& target_prefix() const { return target_prefix_; }
  // "https://host:port/prefix", for messages.
  const std::string& base_url() const { return base_url_; }
  // Complete header lines of every request (Host, proxy authorization) / of the identity side only
  // (Impersonate-*).
  const std::string& common_headers() const { return common_headers_; }
  const std::string& identity_headers() const { return identity_headers_; }
  size_t open_connections() const;
  void AbortAll();
  // Closes what is idle: after a request on a kept connection timed out, the others may be dead
  // too.
  void DropIdle() { CloseIdle(false); }

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    clock::MonoTime since;
  };
  Status Rebuild(const TlsFiles& files);
  void OnPair(const TlsFiles& files);
  void OnCa(const TlsFiles& files);
  Status UseExecPair(const ExecPair& pair);
  void CloseIdle(bool also_active);

  const Config config_;
  const ServerAddress address_;
  const Proxy proxy_;
  const TransportOptions options_;
  std::string host_label_, target_prefix_, base_url_, common_headers_, identity_headers_;
  std::unique_ptr<Credentials> credentials_;
  std::unique_ptr<Rotation> rotation_;  // null for plain http

  mutable std::mutex mutex_;
  Poco::Net::Context::Ptr contexts_[kSides];  // guarded by mutex_
  TlsFiles files_;                            // guarded by mutex_; what contexts_ were made from
  uint64_t generation_ = 1;  // guarded by mutex_; rises when connections must not be pooled again
  std::vector<Idle> idle_[kSides];               // guarded by mutex_; newest last
  std::set<Connection*> active_;                 // guarded by mutex_
  std::optional<clock::MonoTime> refused_said_;  // guarded by mutex_
  std::atomic<bool> silent_{false};              // no answer since silent_since_
  clock::MonoTime silent_since_;                 // guarded by mutex_
  bool silence_said_ = false;                    // guarded by mutex_
};

}  // namespace kcm::host::client
