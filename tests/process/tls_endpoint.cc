// SPDX-License-Identifier: Apache-2.0
// One connection after the other, one request each.
#include "process/tls_endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "host/http/tls_handles.h"

namespace kcm::process {
namespace {

constexpr timeval kPatience{10, 0};  // with a client that says nothing

test::Ctx MakeContext(const test::CertAndKey& server, const std::string& client_ca) {
  test::Ctx context(SSL_CTX_new(TLS_server_method()));
  if (!context || !test::UsePair(context.get(), server))
    throw std::runtime_error("unusable certificate");
  if (!client_ca.empty()) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), test::CertOf(client_ca).get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

}  // namespace

struct TlsEndpoint::State {
  void Serve() {
    // A client that leaves in the middle of an answer is none of this program's business.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    for (;;) {
      const int fd = ::accept(listener, nullptr, nullptr);
      if (fd < 0) return;
      ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
      const test::Ssl session(SSL_new(context.get()));
      SSL_set_fd(session.get(), fd);
      std::array<char, 4096> request{};
      if (SSL_accept(session.get()) == 1 &&
          SSL_read(session.get(), request.data(), static_cast<int>(request.size())) > 0) {
        static constexpr char kAnswer[] =
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
        SSL_write(session.get(), kAnswer, static_cast<int>(sizeof kAnswer - 1));
        answered = true;
        SSL_shutdown(session.get());
      }
      ERR_clear_error();
      ::close(fd);
    }
  }

  test::Ctx context;
  int listener = -1;
  int port = 0;
  std::atomic<bool> answered{false};
  std::thread thread;
};

TlsEndpoint::TlsEndpoint(const test::CertAndKey& server, const std::string& client_ca)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.context = MakeContext(server, client_ca);
  s.listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr generic{};
  std::memcpy(&generic, &where, sizeof where);
  socklen_t length = sizeof generic;
  if (::bind(s.listener, &generic, length) != 0 || ::listen(s.listener, 16) != 0 ||
      ::getsockname(s.listener, &generic, &length) != 0)
    throw std::runtime_error("no port to listen on");
  std::memcpy(&where, &generic, sizeof where);
  s.port = ntohs(where.sin_port);
  s.thread = std::thread([&s] { s.Serve(); });
}

TlsEndpoint::~TlsEndpoint() {
  ::shutdown(state_->listener, SHUT_RDWR);
  state_->thread.join();
  ::close(state_->listener);
}

int TlsEndpoint::port() const { return state_->port; }
bool TlsEndpoint::Answered() const { return state_->answered; }

}  // namespace kcm::process
