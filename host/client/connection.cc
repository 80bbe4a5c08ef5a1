// SPDX-License-Identifier: Apache-2.0
// Connection: connect, handshake, read, write, abort.
#include "host/client/connection.h"

#include <Poco/Exception.h>
#include <Poco/Net/DNS.h>
#include <Poco/Net/HostEntry.h>
#include <Poco/Net/NetException.h>
#include <Poco/Net/SSLException.h>
#include <Poco/Net/SecureStreamSocket.h>
#include <Poco/Net/SocketAddress.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "host/client/socks5.h"
#include "host/client/tls_context.h"
#include "host/file/open_limit.h"

namespace kcm::host::client {
namespace {

using Poco::Net::SecureStreamSocket;

constexpr clock::Duration kConnectLimit = std::chrono::seconds(30);
constexpr clock::Duration kHandshakeLimit = std::chrono::seconds(10);
// A dead peer is noticed after 30 s + 3 * 5 s, as long as the reference's HTTP/2 pings take (7.3).
constexpr int kKeepAliveSeconds = 30;
constexpr int kKeepAliveInterval = 5;
constexpr int kKeepAliveProbes = 3;
constexpr size_t kMaxProxyAnswer = 16 << 10;

// OpenSSL writes with write(2), which raises SIGPIPE when the server is gone. The host has no
// process-wide signal state, so the signal is blocked in the threads that write: there it is
// synchronous and stays pending without effect.
void BlockSigPipe() {
  static thread_local bool blocked = false;
  if (blocked) return;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  blocked = true;
}

const char* CauseOfErrno(int error) {
  switch (error) {
    case ECONNREFUSED:
      return kCauseRefused;
    case ECONNRESET:
    case EPIPE:
      return kCauseReset;
    default:
      return kCauseOther;
  }
}

std::string TextOfErrno(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "connection refused";
    case ECONNRESET:
      return "connection reset by peer";
    case EPIPE:
      return "broken pipe";
    default:
      return file::ErrnoText(error);
  }
}

// A rotation of credentials closes connections under way (2.3): for whoever uses one that is as
// good as a close by the server.
Error ClosedHere() { return TransportError(kCauseEof, "connection closed by this process"); }

bool WouldBlock(int rc, bool* want_write) {
  *want_write = rc == SecureStreamSocket::ERR_SSL_WANT_WRITE;
  return rc == SecureStreamSocket::ERR_SSL_WANT_READ ||
         rc == SecureStreamSocket::ERR_SSL_WANT_WRITE;
}

}  // namespace

Error TransportError(const char* cause, std::string message) {
  Error e = MakeError(Code::kTransport, std::move(message));
  e.cause = cause;
  return e;
}

Connection::~Connection() { Close(); }

void Connection::Close() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    fd_ = -1;
  }
  if (!open_) return;
  open_ = false;
  BlockSigPipe();
  ERR_clear_error();
  try {
    socket_.close();
  } catch (const std::exception&) {
    // Nothing is left to be done with a connection that does not even close.
  }
}

void Connection::Abort() {
  std::lock_guard<std::mutex> lock(mutex_);
  aborted_ = true;
  if (fd_ >= 0) ::shutdown(fd_, SHUT_RDWR);
}

bool Connection::aborted() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return aborted_;
}

void Connection::Adopt(const Poco::Net::StreamSocket& socket) {
  socket_ = socket;
  open_ = true;
  std::lock_guard<std::mutex> lock(mutex_);
  fd_ = socket_.impl()->sockfd();
  if (aborted_) ::shutdown(fd_, SHUT_RDWR);
}

Error Connection::FromException(const std::exception& e) const {
  if (aborted()) return ClosedHere();
  if (dynamic_cast<const Poco::Net::SSLConnectionUnexpectedlyClosedException*>(&e) != nullptr) {
    return TransportError(kCauseEof, "unexpected EOF");
  }
  if (const auto* poco = dynamic_cast<const Poco::Exception*>(&e); poco != nullptr) {
    if (dynamic_cast<const Poco::Net::SSLException*>(&e) != nullptr) {
      const std::string text = poco->displayText();
      if (text.find("unexpected eof") != std::string::npos)
        return TransportError(kCauseEof, "unexpected EOF");
      return TransportError(kCauseTls, "tls: " + text);
    }
    if (dynamic_cast<const Poco::Net::ConnectionResetException*>(&e) != nullptr) {
      return TransportError(kCauseReset, TextOfErrno(ECONNRESET));
    }
    if (poco->code() != 0)
      return TransportError(CauseOfErrno(poco->code()), TextOfErrno(poco->code()));
    return TransportError(kCauseOther, poco->displayText());
  }
  return TransportError(kCauseOther, e.what());
}

Status Connection::WaitFor(short events, SocketDeadline deadline, const char* what) {
  pollfd p{socket_.impl()->sockfd(), events, 0};
  for (;;) {
    if (aborted()) return ClosedHere();
    const int n = ::poll(&p, 1, deadline.PollMillis());
    if (n > 0) return Ok();
    if (n < 0 && errno != EINTR)
      return TransportError(kCauseOther, std::string("poll: ") + std::strerror(errno));
    if (n == 0 && deadline.Passed())
      return MakeError(Code::kTimeout, std::string("timeout while ") + what);
  }
}

Status Connection::TryAddress(const Poco::Net::SocketAddress& address, SocketDeadline deadline) {
  try {
    Poco::Net::StreamSocket socket;
    socket.connectNB(address);
    Adopt(socket);
    Status ready = WaitFor(POLLOUT, deadline, "connecting");
    if (!ready.ok()) {
      Close();
      return ready;
    }
    const int error = socket.impl()->socketError();
    if (error != 0) {
      Close();
      return TransportError(CauseOfErrno(error),
                            "dial tcp " + address.toString() + ": connect: " + TextOfErrno(error));
    }
    socket.setNoDelay(true);
    socket.setKeepAlive(true);
    socket.setOption(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveSeconds);
    socket.setOption(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveInterval);
    socket.setOption(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
    return Ok();
  } catch (const Poco::Exception& e) {
    Close();
    Error error = FromException(e);
    error.message = "dial tcp " + address.toString() + ": " + error.message;
    return error;
  }
}

Status Connection::ConnectTcp(const std::string& host, uint16_t port, SocketDeadline deadline) {
  std::vector<Poco::Net::IPAddress> addresses;
  try {
    Poco::Net::IPAddress literal;
    if (Poco::Net::IPAddress::tryParse(host, literal)) {
      addresses.push_back(literal);
    } else {
      addresses = Poco::Net::DNS::hostByName(host).addresses();
    }
  } catch (const Poco::Exception&) {
    return TransportError(kCauseOther, "dial tcp: lookup " + host + ": no such host");
  }
  Status last = TransportError(kCauseOther, "dial tcp: lookup " + host + ": no addresses");
  for (const Poco::Net::IPAddress& address : addresses) {
    last = TryAddress(Poco::Net::SocketAddress(address, port), deadline);
    if (last.ok() || deadline.Passed() || aborted()) break;
  }
  return last;
}

Status Connection::Handshake(const Endpoint& endpoint, SocketDeadline deadline) {
  BlockSigPipe();
  try {
    // The verified name is part of the context (tls_context.h); this one is what the server is told
    // (SNI).
    SecureStreamSocket secure = SecureStreamSocket::attach(socket_, endpoint.sni, endpoint.tls);
    Adopt(secure);
    tls_ = true;
    for (;;) {
      ERR_clear_error();
      const int rc = secure.completeHandshake();
      bool want_write = false;
      if (!WouldBlock(rc, &want_write)) break;
      const Status ready =
          WaitFor(want_write ? POLLOUT : POLLIN, deadline, "doing the TLS handshake");
      if (!ready.ok()) return ready;
    }
    return Ok();
  } catch (const Poco::Exception& e) {
    Error error = FromException(e);
    if (error.cause == kCauseOther) error.cause = kCauseTls;
    if (std::string refused = TakeVerifyProblem(); !refused.empty()) {
      error.cause = kCauseTls;
      error.message = "tls: " + std::move(refused);
    }
    error.message = "TLS handshake with " + endpoint.host + ": " + error.message;
    return error;
  }
}

Status Connection::PassProxy(const Endpoint& endpoint, SocketDeadline deadline) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  const std::string host_port =
      (v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
  if (endpoint.proxy.kind == Proxy::Kind::kSocks5) {
    return Socks5Connect(this, endpoint.proxy, endpoint.host, endpoint.port, deadline);
  }
  if (!endpoint.tls) return Ok();  // plain http goes through in absolute form
  Status sent = Write(ConnectRequest(endpoint.proxy, host_port), deadline);
  if (!sent.ok()) return sent;
  std::string answer;
  char c = 0;
  // Byte by byte: what follows the blank line belongs to the tunnel.
  while (!answer.ends_with("\r\n\r\n")) {
    const Result<size_t> n = Read(&c, 1, deadline);
    if (!n.ok()) return n.error();
    if (*n == 0 || answer.size() >= kMaxProxyAnswer) {
      return TransportError(kCauseOther,
                            "proxy " + endpoint.proxy.host + ": no proper answer to CONNECT");
    }
    answer.push_back(c);
  }
  const std::string line = answer.substr(0, answer.find('\r'));
  if (line.size() < 12 || line.rfind("HTTP/1.", 0) != 0 || line[9] != '2') {
    return TransportError(kCauseOther,
                          "proxy " + endpoint.proxy.host + " refused CONNECT: " + line);
  }
  return Ok();
}

Status Connection::Connect(const Endpoint& endpoint, SocketDeadline deadline) {
  const bool proxied = endpoint.proxy.kind != Proxy::Kind::kNone;
  const SocketDeadline connect = deadline.EarlierOf(SocketDeadline::In(kConnectLimit));
  Status status = proxied ? ConnectTcp(endpoint.proxy.host, endpoint.proxy.port, connect)
                          : ConnectTcp(endpoint.host, endpoint.port, connect);
  if (status.ok() && proxied) status = PassProxy(endpoint, connect);
  if (status.ok() && endpoint.tls) {
    status = Handshake(endpoint, deadline.EarlierOf(SocketDeadline::In(kHandshakeLimit)));
  }
  return status;
}

Status Connection::Write(std::string_view bytes, SocketDeadline deadline) {
  if (!open_) return TransportError(kCauseOther, "connection is not open");
  BlockSigPipe();
  try {
    while (!bytes.empty()) {
      if (aborted()) return ClosedHere();
      ERR_clear_error();
      const int size = static_cast<int>(std::min<size_t>(bytes.size(), 1 << 20));
      const int rc = socket_.sendBytes(bytes.data(), size, MSG_NOSIGNAL);
      if (rc > 0) {
        bytes.remove_prefix(static_cast<size_t>(rc));
        continue;
      }
      const bool want_read = tls_ && rc == SecureStreamSocket::ERR_SSL_WANT_READ;
      const Status ready = WaitFor(want_read ? POLLIN : POLLOUT, deadline, "sending the request");
      if (!ready.ok()) return ready;
    }
    return Ok();
  } catch (const Poco::Exception& e) {
    return FromException(e);
  }
}

Result<size_t> Connection::Read(char* to, size_t size, SocketDeadline deadline) {
  if (!open_) return TransportError(kCauseOther, "connection is not open");
  BlockSigPipe();
  try {
    for (;;) {
      ERR_clear_error();
      const int rc = socket_.receiveBytes(to, static_cast<int>(std::min<size_t>(size, 1 << 20)));
      if (rc > 0) return static_cast<size_t>(rc);
      if (rc == 0) {
        if (aborted()) return ClosedHere();
        return size_t{0};
      }
      const bool want_write = tls_ && rc == SecureStreamSocket::ERR_SSL_WANT_WRITE;
      const Status ready =
          WaitFor(want_write ? POLLOUT : POLLIN, deadline, "waiting for the answer");
      if (!ready.ok()) return ready.error();
    }
  } catch (const Poco::Exception& e) {
    return FromException(e);
  }
}

bool Connection::Stale() {
  if (!open_ || aborted()) return true;
  pollfd p{socket_.impl()->sockfd(), POLLIN, 0};
  if (::poll(&p, 1, 0) == 0) return false;
  if (!tls_) return true;  // closed, or bytes that answer nothing
  // TLS control records (session tickets) make the socket readable without ending it.
  try {
    char c = 0;
    ERR_clear_error();
    const int rc = socket_.receiveBytes(&c, 1);
    bool want_write = false;
    return !WouldBlock(rc, &want_write);
  } catch (const Poco::Exception&) {
    return true;
  }
}

}  // namespace kcm::host::client
