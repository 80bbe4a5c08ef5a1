// SPDX-License-Identifier: Apache-2.0
// Listener and connection threads (http_server.h).
#include "devcluster/server/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "devcluster/api/api_error.h"

namespace kcm::devcluster {
namespace {

// Room for a deep but bounded object (200 levels) in a recursive walk; only touched pages cost
// memory.
constexpr size_t kStackBytes = 1024 * 1024;
// A client that takes no byte for this long is gone; its watch must not keep a thread.
constexpr time_t kSendTimeoutSeconds = 60;

bool StartThread(pthread_t* thread, void* (*run)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const int error = pthread_create(thread, &attributes, run, argument);
  pthread_attr_destroy(&attributes);
  return error == 0;
}

}  // namespace

struct HttpServer::Worker {
  HttpServer* server = nullptr;
  std::unique_ptr<Connection> connection;
  pthread_t thread{};
  std::string common_name;  // of the client's certificate. Guarded by mutex_
};

HttpServer::HttpServer(SSL_CTX* context, Handler handler)
    : context_(context), handler_(std::move(handler)) {}

HttpServer::~HttpServer() { Stop(); }

Error HttpServer::Fail(const char* what) {
  std::string text = "cannot listen on " + address_ + ":" + std::to_string(port_) + ": " + what +
                     ": " + std::strerror(errno) + ": choose another address or port";
  if (listen_fd_ >= 0) ::close(listen_fd_);
  listen_fd_ = -1;
  return MakeError(Code::kTransport, std::move(text));
}

Status HttpServer::Start(const std::string& address, uint16_t port) {
  address_ = address;
  port_ = port;
  const Status bound = Bind();
  return bound.ok() ? Listen() : bound;
}

Status HttpServer::Bind() {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(port_);
  errno = EINVAL;
  if (inet_pton(AF_INET, address_.c_str(), &where.sin_addr) != 1)
    return Fail("not an IPv4 address");
  listen_fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listen_fd_ < 0) return Fail("socket");
  const int one = 1;
  ::setsockopt(listen_fd_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr generic{};
  std::memcpy(&generic, &where, sizeof where);
  if (::bind(listen_fd_, &generic, sizeof where) != 0) return Fail("bind");
  socklen_t length = sizeof generic;
  if (::getsockname(listen_fd_, &generic, &length) != 0) return Fail("getsockname");
  std::memcpy(&where, &generic, sizeof where);
  port_ = ntohs(where.sin_port);
  return Ok();
}

Status HttpServer::Listen() {
  if (::listen(listen_fd_, 1024) != 0) return Fail("listen");
  stopping_ = false;
  if (!StartThread(&accept_thread_, &AcceptThread, this)) return Fail("thread");
  running_ = true;
  return Ok();
}

void* HttpServer::AcceptThread(void* self) {
  static_cast<HttpServer*>(self)->AcceptLoop();
  return nullptr;
}

void* HttpServer::WorkerThread(void* worker) {
  Worker& w = *static_cast<Worker*>(worker);
  w.server->Serve(w);
  return nullptr;
}

void HttpServer::AcceptLoop() {
  while (!stopping_) {
    const int fd = ::accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      if (stopping_) return;
      // Out of descriptors or a client that left already: wait a little instead of spinning.
      if (errno != EINTR && errno != ECONNABORTED) ::poll(nullptr, 0, 20);
      continue;
    }
    const int one = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    const timeval timeout{kSendTimeoutSeconds, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    Reap();
    auto worker = std::make_unique<Worker>();
    worker->server = this;
    SSL* ssl = context_ != nullptr ? SSL_new(context_) : nullptr;
    worker->connection = std::make_unique<Connection>(fd, ssl);
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    workers_.push_back(std::move(worker));
    Worker* w = workers_.back().get();
    if (!StartThread(&w->thread, &WorkerThread, w)) workers_.pop_back();
  }
}

void HttpServer::Serve(Worker& worker) {
  Connection& c = *worker.connection;
  if (c.Handshake()) {
    {
      const std::lock_guard lock(mutex_);
      worker.common_name = c.peer().common_name;
    }
    HttpRequest request;
    std::string error;
    while (!stopping_) {
      const Connection::Read read = c.ReadRequest(&request, &error);
      if (read == Connection::Read::kClosed) break;
      if (read != Connection::Read::kRequest) {
        c.CloseAfter();
        ApiError bad = BadRequest(error);
        if (read == Connection::Read::kTooLarge) {
          bad.code = 413;
          bad.reason = "RequestEntityTooLarge";
          bad.message = "Request entity too large: limit is 3145728";
        }
        c.Send(bad.code, "application/json", "", ToStatusText(bad));
        break;
      }
      if (!request.keep_alive) c.CloseAfter();
      handler_(request, c);
      if (c.close_after()) break;
    }
  }
  ERR_clear_error();
  std::unique_ptr<Connection> ended;  // closed after the lock is released: saying goodbye may block
  const std::lock_guard lock(mutex_);  // destroyed before `ended`
  for (auto it = workers_.begin(); it != workers_.end(); ++it) {
    if (it->get() != &worker) continue;
    ended = std::move(worker.connection);
    finished_.splice(finished_.end(), workers_, it);
    return;
  }
}

void HttpServer::Reap() {
  std::list<std::unique_ptr<Worker>> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(finished_);
  }
  for (const auto& w : done) pthread_join(w->thread, nullptr);
}

void HttpServer::Stop() {
  EndConnections();
  if (listen_fd_ >= 0) ::close(listen_fd_);
  listen_fd_ = -1;
}

void HttpServer::Suspend() {
  EndConnections();
  // A bound socket that does not listen: the port stays ours, and connecting to it is refused.
  ::close(listen_fd_);
  (void)Bind();
}

Status HttpServer::Resume() { return running_ ? Ok() : Listen(); }

int HttpServer::Connections(const std::string& common_name) {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [&](const auto& w) {
    return w->common_name == common_name;
  }));
}

void HttpServer::EndConnections() {
  if (!running_) return;
  running_ = false;
  stopping_ = true;
  ::shutdown(listen_fd_, SHUT_RDWR);
  pthread_join(accept_thread_, nullptr);
  for (;;) {
    pthread_t next{};
    {
      const std::lock_guard lock(mutex_);
      for (const auto& w : workers_) w->connection->Abort();
      if (workers_.empty()) break;
      next = workers_.front()->thread;
    }
    // Joined here and not by Reap: a worker that moves itself to finished_ meanwhile is only
    // destroyed below.
    pthread_join(next, nullptr);
    const std::lock_guard lock(mutex_);
    finished_.remove_if([&](const auto& w) { return pthread_equal(w->thread, next) != 0; });
  }
  Reap();
}

}  // namespace kcm::devcluster
