// SPDX-License-Identifier: Apache-2.0
// Connection: one TCP or TLS connection to the API server, on Poco's sockets. Private to
// host/client (includes Poco).
//
// Non-blocking inside, blocking with a deadline outside, so that every wait has an exact end and
// can be aborted from another thread. Poco's exceptions end here. Errors are Code::kTransport or
// kTimeout; Error::cause tells the kind (kCause...).
#pragma once
#include <Poco/Net/Context.h>
#include <Poco/Net/StreamSocket.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "host/client/connection_causes.h"
#include "host/client/proxy.h"
#include "host/client/socket_deadline.h"
#include "kcm/rules/result.h"

namespace kcm::host::client {

Error TransportError(const char* cause, std::string message);

struct Endpoint {
  std::string host;
  uint16_t port = 0;
  Poco::Net::Context::Ptr tls;  // null: plain TCP
  std::string sni;              // "" for addresses
  Proxy proxy;
};

// One owner thread at a time; Abort from any thread.
class Connection {
 public:
  explicit Connection(uint64_t generation) : generation_(generation) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Resolves, connects (30 s), passes the proxy, does the TLS handshake (10 s) (7.3).
  Status Connect(const Endpoint& endpoint, SocketDeadline deadline);
  // Sends all of `bytes`.
  Status Write(std::string_view bytes, SocketDeadline deadline);
  // At least one byte, or 0 at the orderly end of the stream.
  Result<size_t> Read(char* to, size_t size, SocketDeadline deadline);
  // True when an idle connection can not carry another request (closed by the server, or bytes
  // nobody asked for).
  bool Stale();
  // Ends whatever blocks now and every later use. Thread-safe.
  void Abort();
  bool aborted() const;

  // Which credentials it was made with: an older generation is not pooled again.
  uint64_t generation() const { return generation_; }

 private:
  Status ConnectTcp(const std::string& host, uint16_t port, SocketDeadline deadline);
  Status TryAddress(const Poco::Net::SocketAddress& address, SocketDeadline deadline);
  Status Handshake(const Endpoint& endpoint, SocketDeadline deadline);
  Status PassProxy(const Endpoint& endpoint, SocketDeadline deadline);
  Status WaitFor(short events, SocketDeadline deadline, const char* what);
  Error FromException(const std::exception& e) const;
  void Adopt(const Poco::Net::StreamSocket& socket);
  void Close();

  const uint64_t generation_;
  Poco::Net::StreamSocket socket_;  // owner thread
  bool open_ = false;               // owner thread
  bool tls_ = false;                // owner thread
  mutable std::mutex mutex_;
  int fd_ = -1;           // of socket_ while it may be shut down. Guarded by mutex_
  bool aborted_ = false;  // guarded by mutex_
};

}  // namespace kcm::host::client
