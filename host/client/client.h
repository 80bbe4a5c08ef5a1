// SPDX-License-Identifier: Apache-2.0
// Client: typed-by-data requests to one API server (spec/host.md 2, 3, 7). A Transport owns
// connections and TLS of one identity source; many Clients (one per controller) share it, each with
// its own user agent, rate limiter and credentials.
//
//   Call call{.verb = Verb::kPatch, .resource = {"apps", "v1", "deployments"}, .ns = "default",
//   .name = "web"}; Result<Answer> a = client.Do(call);
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/clock/clock.h"
#include "host/log/log.h"
#include "host/metric/registry.h"
#include "host/wire/codec.h"
#include "host/wire/interner.h"
#include "host/wire/object.h"
#include "kcm/rules/result.h"

namespace kcm::host::client {

struct Gvr {
  std::string group, version, resource;
  std::string ApiVersion() const { return group.empty() ? version : group + "/" + version; }
  friend auto operator<=>(const Gvr&, const Gvr&) = default;
};

enum class Verb : uint8_t {
  kGet,
  kList,
  kCreate,
  kUpdate,
  kPatch,
  kDelete,
  kDeleteCollection,
  kWatch
};
enum class PatchType : uint8_t { kNone, kJson, kMerge, kStrategic, kApply };
// How the answer is asked for and decoded.
enum class Form : uint8_t {
  kObject,
  kMetadataOnly,
  kRaw /* bytes as they are (discovery, metrics, health) */
};

// A flag that ends waits and requests early. Shared, thread-safe; Cancel is final.
class Cancellation {
 public:
  void Cancel();
  bool cancelled() const { return flag_.load(std::memory_order_acquire); }
  // Runs `abort` once on Cancel (at once when already cancelled) on the cancelling thread. Returns
  // an id; after Remove returns `abort` is not running.
  int OnCancel(std::function<void()> abort);
  void Remove(int id);
  Cancellation();
  ~Cancellation();

 private:
  std::atomic<bool> flag_{
      false};  // acquire/release: what was written before Cancel is seen after cancelled()
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class Fence;

struct Call {
  Verb verb = Verb::kGet;
  Gvr resource{};
  std::string ns{}, name{}, subresource{};
  std::string
      raw_path{};  // instead of the five above: an absolute path with query ("/healthz", "/apis")
  std::string query{};  // further query parameters, already encoded, no leading '&'
  PatchType patch = PatchType::kNone;
  std::string body{};          // JSON; empty: none
  std::string content_type{};  // empty: by verb and patch
  std::string accept{};        // empty: by form and kind
  Form form = Form::kObject;
  const wire::Mask* mask = nullptr;  // of answers; nullptr: whole
  clock::Duration timeout{0};        // 0: none. Also sent as ?timeout=
  wire::Interner* interner =
      nullptr;  // of lists and watches: objects share their repeated texts through it; may be null
  Cancellation* cancel = nullptr;  // may be null
  bool rate_limited = true;        // false: watches, lease client
  // False: the caller has a back-off of its own. A read whose connection is lost is then not sent
  // again after a second, and a watch that was lost before it was open is an error.
  bool retry_lost = true;
  const Fence* fence = nullptr;    // asked beside the client's own (a plugin generation); may be
                                   // null. Outlives the call
};

struct Answer {
  int http_status = 0;
  wire::TypeMeta type;
  wire::ObjectPtr object;  // null for kRaw, and for a Status answer of a delete
  std::string raw;         // kRaw
  std::string content_type;
};

struct ListResult {
  std::string resource_version, continue_token;
  wire::TypeMeta type;
};

// What may refuse a request at the last moment (lease, generation). `deadline` gets the moment
// after which the request must not be in flight any more; the request's timeout is cut to it.
class Fence {
 public:
  virtual ~Fence() = default;
  virtual Status Check(clock::MonoTime* deadline) const = 0;
};

struct Config;    // kubeconfig.h: server, CA, client certificate, token, exec, impersonation, proxy
                  // ...
class Transport;  // transport.h: connection pool and TLS contexts of one Config

// Where a bearer token of a client comes from (service account tokens, token files).
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  virtual Result<std::string> Token() = 0;
  virtual void Invalidate(const std::string& token) = 0;  // the server answered 401 to it
};

struct ClientOptions {
  std::shared_ptr<Transport> transport{};
  std::string user_agent{};  // complete
  double qps = 20;           // <= 0: unlimited
  int burst = 30;
  std::shared_ptr<TokenSource> token{};  // null: the transport's own identity
  std::shared_ptr<const Fence> fence{};  // null: never fenced (the exempt clients of design 7)
  clock::Clock* clock = nullptr;
  log::Logger log{};
  metric::Registry* metrics = nullptr;
};

// Thread-safe. Blocking calls; each uses one pooled connection.
class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();

  // One request with client-go's retry rules (7.2). Error codes map the Status reason (7.6).
  // Without an HTTP answer the code is kTransport (Error::cause: ConnectionRefused,
  // ConnectionReset, UnexpectedEOF, TLS or Other) or kTimeout; kFenced and kCancelled before the
  // bytes went out mean that nothing was sent.
  Result<Answer> Do(const Call& call);
  // A list, streamed: items go to `sink` as they arrive. One page; the caller follows
  // `continue_token`.
  Result<ListResult> List(const Call& call, const wire::ItemSink& sink);
  // A watch: blocks, delivers events in order, returns when the stream ends: Ok = the server ended
  // it cleanly, else why. `on_open` runs once headers have arrived with 200. A false from
  // `on_event` ends the watch (Ok).
  Status Watch(const Call& call, const std::function<void()>& on_open,
               const std::function<bool(wire::WatchEvent&&)>& on_event);

  const std::string& user_agent() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::host::client
