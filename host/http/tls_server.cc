// SPDX-License-Identifier: Apache-2.0
// TLS connections on non-blocking descriptors, so that every wait has a deadline.
#include "host/http/tls_server.h"

#include <Poco/Exception.h>
#include <Poco/Net/NetException.h>
#include <Poco/Net/SocketAddress.h>
#include <Poco/Timespan.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace kcm::host::http {
namespace {

// As the reference (spec/host.md 9.7): a client has this long for handshake and header.
constexpr auto kHeaderTime = std::chrono::seconds(32);
// Reading a body and taking the answer. Answers are small; a client slower than this is gone.
constexpr auto kBodyTime = std::chrono::seconds(60);
constexpr int kKeepAliveSeconds = 180;
// Half of the server's threads (server.cc).
constexpr int kCrowdedAt = 50;
constexpr auto kCrowdedTime = std::chrono::seconds(2);

void MakeNonBlocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// OpenSSL writes without MSG_NOSIGNAL, and a peer that hangs up must not end the process. The
// threads that get here are the server's own, so the signal stays blocked in them.
void BlockSigpipe() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

class TlsServerSocketImpl : public Poco::Net::ServerSocketImpl {
 public:
  TlsServerSocketImpl(int fd, std::shared_ptr<TlsContext> context) : context_(std::move(context)) {
    reset(fd);
  }

  Poco::Net::SocketImpl* acceptConnection(Poco::Net::SocketAddress& client) override {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    const int fd = ::accept(sockfd(), static_cast<sockaddr*>(static_cast<void*>(&address)), &size);
    if (fd < 0)
      throw Poco::Net::NetException("accept", errno);  // the client gave up: the server goes on
    client = Poco::Net::SocketAddress(static_cast<sockaddr*>(static_cast<void*>(&address)), size);
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAliveSeconds, sizeof(kKeepAliveSeconds));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepAliveSeconds, sizeof(kKeepAliveSeconds));
    return new TlsSocket(fd, context_);
  }

 private:
  std::shared_ptr<TlsContext> context_;
};

}  // namespace

TlsServerSocket::TlsServerSocket(int fd, std::shared_ptr<TlsContext> context)
    : Poco::Net::ServerSocket(new TlsServerSocketImpl(fd, std::move(context)), true) {}

TlsSocket::TlsSocket(int fd, std::shared_ptr<TlsContext> context)
    : Poco::Net::StreamSocketImpl(fd), context_(std::move(context)) {
  ++context_->connections;
  deadline_ = Clock::now() + Patience(kHeaderTime);
  MakeNonBlocking(fd);
  ssl_.reset(SSL_new(context_->get()));
  if (!ssl_ || SSL_set_fd(ssl_.get(), fd) != 1)
    throw Poco::Net::NetException("tls: " + OpenSslError());
  SSL_set_accept_state(ssl_.get());
}

TlsSocket::~TlsSocket() {
  try {
    close();
  } catch (const std::exception&) {
    // The descriptor is gone either way.
  }
  --context_->connections;
}

std::chrono::seconds TlsSocket::Patience(std::chrono::seconds usual) const {
  return context_->connections > kCrowdedAt ? std::min<std::chrono::seconds>(usual, kCrowdedTime)
                                            : usual;
}

TlsSocket* TlsSocket::Of(const Poco::Net::Socket& socket) {
  return dynamic_cast<TlsSocket*>(socket.impl());
}

void TlsSocket::HeaderRead() { deadline_ = Clock::now() + Patience(kBodyTime); }

bool TlsSocket::WaitFor(short events) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    if (left <= 0) return false;
    pollfd entry{sockfd(), events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(left) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw Poco::Net::NetException("poll", errno);
  }
}

// After an operation that could not finish: waits for what it needs, or throws.
void TlsSocket::Await(int ssl_result, const char* what) {
  const int reason = SSL_get_error(ssl_.get(), ssl_result);
  if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) {
    if (WaitFor(reason == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT)) return;
    failed_ = true;
    throw Poco::TimeoutException(what);
  }
  failed_ = true;
  throw Poco::Net::NetException(std::string(what) + ": " +
                                (reason == SSL_ERROR_SYSCALL ? "connection lost" : OpenSslError()));
}

void TlsSocket::Handshake() {
  if (established_) return;
  BlockSigpipe();
  try {
    for (int result = SSL_accept(ssl_.get()); result != 1; result = SSL_accept(ssl_.get()))
      Await(result, "TLS handshake");
  } catch (const Poco::Exception& e) {
    failed_ = true;
    if (context_->on_handshake_error) context_->on_handshake_error(e.displayText());
    throw;
  }
  established_ = true;
  if (X509* leaf = SSL_get1_peer_certificate(ssl_.get()); leaf != nullptr) {
    peer_.emplace_back(leaf);
    const STACK_OF(X509)* chain =
        SSL_get_peer_cert_chain(ssl_.get());  // without the leaf on the server's side
    for (int i = 0; i < sk_X509_num(chain); ++i) {
      X509* cert = sk_X509_value(chain, i);
      if (X509_up_ref(cert) == 1) peer_.emplace_back(cert);
    }
  }
}

int TlsSocket::receiveBytes(void* buffer, int length, int) {
  Handshake();
  while (true) {
    const int n = SSL_read(ssl_.get(), buffer, length);
    if (n > 0) return n;
    const int reason = SSL_get_error(ssl_.get(), n);
    if (reason == SSL_ERROR_ZERO_RETURN) return 0;
    if (reason == SSL_ERROR_SYSCALL && errno == 0) return 0;  // closed without close_notify
    Await(n, "TLS read");
  }
}

int TlsSocket::sendBytes(const void* buffer, int length, int) {
  Handshake();
  const char* data = static_cast<const char*>(buffer);
  int sent = 0;
  while (sent < length) {
    const int n = SSL_write(ssl_.get(), data + sent, length - sent);
    if (n > 0) {
      sent += n;
    } else {
      Await(n, "TLS write");
    }
  }
  return sent;
}

// Poco asks here whether a next request comes. Its first byte starts the time for its header.
bool TlsSocket::poll(const Poco::Timespan& timeout, int mode) {
  if ((mode & SELECT_READ) != 0 && established_ && SSL_pending(ssl_.get()) > 0) return true;
  const auto usual = std::chrono::seconds(timeout.totalSeconds() + 1);
  const Poco::Timespan wait =
      std::min(timeout, Poco::Timespan(static_cast<long>(Patience(usual).count()), 0));
  if (!StreamSocketImpl::poll(wait, mode)) return false;
  if ((mode & SELECT_READ) != 0) deadline_ = Clock::now() + Patience(kHeaderTime);
  return true;
}

int TlsSocket::available() { return established_ ? SSL_pending(ssl_.get()) : 0; }

// From any thread, so it leaves the TLS state alone: the owner's wait ends with an error.
void TlsSocket::shutdown() { ::shutdown(sockfd(), SHUT_RDWR); }

void TlsSocket::shutdownSend() {
  if (established_ && !failed_) SSL_shutdown(ssl_.get());
  OpenSslError();
}

void TlsSocket::close() {
  if (!initialized()) return;
  if (established_ && !failed_) SSL_shutdown(ssl_.get());
  OpenSslError();
  StreamSocketImpl::close();
}

}  // namespace kcm::host::http
