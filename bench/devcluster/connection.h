// SPDX-License-Identifier: Apache-2.0
// Connection: one keep-alive HTTP/1.1 connection to the measured server, as cheap for the measuring
// side as can be: blocking socket, TLS with a client certificate, answers streamed to a callback.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

using SSL = struct ssl_st;
using SSL_CTX = struct ssl_ctx_st;

namespace kcm::bench {

// Where the server is and who asks. Outlives its connections. Dies with a message on errors: a
// benchmark has nobody to tell.
class Target {
 public:
  // `url` as the server prints it; `kubeconfig` with embedded data (unused for http).
  Target(const std::string& url, const std::string& kubeconfig);
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

 private:
  friend class Connection;
  uint16_t port_ = 0;
  SSL_CTX* context_ = nullptr;
};

struct Reply {
  int code = 0;
  std::string body;
};

// Used by one thread.
class Connection {
 public:
  explicit Connection(const Target& target);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Reply Do(std::string_view method, std::string_view path, std::string_view body,
           std::string_view content_type = "application/json");
  // Hands the body over in parts as they come. `part` returns false to stop reading (the connection
  // is then of no more use). Returns the code; 0 when the connection ended early.
  int Stream(std::string_view path, std::string_view accept,
             const std::function<bool(std::string_view)>& part);
  // Sends a GET and reads nothing.
  void SendOnly(std::string_view path);
  int fd() const { return fd_; }

 private:
  void Send(std::string_view method, std::string_view path, std::string_view body,
            std::string_view content_type, std::string_view accept);
  bool Fill();
  bool Line(std::string* line);
  int Head(int64_t* length);
  bool Body(int64_t length, const std::function<bool(std::string_view)>& part);
  bool Take(int64_t n, const std::function<bool(std::string_view)>& part);

  int fd_;
  SSL* ssl_ = nullptr;
  std::string in_, out_;
  size_t begin_ = 0;
};

[[noreturn]] void Die(const std::string& why);

}  // namespace kcm::bench
