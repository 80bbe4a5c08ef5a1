// SPDX-License-Identifier: Apache-2.0
// One HTTP/1.1 connection of a client: reads requests, writes answers, over plain TCP or TLS.
//
// Our own and not Poco's HTTPServer, because a test server must be able to drop a connection at any
// point, stop at once from another thread without touching a live SSL object, and notice that the
// client of a silent watch has gone.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using SSL = struct ssl_st;

namespace kcm::devcluster {

struct HttpRequest {
  std::string method;
  std::string target;  // as sent: path and query
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool keep_alive = true;

  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
  std::string_view query() const {
    const size_t q = target.find('?');
    return q == std::string::npos ? std::string_view() : std::string_view(target).substr(q + 1);
  }
  // Value of the first header of that name (any case), "" when absent.
  std::string_view Header(std::string_view name) const;
};

// What a client certificate says; empty without one.
struct PeerCertificate {
  std::string common_name;
  std::vector<std::string> organizations;
  std::string sha256;  // of the certificate, hex
};

// Used by one thread, but for Abort. Owns the socket and the SSL object.
class Connection {
 public:
  // Takes over `fd` and `ssl` (nullptr: plain).
  Connection(int fd, SSL* ssl);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // TLS handshake; true at once for plain connections.
  bool Handshake();
  const PeerCertificate& peer() const { return peer_; }

  enum class Read { kRequest, kClosed, kBad, kTooLarge };
  // The next request with its whole body. kBad: `error` says what was wrong with it.
  Read ReadRequest(HttpRequest* request, std::string* error);

  // False when the client is gone.
  bool Write(std::string_view bytes);
  // Answers with a complete body. `headers` are complete lines ("Retry-After: 1\r\n").
  bool Send(int code, std::string_view content_type, std::string_view headers,
            std::string_view body);
  // Chunked answer: Begin, any number of Chunk, End.
  bool BeginChunked(int code, std::string_view content_type, std::string_view headers);
  bool Chunk(std::string_view bytes);
  // The same without a copy, for streams: `frame` is kChunkRoom bytes of anything and then the
  // content; afterwards it is the room alone again.
  static constexpr size_t kChunkRoom = 10;
  bool ChunkInPlace(std::string* frame);
  bool EndChunked();

  // Waits until `wake_fd` is readable, the client has closed, or `timeout_ms` (real time, -1: none)
  // passed. True when the connection is still good.
  bool AwaitWake(int wake_fd, int timeout_ms);

  // Ends whatever this connection is doing. From any thread, while the object lives.
  void Abort();
  bool aborted() const { return aborted_.load(std::memory_order_relaxed); }
  // Nothing may be sent after this answer.
  void CloseAfter() { close_after_ = true; }
  bool close_after() const { return close_after_; }

 private:
  bool Fill();  // reads more bytes into buffer_
  bool ReadLine(std::string* line);
  bool ReadExactly(size_t n, std::string* out);
  bool ReadChunkedBody(std::string* body, bool* too_large);
  void AppendHead(int code, std::string_view content_type, std::string_view headers,
                  std::string* out) const;

  int fd_;
  SSL* ssl_;
  PeerCertificate peer_;
  std::string buffer_;
  size_t begin_ = 0;
  std::atomic<bool> aborted_{
      false};  // a flag only: Abort also shuts the socket down, which ends blocking calls
  bool close_after_ = false;
  bool head_ = false;  // the request being answered is HEAD
};

}  // namespace kcm::devcluster
