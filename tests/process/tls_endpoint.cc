// SPDX-License-Identifier: Apache-2.0
// One connection after the other, one request each.
#include "process/tls_endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace kcm::process {
namespace {

constexpr timeval kPatience{10, 0};  // with a client that says nothing

template <class T, void (*Free)(T*)>
struct Freed {
  void operator()(T* p) const { Free(p); }
};
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX, SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Freed<SSL, SSL_free>>;
using Cert = std::unique_ptr<X509, Freed<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO, BIO_free_all>>;

Bio Open(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}
Cert CertOf(const std::string& pem) {
  return Cert(PEM_read_bio_X509(Open(pem).get(), nullptr, nullptr, nullptr));
}

Context MakeContext(const test::CertAndKey& server, const std::string& client_ca) {
  Context context(SSL_CTX_new(TLS_server_method()));
  const Cert cert = CertOf(server.cert);
  const Key key(PEM_read_bio_PrivateKey(Open(server.key).get(), nullptr, nullptr, nullptr));
  if (!context || SSL_CTX_use_certificate(context.get(), cert.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1)
    throw std::runtime_error("unusable certificate");
  if (!client_ca.empty()) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), CertOf(client_ca).get());
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
      const Session session(SSL_new(context.get()));
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

  Context context;
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
