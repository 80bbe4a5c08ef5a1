// SPDX-License-Identifier: Apache-2.0
// HttpExchange: one HTTP/1.1 request and its answer on a Connection. Private to host/client.
//
// Why not Poco's HTTPClientSession: it takes an early end of a chunked body for its end (a cut list
// would look whole), may send a request again by itself, refuses headers over 8 kB, and can not
// tell whether bytes went out. Each of these decides whether a write is repeated
// (spec/host.md 7.2), so framing is done here; sockets and TLS stay Poco's.
#pragma once
#include <string>
#include <string_view>

#include "host/client/connection.h"

namespace kcm::host::client {

struct ResponseHead {
  int status = 0;
  std::string content_type;
  int64_t content_length = -1;       // -1: not given
  int64_t retry_after_seconds = -1;  // numeric Retry-After only (7.2)
  bool chunked = false;
  bool keep_alive = true;
};

// Parses "HTTP/1.1 200 OK\r\n...headers" without the blank line. An error is a transport error.
Result<ResponseHead> ParseResponseHead(std::string_view head);

class HttpExchange {
 public:
  explicit HttpExchange(Connection* connection) : connection_(connection) {}

  // `request`: head and body as they go out.
  Status Send(std::string_view request, SocketDeadline deadline);
  // Skips 1xx answers.
  Result<ResponseHead> ReadHead(SocketDeadline deadline);
  // The next bytes of the body, as soon as there are some; 0 = its end. A body cut short is an
  // error.
  Result<size_t> ReadBody(char* to, size_t size, SocketDeadline deadline);
  // The body has been read to its end and the connection can carry another request.
  bool Reusable() const { return state_ == State::kDone && reusable_ && at_ == buffer_.size(); }
  bool got_bytes() const { return got_bytes_; }

 private:
  enum class State {
    kHead,        // nothing of the answer has been consumed
    kFixed,       // left_ bytes to come
    kChunkHead,   // a chunk size line comes next
    kChunkData,   // left_ bytes of this chunk to come
    kChunkEnd,    // the line end after a chunk
    kTrailers,    // after the last chunk
    kUntilClose,  // the end of the stream is the end of the body
    kDone,
  };
  Status Fill(SocketDeadline deadline);
  // Takes a line without its line end.
  Result<std::string> ReadLine(size_t limit, SocketDeadline deadline);
  Result<size_t> ReadSome(char* to, size_t size, SocketDeadline deadline);
  Result<size_t> ReadUntilClose(char* to, size_t size, SocketDeadline deadline);
  Status NextChunk(SocketDeadline deadline);

  Connection* connection_;
  State state_ = State::kHead;
  std::string buffer_;  // received and not consumed: [at_, end)
  size_t at_ = 0;
  uint64_t left_ = 0;
  bool reusable_ = false;
  bool got_bytes_ = false;
};

}  // namespace kcm::host::client
