// SPDX-License-Identifier: Apache-2.0
// HttpServer: listens and gives each connection a thread of its own with a small stack (watches
// block in theirs).
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "devcluster/server/http_connection.h"
#include "kcm/rules/result.h"

using SSL_CTX = struct ssl_ctx_st;

namespace kcm::devcluster {

// Start and Stop from one thread. `handler` is called from many threads at once, one request of a
// connection at a time.
class HttpServer {
 public:
  using Handler = std::function<void(const HttpRequest&, Connection&)>;
  // `context` (nullptr: plain http) must outlive the server.
  HttpServer(SSL_CTX* context, Handler handler);
  ~HttpServer();

  // Port 0: any free one. The error names the address and what to do.
  Status Start(const std::string& address, uint16_t port);
  // Ends every connection and joins every thread.
  void Stop();
  // As if the process were gone: ends every connection, keeps the port, refuses new connections
  // until Resume. Between Start and Stop.
  void Suspend();
  Status Resume();
  uint16_t port() const { return port_; }
  // Open connections whose client certificate has this common name.
  int Connections(const std::string& common_name);

 private:
  struct Worker;
  Status Bind();
  Status Listen();
  Error Fail(const char* what);
  void EndConnections();
  static void* AcceptThread(void* self);
  static void* WorkerThread(void* worker);
  void AcceptLoop();
  void Serve(Worker& worker);
  void Reap();

  SSL_CTX* context_;
  Handler handler_;
  std::string address_;
  int listen_fd_ = -1;  // bound; listens while running_
  uint16_t port_ = 0;
  bool running_ = false;
  pthread_t accept_thread_{};
  std::atomic<bool> stopping_{false};  // a flag; the sockets are shut down after it is set
  std::mutex mutex_;                   // guards workers_ and finished_
  std::list<std::unique_ptr<Worker>> workers_;
  std::list<std::unique_ptr<Worker>> finished_;
};

}  // namespace kcm::devcluster
