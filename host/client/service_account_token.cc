// SPDX-License-Identifier: Apache-2.0
// Tokens by TokenRequest.
#include "host/client/service_account_token.h"

#include <mutex>
#include <utility>

#include "host/client/pause.h"
#include "kcm/rules/time.h"

namespace kcm::host::client {
namespace {

Gvr ServiceAccounts() { return {"", "v1", "serviceaccounts"}; }
constexpr int kAttempts = 4;
constexpr clock::Duration kFirstDelay = std::chrono::milliseconds(500);
constexpr clock::Duration kMinLifetime = std::chrono::minutes(10);
// After a failed refresh the old token serves on; the next try waits this long.
constexpr clock::Duration kRefreshRetry = std::chrono::seconds(10);
constexpr char kTokenRequest[] =
    R"({"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","spec":{"audiences":null,"expirationSeconds":3600}})";

Status CreateNamespace(const ServiceAccountTokenOptions& o) {
  Call get{.verb = Verb::kGet, .resource = {"", "v1", "namespaces"}, .name = o.ns};
  get.cancel = o.cancel;
  const Result<Answer> found = o.client->Do(get);
  if (found.ok() || !found.error().Is(Code::kNotFound)) return Ok();
  Call create{.verb = Verb::kCreate, .resource = {"", "v1", "namespaces"}};
  create.cancel = o.cancel;
  create.body = R"({"kind":"Namespace","apiVersion":"v1","metadata":{"name":")" + o.ns + R"("}})";
  const Result<Answer> created = o.client->Do(create);
  if (!created.ok() && !created.error().Is(Code::kAlreadyExists)) {
    o.log.Error(created.error().message, "Create non-exist namespace failed",
                {{"namespace", o.ns}});
  }
  return Ok();
}

class Source : public TokenSource {
 public:
  explicit Source(ServiceAccountTokenOptions options) : o_(std::move(options)) {}

  Result<std::string> Token() override;
  void Invalidate(const std::string& token) override {
    std::lock_guard<std::mutex> lock(mutex_);
    // A token fetched since that request began stays.
    if (token == token_) token_.clear();
  }

 private:
  struct Fetched {
    std::string token;
    clock::Duration lifetime{0};
  };
  Result<Fetched> Fetch();
  Result<Fetched> FetchWithRetries();

  const ServiceAccountTokenOptions o_;
  std::mutex fetch_mutex_;  // one fetch at a time; the others wait for its result
  std::mutex mutex_;
  std::string token_;           // guarded by mutex_
  clock::MonoTime refresh_at_;  // guarded by mutex_
};

Result<Source::Fetched> Source::Fetch() {
  Call call{.verb = Verb::kCreate,
            .resource = ServiceAccounts(),
            .ns = o_.ns,
            .name = o_.name,
            .subresource = "token"};
  call.body = kTokenRequest;
  call.cancel = o_.cancel;
  const Result<Answer> answer = o_.client->Do(call);
  if (!answer.ok()) return answer.error();
  if (!answer->object) return MakeError(Code::kInternal, "the server sent no TokenRequest");
  const rules::Node status = answer->object->Node().Get("status");
  Fetched out;
  out.token = status.Get("token").String();
  if (out.token.empty() || out.token.find_first_of("\r\n") != std::string::npos) {
    return MakeError(Code::kInternal, "the server sent a TokenRequest without a usable token");
  }
  const auto expires = rules::TimeOf(status.Get("expirationTimestamp"));
  out.lifetime =
      expires ? std::max(kMinLifetime, clock::Duration(*expires - o_.clock->Now())) : kMinLifetime;
  return out;
}

Result<Source::Fetched> Source::FetchWithRetries() {
  Result<Fetched> fetched = MakeError(Code::kInternal, "");
  clock::Duration delay = kFirstDelay;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) {
      if (!Pause(o_.clock, delay, o_.cancel)) return MakeError(Code::kCancelled, "stopping");
      delay *= 2;
    }
    const Status ensured = EnsureServiceAccount(o_);
    if (!ensured.ok()) {
      fetched = ensured.error();
    } else {
      fetched = Fetch();
    }
    if (fetched.ok()) return fetched;
    // Nothing may be sent any more: waiting does not help.
    if (fetched.error().Is(Code::kFenced) || fetched.error().Is(Code::kStopped) ||
        fetched.error().Is(Code::kCancelled))
      return fetched;
  }
  Error e = fetched.error();
  e.message = "failed to get token for " + o_.ns + "/" + o_.name + ": " + e.message;
  return e;
}

Result<std::string> Source::Token() {
  for (int waited = 0; waited < 2; ++waited) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!token_.empty() && o_.clock->Monotonic() < refresh_at_) return token_;
    }
    std::unique_lock<std::mutex> fetching(fetch_mutex_, std::defer_lock);
    if (!fetching.try_lock()) {
      // While another thread refreshes, an old token still serves; without one we wait and look
      // again.
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!token_.empty()) return token_;
      }
      fetching.lock();
      std::lock_guard<std::mutex> lock(mutex_);
      if (!token_.empty()) return token_;
    }
    const Result<Fetched> fetched = FetchWithRetries();
    std::lock_guard<std::mutex> lock(mutex_);
    if (fetched.ok()) {
      token_ = fetched->token;
      refresh_at_ = o_.clock->Monotonic() + fetched->lifetime * 8 / 10;
      return token_;
    }
    if (token_.empty()) return fetched.error();
    refresh_at_ = o_.clock->Monotonic() + kRefreshRetry;
    o_.log.Error(fetched.error().message, "Unable to rotate token",
                 {{"serviceAccount", o_.ns + "/" + o_.name}});
    return token_;
  }
  return MakeError(Code::kInternal, "failed to get token for " + o_.ns + "/" + o_.name);
}

}  // namespace

Status EnsureServiceAccount(const ServiceAccountTokenOptions& o) {
  Call get{.verb = Verb::kGet, .resource = ServiceAccounts(), .ns = o.ns, .name = o.name};
  get.cancel = o.cancel;
  const Result<Answer> found = o.client->Do(get);
  if (found.ok()) return Ok();
  if (!found.error().Is(Code::kNotFound)) return found.error();
  (void)CreateNamespace(o);  // only logged (3.3 step 1)
  Call create{.verb = Verb::kCreate, .resource = ServiceAccounts(), .ns = o.ns};
  create.cancel = o.cancel;
  create.body = R"({"kind":"ServiceAccount","apiVersion":"v1","metadata":{"namespace":")" + o.ns +
                R"(","name":")" + o.name + R"("}})";
  const Result<Answer> created = o.client->Do(create);
  if (created.ok()) return Ok();
  if (!created.error().Is(Code::kAlreadyExists)) return created.error();
  const Result<Answer> again = o.client->Do(get);
  return again.ok() ? Ok() : Status(again.error());
}

std::shared_ptr<TokenSource> MakeServiceAccountTokenSource(ServiceAccountTokenOptions options) {
  return std::make_shared<Source>(std::move(options));
}

}  // namespace kcm::host::client
