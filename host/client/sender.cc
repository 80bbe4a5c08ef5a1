// SPDX-License-Identifier: Apache-2.0
// Sends requests: throttling, fencing, credentials, retries.
#include "host/client/sender.h"

#include <utility>

#include "host/client/pause.h"
#include "host/client/refusal.h"
#include "host/client/request.h"

namespace kcm::host::client {
namespace {

constexpr int kMaxRetries = 10;
constexpr clock::Duration kTransportRetryDelay = std::chrono::seconds(1);
constexpr clock::Duration kLongWait = std::chrono::milliseconds(50);
constexpr clock::Duration kExtraLongWait = std::chrono::seconds(1);
constexpr size_t kJoinBody = 64 << 10;  // up to here head and body go out in one write

// client-go takes 5/s for qps 0 (7.1 table); our contract says <= 0 is unlimited, the flag's
// meaning is main's business.
SocketDeadline DeadlineOf(clock::Duration timeout) {
  return timeout.count() > 0 ? SocketDeadline::In(timeout) : SocketDeadline();
}

bool IsStreamEnd(const Error& e) { return e.cause == kCauseReset || e.cause == kCauseEof; }

}  // namespace

struct Sender::Attempt {
  std::string_view method;
  Accept accept;
  SocketDeadline deadline;  // of the whole call
  bool bytes_went_out = false;
  bool reused = false;
  bool got_bytes = false;
};

OpenAnswer::OpenAnswer(Transport* transport, Side side, std::unique_ptr<Connection> connection,
                       Cancellation* cancel)
    : transport_(transport),
      side_(side),
      connection_(std::move(connection)),
      cancel_(cancel),
      exchange_(connection_.get()) {
  if (cancel_ != nullptr) cancel_id_ = cancel_->OnCancel([c = connection_.get()] { c->Abort(); });
}

OpenAnswer::~OpenAnswer() {
  if (cancel_ != nullptr) cancel_->Remove(cancel_id_);
  transport_->GiveBack(std::move(connection_), side_, exchange_.Reusable());
}

Result<std::string> OpenAnswer::ReadAll(size_t limit) {
  std::string body;
  if (head_.content_length > 0)
    body.reserve(std::min(limit, static_cast<size_t>(head_.content_length)));
  for (;;) {
    const size_t old = body.size();
    const size_t left =
        head_.content_length > 0 && static_cast<size_t>(head_.content_length) > old
            ? std::min<size_t>(static_cast<size_t>(head_.content_length) - old, 1 << 20)
            : 8192;
    body.resize(old + left);
    const Result<size_t> n = Read(body.data() + old, left);
    body.resize(old + (n.ok() ? *n : 0));
    if (!n.ok()) return n.error();
    if (*n == 0) return body;
    if (body.size() > limit)
      return TransportError(kCauseOther, "answer larger than " + std::to_string(limit) + " bytes");
  }
}

Sender::Sender(const ClientOptions& options)
    : options_(options),
      transport_(*options.transport),
      limiter_(options.qps, options.burst, options.clock),
      metrics_(options.metrics, options.transport->host_label()) {}

bool Sender::JsonOnly(const Call& call) {
  std::lock_guard<std::mutex> lock(mutex_);
  return !json_only_.empty() &&
         json_only_.count(call.resource.group + "/" + call.resource.resource) > 0;
}

void Sender::UseJson(const Call& call) {
  std::lock_guard<std::mutex> lock(mutex_);
  json_only_.insert(call.resource.group + "/" + call.resource.resource);
}

Error Sender::Explain(const Call& call, Error error) const {
  std::string method(MethodOf(call.verb));
  for (size_t i = 1; i < method.size(); ++i) method[i] = static_cast<char>(method[i] - 'A' + 'a');
  if (options_.token == nullptr && error.cause == kCauseTls && IsCertificateAlert(error.message))
    error.message += ": the server refuses " + CertificateText(transport_.config());
  error.message = method + " \"" + transport_.base_url() + TargetOf(call) + "\": " + error.message;
  return error;
}

Status Sender::Sleep(clock::Duration d, Cancellation* cancel) {
  return Pause(options_.clock, d, cancel)
             ? Ok()
             : Status(MakeError(Code::kCancelled, "cancelled while waiting"));
}

Status Sender::Throttle(const Call& call, std::string_view method) {
  const clock::Duration wait = limiter_.Reserve();
  if (wait.count() > 0) {
    const Status slept = Sleep(wait, call.cancel);
    if (!slept.ok()) {
      limiter_.Return();
      return slept;
    }
    LogThrottled(call, wait);
  }
  metrics_.Throttled(method, wait);
  return Ok();
}

void Sender::LogThrottled(const Call& call, clock::Duration waited) {
  if (waited < kLongWait) return;
  int level = 3;
  if (waited >= kExtraLongWait) {
    const clock::MonoTime now = options_.clock->Monotonic();
    std::lock_guard<std::mutex> lock(mutex_);
    if (now - logged_10s_ >= std::chrono::seconds(10)) {
      level = 0;
      logged_10s_ = logged_1s_ = now;
    } else if (now - logged_1s_ >= std::chrono::seconds(1)) {
      level = 2;
      logged_1s_ = now;
    }
  }
  if (!options_.log.Enabled(level)) return;
  const double seconds = std::chrono::duration<double>(waited).count();
  options_.log.Info(level, "Waited before sending request",
                    {{"delay", std::to_string(seconds) + "s"},
                     {"reason", "client-side throttling, not priority and fairness"},
                     {"verb", MethodOf(call.verb)},
                     {"URL", transport_.base_url() + TargetOf(call)}});
}

Status Sender::CheckFence(const Call& call, SocketDeadline* deadline) const {
  if (!ChangesSomething(call.verb)) return Ok();
  for (const Fence* fence : {options_.fence.get(), call.fence}) {
    if (fence == nullptr) continue;
    clock::MonoTime until = clock::MonoTime::Max();
    const Status allowed = fence->Check(&until);
    if (!allowed.ok()) return allowed;
    if (until == clock::MonoTime::Max()) continue;
    const clock::Duration left = until - options_.clock->Monotonic();
    if (left.count() <= 0) return MakeError(Code::kFenced, "the lease's time is over");
    *deadline = deadline->EarlierOf(SocketDeadline::In(left));
  }
  return Ok();
}

Result<std::string> Sender::Credential() {
  // Over plain http no credentials are sent (2.2).
  if (!transport_.address().tls) return std::string();
  if (options_.token == nullptr) return transport_.Authorization();
  Result<std::string> token = options_.token->Token();
  if (!token.ok()) return token;
  return "Bearer " + *token;
}

void Sender::Rejected(const OpenAnswer& answer) {
  if (options_.token == nullptr) return transport_.Rejected(answer.credential_);
  constexpr size_t kBearer = 7;  // "Bearer "
  if (answer.credential_.size() > kBearer)
    options_.token->Invalidate(answer.credential_.substr(kBearer));
}

std::string Sender::Head(const Call& call, const Attempt& attempt,
                         const std::string& credential) const {
  std::string out;
  out.reserve(512 + (call.body.size() <= kJoinBody ? call.body.size() : 0));
  out.append(attempt.method)
      .append(" ")
      .append(transport_.target_prefix())
      .append(TargetOf(call))
      .append(" HTTP/1.1\r\n");
  out.append(transport_.common_headers());
  out.append("User-Agent: ")
      .append(options_.user_agent)
      .append("\r\nAccept: ")
      .append(attempt.accept.value)
      .append("\r\n");
  if (!credential.empty()) out.append("Authorization: ").append(credential).append("\r\n");
  if (options_.token == nullptr) out.append(transport_.identity_headers());
  const std::string content_type = ContentTypeOf(call);
  if (!content_type.empty()) out.append("Content-Type: ").append(content_type).append("\r\n");
  if (!call.body.empty() || (attempt.method != "GET" && attempt.method != "DELETE")) {
    out.append("Content-Length: ").append(std::to_string(call.body.size())).append("\r\n");
  }
  return out.append("\r\n");
}

Result<std::unique_ptr<OpenAnswer>> Sender::Exchange(const Call& call, Attempt* attempt,
                                                     bool fresh_only) {
  SocketDeadline deadline = attempt->deadline;
  Status allowed = CheckFence(call, &deadline);
  if (!allowed.ok()) return allowed.error();
  Result<std::string> credential = Credential();
  if (!credential.ok()) return credential.error();

  const Side side = options_.token == nullptr ? Side::kIdentity : Side::kBare;
  std::unique_ptr<Connection> connection = fresh_only ? nullptr : transport_.TakeIdle(side);
  attempt->reused = connection != nullptr;
  if (!connection) connection = transport_.NewConnection(side);
  Connection* const raw = connection.get();
  auto answer = std::make_unique<OpenAnswer>(&transport_, side, std::move(connection), call.cancel);
  answer->credential_ = *std::move(credential);
  if (!attempt->reused) {
    const Status connected = transport_.Connect(raw, side, deadline);
    if (!connected.ok()) return connected.error();
  }
  std::string request = Head(call, *attempt, answer->credential_);
  const bool joined = call.body.size() <= kJoinBody;
  if (joined) request.append(call.body);
  // The last moment before bytes leave the process.
  allowed = CheckFence(call, &deadline);
  if (!allowed.ok()) return allowed.error();
  answer->deadline_ = deadline;
  attempt->bytes_went_out = true;
  Status sent = answer->exchange_.Send(request, deadline);
  if (sent.ok() && !joined) sent = answer->exchange_.Send(call.body, deadline);
  // A server may answer (413, 401) and close before it has read everything: its words say more than
  // "broken pipe".
  if (!sent.ok() && sent.error().cause != kCauseReset) return sent.error();
  Result<ResponseHead> head = answer->exchange_.ReadHead(deadline);
  attempt->got_bytes = answer->exchange_.got_bytes();
  if (!head.ok()) return sent.ok() ? head.error() : sent.error();
  answer->head_ = *std::move(head);
  return answer;
}

Result<std::unique_ptr<OpenAnswer>> Sender::SendOnce(const Call& call, Attempt* attempt) {
  const clock::MonoTime start = options_.clock->Monotonic();
  Result<std::unique_ptr<OpenAnswer>> answer = Exchange(call, attempt, false);
  // A kept connection that the server closed in the moment of reuse: reads go out again at once,
  // writes never (T17).
  const bool cancelled = call.cancel != nullptr && call.cancel->cancelled();
  if (!answer.ok() && attempt->reused && !attempt->got_bytes && attempt->method == "GET" &&
      IsStreamEnd(answer.error()) && !cancelled) {
    answer = Exchange(call, attempt, true);
  }
  // The lease client has 10 s for its renewal: it must not meet one dead kept connection after the
  // other (T6).
  if (!answer.ok() && attempt->reused && answer.code() == Code::kTimeout) transport_.DropIdle();
  if (answer.ok()) {
    transport_.Answered();
  } else if (!cancelled && (answer.code() == Code::kTransport || answer.code() == Code::kTimeout)) {
    transport_.Unanswered(answer.error());
  }
  if (answer.ok() || attempt->bytes_went_out || answer.code() == Code::kTransport ||
      answer.code() == Code::kTimeout) {
    metrics_.Attempt(attempt->method, answer.ok() ? (*answer)->head().status : 0,
                     options_.clock->Monotonic() - start, call.body.size());
  }
  return answer;
}

Result<std::unique_ptr<OpenAnswer>> Sender::SendWithRetries(const Call& call, bool json_only) {
  Attempt attempt;
  attempt.method = MethodOf(call.verb);
  attempt.accept = AcceptOf(call, json_only);
  std::string previous;
  clock::MonoTime end = clock::MonoTime::Max();  // of the whole call, on the clock of the pauses
  for (int tries = 0;; ++tries) {
    if (call.cancel != nullptr && call.cancel->cancelled())
      return MakeError(Code::kCancelled, "cancelled");
    if (call.rate_limited) {
      const Status turn = Throttle(call, attempt.method);
      if (!turn.ok()) return turn.error();
    }
    // The timeout spans all attempts but not the first wait for the limiter (7.2).
    if (tries == 0) {
      attempt.deadline = DeadlineOf(call.timeout);
      if (call.timeout.count() > 0) end = options_.clock->Monotonic() + call.timeout;
    }
    Result<std::unique_ptr<OpenAnswer>> answer = SendOnce(call, &attempt);
    // A pause that no attempt could follow is none: the caller hears at once what came.
    const auto last = [&](clock::Duration pause) {
      return tries >= kMaxRetries || attempt.deadline.Passed() ||
             options_.clock->Monotonic() + pause >= end;
    };
    clock::Duration delay{0};
    int code = 0;
    if (!answer.ok()) {
      if (call.cancel != nullptr && call.cancel->cancelled())
        return MakeError(Code::kCancelled, "cancelled");
      const bool again = call.retry_lost && attempt.method == "GET" &&
                         answer.code() == Code::kTransport && IsStreamEnd(answer.error());
      if (!again || last(kTransportRetryDelay)) {
        Error error = answer.error();
        if (!previous.empty()) error.message += " - error from a previous attempt: " + previous;
        return error.code == Code::kTransport || error.code == Code::kTimeout
                   ? Explain(call, std::move(error))
                   : error;
      }
      previous = answer.error().message;
      delay = kTransportRetryDelay;
    } else {
      const ResponseHead& head = (*answer)->head();
      const bool again =
          (head.status == 429 || head.status >= 500) && head.retry_after_seconds >= 0;
      delay = std::chrono::seconds(std::min<int64_t>(head.retry_after_seconds, 86'400));
      if (!again || last(delay)) return answer;
      code = head.status;
      previous = "HTTP status " + std::to_string(code);
      if (options_.log.Enabled(4)) {
        options_.log.Info(4, "Got a Retry-After response",
                          {{"delay", std::to_string(head.retry_after_seconds) + "s"},
                           {"attempt", tries + 1},
                           {"url", transport_.base_url() + TargetOf(call)}});
      }
      (void)(*answer)->ReadAll(kMaxErrorBody);  // so that the connection can be used again
      answer->reset();
    }
    metrics_.Retry(attempt.method, code);
    const Status slept = Sleep(delay, call.cancel);
    if (!slept.ok()) return slept.error();
  }
}

Result<std::unique_ptr<OpenAnswer>> Sender::Send(const Call& call) {
  const bool json_only = JsonOnly(call);
  Result<std::unique_ptr<OpenAnswer>> answer = SendWithRetries(call, json_only);
  if (!answer.ok() || json_only || !AcceptOf(call, false).protobuf) return answer;
  const int status = (*answer)->head().status;
  if (status != 406) return answer;
  (void)(*answer)->ReadAll(kMaxErrorBody);
  answer->reset();
  UseJson(call);
  return SendWithRetries(call, true);
}

}  // namespace kcm::host::client
