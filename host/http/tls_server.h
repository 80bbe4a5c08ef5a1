// SPDX-License-Identifier: Apache-2.0
// TLS listening socket for Poco's HTTP server with what its own lacks: certificates chosen per
// connection, client certificates that are asked for and judged later, deadlines for slow clients,
// no process-wide state.
//
//   TlsServerSocket socket(fd, context);    // hand to Poco::Net::HTTPServer
//   TlsSocket* tls = TlsSocket::Of(request.socket());
#pragma once
#include <Poco/Net/ServerSocket.h>
#include <Poco/Net/ServerSocketImpl.h>
#include <Poco/Net/StreamSocketImpl.h>

#include <atomic>
#include <functional>
#include <memory>

#include "host/config/options.h"
#include "host/http/certificates.h"
#include "host/http/openssl_handles.h"
#include "kcm/rules/result.h"

namespace kcm::host::http {

// What all connections share. Thread-safe once built.
class TlsContext {
 public:
  // `certificates` must outlive it. `wants_client_certificates` is asked for each connection.
  static Result<std::shared_ptr<TlsContext>> Make(const config::ServingOptions& options,
                                                  const CertificateStore* certificates,
                                                  std::function<bool()> wants_client_certificates);
  SSL_CTX* get() const { return context_.get(); }
  // Called for each failed handshake, with the reason. Set before the first connection.
  std::function<void(const std::string& reason)> on_handshake_error;
  // Connections that are open. Each holds a thread: when they are many, a slow one gets less time.
  std::atomic<int> connections{0};

 private:
  TlsContext() = default;
  static int ChooseCertificate(SSL* ssl, void* self);
  SslContextPtr context_;
  const CertificateStore* certificates_ = nullptr;
  std::function<bool()> wants_client_certificates_;
};

// One connection. Used by one thread at a time; shutdown() from any.
class TlsSocket : public Poco::Net::StreamSocketImpl {
 public:
  TlsSocket(int fd, std::shared_ptr<TlsContext> context);
  // nullptr when the socket is of another kind.
  static TlsSocket* Of(const Poco::Net::Socket& socket);

  // What the client presented, leaf first; empty when nothing. Not verified.
  const std::vector<CertPtr>& PeerCertificates() const { return peer_; }
  // The header of a request is complete: its body and the response get a time of their own.
  void HeaderRead();

  int sendBytes(const void* buffer, int length, int flags = 0) override;
  int receiveBytes(void* buffer, int length, int flags = 0) override;
  bool poll(const Poco::Timespan& timeout, int mode) override;
  int available() override;
  void shutdown() override;
  void shutdownSend() override;
  void close() override;
  bool secure() const override { return true; }

 protected:
  ~TlsSocket() override;

 private:
  using Clock = std::chrono::steady_clock;  // sockets stay on real time (host/clock/clock.h)
  // The longest that a client may take for a part of a request: `usual`, or far less while many
  // connections are open, so that some hundred that send nothing do not keep out the others.
  std::chrono::seconds Patience(std::chrono::seconds usual) const;
  void Handshake();
  void Await(int ssl_result, const char* what);
  bool WaitFor(short events);

  std::shared_ptr<TlsContext> context_;
  SslPtr ssl_;
  bool established_ = false;
  bool failed_ = false;  // no close_notify after a failure
  Clock::time_point deadline_;
  std::vector<CertPtr> peer_;
};

class TlsServerSocket : public Poco::Net::ServerSocket {
 public:
  // Takes over a listening descriptor.
  TlsServerSocket(int fd, std::shared_ptr<TlsContext> context);
};

}  // namespace kcm::host::http
