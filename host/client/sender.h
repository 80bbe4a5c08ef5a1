// SPDX-License-Identifier: Apache-2.0
// Sender: sends a Call with the retry rules of spec/host.md 7.2 and hands out the open answer.
// Private to host/client.
//
// Order in one attempt: rate limiter, fence, token, connection, fence again, bytes. The fence's
// deadline cuts every wait that follows it (design 7).
#pragma once
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "host/client/client.h"
#include "host/client/client_metrics.h"
#include "host/client/http_exchange.h"
#include "host/client/rate_limiter.h"
#include "host/client/transport_impl.h"

namespace kcm::host::client {

constexpr size_t kMaxErrorBody = 4 << 20;  // of an answer that failed

// An answer whose head has arrived. Its connection returns to the pool once the body has been read
// to the end, and is closed otherwise. One thread.
class OpenAnswer {
 public:
  OpenAnswer(Transport* transport, Side side, std::unique_ptr<Connection> connection,
             Cancellation* cancel);
  ~OpenAnswer();
  OpenAnswer(const OpenAnswer&) = delete;
  OpenAnswer& operator=(const OpenAnswer&) = delete;

  const ResponseHead& head() const { return head_; }
  Result<size_t> Read(char* to, size_t size) { return exchange_.ReadBody(to, size, deadline_); }
  // For streams: the body may take this long from now on.
  void ExtendDeadline(clock::Duration d) { deadline_ = SocketDeadline::In(d); }
  // The whole body. An error above `limit` bytes.
  Result<std::string> ReadAll(size_t limit);

 private:
  friend class Sender;
  Transport* const transport_;
  const Side side_;
  std::unique_ptr<Connection> connection_;
  Cancellation* const cancel_;
  int cancel_id_ = 0;
  HttpExchange exchange_;
  SocketDeadline deadline_;
  ResponseHead head_;
  std::string credential_;  // what was sent, for a 401
};

// Thread-safe.
class Sender {
 public:
  explicit Sender(const ClientOptions& options);

  // Any HTTP status; 2xx or not is the caller's business. 406/415 for protobuf falls back to JSON
  // by itself.
  Result<std::unique_ptr<OpenAnswer>> Send(const Call& call);
  // The resource's objects hold what our protobuf table does not know, or the server refused
  // protobuf: JSON from now on.
  void UseJson(const Call& call);
  ClientMetrics& metrics() { return metrics_; }
  // The answer was 401.
  void Rejected(const OpenAnswer& answer);
  // `Get "https://host/path": ` in front of the text.
  Error Explain(const Call& call, Error error) const;

 private:
  struct Attempt;
  Result<std::unique_ptr<OpenAnswer>> SendWithRetries(const Call& call, bool json_only);
  Result<std::unique_ptr<OpenAnswer>> SendOnce(const Call& call, Attempt* attempt);
  Result<std::unique_ptr<OpenAnswer>> Exchange(const Call& call, Attempt* attempt, bool fresh_only);
  Status Throttle(const Call& call, std::string_view method);
  Status Sleep(clock::Duration d, Cancellation* cancel);
  Status CheckFence(const Call& call, SocketDeadline* deadline) const;
  Result<std::string> Credential();
  std::string Head(const Call& call, const Attempt& attempt, const std::string& credential) const;
  bool JsonOnly(const Call& call);
  void LogThrottled(const Call& call, clock::Duration waited);

  const ClientOptions& options_;
  Transport& transport_;
  RateLimiter limiter_;
  ClientMetrics metrics_;
  std::mutex mutex_;
  std::set<std::string> json_only_;         // resources. Guarded by mutex_
  clock::MonoTime logged_1s_, logged_10s_;  // last lines about throttling. Guarded by mutex_
};

}  // namespace kcm::host::client
