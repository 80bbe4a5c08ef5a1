// SPDX-License-Identifier: Apache-2.0
// Context: what a controller instance is given by the host, as small C++ values over the C tables.
// Copying one of the service classes is cheap; all are thread-safe; none may be used after stop()
// but for reading objects.
#pragma once
#include <kcm/kcm.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"
#include "kcm/sdk/object.h"

namespace kcm::sdk {

using Duration = std::chrono::nanoseconds;
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

struct Services;  // the tables of one instance; internal

// Place of a watch in the declaration. The type says whether its objects are whole.
struct MaskedWatch {
  uint32_t number;
};
struct WholeWatch {
  uint32_t number;
};

// ---- log ----
struct LogPair {
  std::string_view key;
  kcm_log_pair c;
  LogPair(std::string_view k, std::string_view v);
  LogPair(std::string_view k, const char* v) : LogPair(k, std::string_view(v)) {}
  LogPair(std::string_view k, const std::string& v) : LogPair(k, std::string_view(v)) {}
  LogPair(std::string_view k, bool v);
  LogPair(std::string_view k, double v);
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  LogPair(std::string_view k, T v) : LogPair(k, Integer{static_cast<int64_t>(v)}) {}

 private:
  struct Integer {
    int64_t v;
  };
  LogPair(std::string_view k, Integer v);
};
using LogPairs = std::initializer_list<LogPair>;

class Log {
 public:
  Log(const Services* s, kcm_scope* scope) : s_(s), scope_(scope) {}
  bool Enabled(int level) const;
  void Info(int level, std::string_view message, LogPairs pairs = {}) const;
  void Warning(std::string_view message, LogPairs pairs = {}) const;
  void Error(std::string_view error, std::string_view message, LogPairs pairs = {}) const;

 private:
  const Services* s_;
  kcm_scope* scope_;
};

// ---- clock ----
class Clock {
 public:
  explicit Clock(const Services* s) : s_(s) {}
  WallTime Now() const;
  Duration Monotonic() const;
  // `fire` runs once on the host's timer thread unless cancelled or stopped first; it must be short
  // (add a key).
  uint64_t After(Duration delay, std::function<void()> fire) const;
  bool Cancel(uint64_t timer) const;

 private:
  const Services* s_;
};

// ---- cache ----
struct Query {
  int index = -1;  // place in the watch's indexes
  std::string_view index_value = {};
  std::string_view ns = {};
  std::string_view label_selector = {};
};

// A list of counted references, iterated without copying.
template <class Ref>
class ObjectList {
 public:
  explicit ObjectList(std::vector<Ref> items) : items_(std::move(items)) {}
  ObjectList() = default;
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const Ref& operator[](size_t i) const { return items_[i]; }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::vector<Ref>& items() { return items_; }

 private:
  std::vector<Ref> items_;
};

class Cache {
 public:
  explicit Cache(const Services* s) : s_(s) {}
  std::optional<WholeRef> Get(WholeWatch watch, std::string_view key) const;
  std::optional<ObjectRef> Get(MaskedWatch watch, std::string_view key) const;
  // Ordered by key. An illegal query is our own bug: the list is empty and an error is logged.
  ObjectList<WholeRef> List(WholeWatch watch, const Query& query = {}) const;
  ObjectList<ObjectRef> List(MaskedWatch watch, const Query& query = {}) const;
  bool Synced(uint32_t watch) const;
  uint64_t ResourceVersion(uint32_t watch) const;
  // Watches at run time, metadata only.
  Result<uint32_t> AddWatch(std::string_view group, std::string_view version,
                            std::string_view resource) const;
  void RemoveWatch(uint32_t watch) const;
  std::optional<ObjectRef> GetAt(uint32_t watch, std::string_view key) const;  // any watch number
  ObjectList<ObjectRef> ListAt(uint32_t watch, const Query& query = {}) const;

 private:
  const Services* s_;
};

// ---- client ----
struct Resource {
  std::string_view group, version, resource;
  std::string_view kind = {};  // for messages and bodies
  // Own copies where a resource comes from discovery.
  std::string ApiVersion() const {
    return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
  }
};

struct CallOptions {
  std::string_view subresource = {};
  std::string_view query = {};  // encoded parameters
  bool metadata_only = false;
  Duration timeout{0};
};

enum class Patch : uint32_t {
  kJson = KCM_PATCH_JSON,
  kMerge = KCM_PATCH_MERGE,
  kStrategic = KCM_PATCH_STRATEGIC,
  kApply = KCM_PATCH_APPLY,
};

enum class Propagation { kUnset, kBackground, kForeground, kOrphan };
struct DeleteOptions {
  Propagation propagation = Propagation::kUnset;
  std::string_view uid = {};               // precondition
  std::string_view resource_version = {};  // precondition
  int64_t grace_period_seconds = -1;       // -1: unset
};

// A whole object being changed, to be sent as an update. Keeps the resourceVersion it was read at,
// so a stale update conflicts.
class Edit {
 public:
  explicit Edit(const WholeRef& from);
  Edit(Edit&&) noexcept;
  Edit& operator=(Edit&&) noexcept;
  ~Edit();
  Json& json();
  const Json& json() const;

 private:
  std::unique_ptr<Json> json_;
};

struct ServedResource;

class Client {
 public:
  Client(const Services* s, kcm_scope* scope) : s_(s), scope_(scope) {}
  Result<WholeRef> Get(const Resource& r, std::string_view ns, std::string_view name,
                       const CallOptions& o = {}) const;
  // The list object itself: Root().Get("items"), Root().Path("metadata.continue"). query:
  // "limit=500&continue=..."
  Result<WholeRef> List(const Resource& r, std::string_view ns, const CallOptions& o = {}) const;
  Result<WholeRef> Create(const Resource& r, std::string_view ns, const Json& body,
                          const CallOptions& o = {}) const;
  Result<WholeRef> CreateText(const Resource& r, std::string_view ns, std::string_view body,
                              const CallOptions& o = {}) const;
  Result<WholeRef> Update(const Resource& r, const Edit& edit, const CallOptions& o = {}) const;
  Result<WholeRef> UpdateStatus(const Resource& r, const Edit& edit) const {
    return Update(r, edit, {.subresource = "status"});
  }
  // The Scale of an object, whatever its kind, and that Scale changed.
  Result<WholeRef> GetScale(const ServedResource& r, std::string_view ns,
                            std::string_view name) const;
  Result<WholeRef> UpdateScale(const ServedResource& r, const Edit& scale) const;
  Result<WholeRef> PatchObject(const Resource& r, std::string_view ns, std::string_view name,
                               Patch type, std::string_view body, const CallOptions& o = {}) const;
  Status Delete(const Resource& r, std::string_view ns, std::string_view name,
                const DeleteOptions& d = {}, const CallOptions& o = {}) const;
  Status DeleteCollection(const Resource& r, std::string_view ns, const DeleteOptions& d = {},
                          const CallOptions& o = {}) const;
  Result<std::string> Raw(std::string_view path) const;

  // Many at a time (slow start): calls run on host threads, `done` once per call on one of them.
  // Wait() below collects them.
  class Batch {
   public:
    explicit Batch(const Client& client);
    ~Batch();  // waits
    void CreateText(const Resource& r, std::string_view ns, std::string_view body,
                    std::function<void(Result<WholeRef>)> done);
    void Delete(const Resource& r, std::string_view ns, std::string_view name,
                const DeleteOptions& d, std::function<void(Status)> done);
    void PatchObject(const Resource& r, std::string_view ns, std::string_view name, Patch type,
                     std::string_view body, std::function<void(Result<WholeRef>)> done);
    // Until all have completed, or the scope is cancelled and the rest was cancelled.
    void Wait();

   private:
    struct State;
    void SubmitForObject(const kcm_request& request, std::function<void(Result<WholeRef>)> done);
    std::shared_ptr<State> state_;
    const Client& client_;
  };

 private:
  friend class Batch;
  Result<WholeRef> Call(kcm_request& request) const;
  // `type`: of the body, which need not be that of `r`.
  Result<WholeRef> Put(const Resource& r, const Resource& type, const Edit& edit,
                       const CallOptions& o) const;
  const Services* s_;
  kcm_scope* scope_;
};

// ---- queue, events, metrics, discovery, config ----
class Queues {
 public:
  explicit Queues(const Services* s) : s_(s) {}
  void Add(std::string_view key, uint32_t queue = 0) const;
  void AddAfter(std::string_view key, Duration delay, uint32_t queue = 0) const;  // delay <= 0: Add
  void AddRateLimited(std::string_view key, uint32_t queue = 0) const;
  void Forget(std::string_view key, uint32_t queue = 0) const;
  int Requeues(std::string_view key, uint32_t queue = 0) const;
  size_t Length(uint32_t queue = 0) const;

 private:
  const Services* s_;
};

enum class EventType : uint32_t { kNormal = KCM_EVENT_NORMAL, kWarning = KCM_EVENT_WARNING };
class Events {
 public:
  explicit Events(const Services* s) : s_(s) {}
  // About an object at hand. kind and apiVersion are not in cached objects, hence `r`.
  void Record(const ObjectRef& about, const Resource& r, EventType type, std::string_view reason,
              std::string_view message) const;
  void Record(const kcm_reference& about, EventType type, std::string_view reason,
              std::string_view message,
              const std::vector<std::pair<std::string, std::string>>& annotations = {}) const;

 private:
  const Services* s_;
};

class Metric {
 public:
  Metric() = default;
  Metric(const Services* s, kcm_metric* m) : s_(s), m_(m) {}
  void Add(std::initializer_list<std::string_view> labels = {},
           double value = 1) const;  // counter, gauge; observes a histogram
  void Observe(double value, std::initializer_list<std::string_view> labels = {}) const {
    Add(labels, value);
  }
  void Set(double value, std::initializer_list<std::string_view> labels = {}) const;

 private:
  const Services* s_ = nullptr;
  kcm_metric* m_ = nullptr;
};

struct MetricDescription {
  uint32_t type = KCM_METRIC_COUNTER;
  std::string_view name, help, stability = "ALPHA";
  std::vector<std::string_view> labels = {};
  std::vector<double> buckets = {};
};

struct ServedResource {
  std::string group, version, resource, kind, verbs;
  bool namespaced = false;
  bool Supports(std::string_view verb) const;
};
struct ServedResources {
  std::vector<ServedResource> resources;
  std::string failed;  // "group/version: error" lines
};
class Discovery {
 public:
  Discovery(const Services* s, kcm_scope* scope) : s_(s), scope_(scope) {}
  Result<int> ServerMinor() const;
  Result<ServedResources> Preferred() const;
  Result<ServedResource> ForKind(std::string_view group, std::string_view version,
                                 std::string_view kind) const;

 private:
  const Services* s_;
  kcm_scope* scope_;
};

class Config {
 public:
  explicit Config(const Services* s) : s_(s) {}
  std::optional<std::string> Flag(std::string_view name) const;
  int64_t Int(std::string_view name, int64_t otherwise) const;
  Duration DurationOf(std::string_view name, Duration otherwise) const;
  double Real(std::string_view name, double otherwise) const;
  bool Bool(std::string_view name, bool otherwise) const;
  bool Gate(std::string_view name) const;

 private:
  const Services* s_;
};

// All of it. One per instance; made by the adapter of controller.h before the controller's
// constructor runs.
class Context {
 public:
  // Fails (KCM_ERR_UNSUPPORTED, names the table) when the host lacks a table of this SDK.
  static Result<std::unique_ptr<Context>> Make(const kcm_create& args);
  ~Context();

  Log log() const { return Log(s_.get(), nullptr); }
  Clock clock() const { return Clock(s_.get()); }
  Cache cache() const { return Cache(s_.get()); }
  Client client() const { return Client(s_.get(), nullptr); }  // the instance's own scope
  Queues queue() const { return Queues(s_.get()); }
  Events events() const { return Events(s_.get()); }
  Discovery discovery() const { return Discovery(s_.get(), nullptr); }
  Config config() const { return Config(s_.get()); }
  // Registers; a clash with another shape throws std::runtime_error (refuses the build from a
  // constructor).
  Metric DefineMetric(const MetricDescription& d) const;
  uint32_t generation() const { return generation_; }
  bool Cancelled() const;
  const Services* services() const { return s_.get(); }

 private:
  Context();
  std::unique_ptr<Services> s_;
  uint32_t generation_ = 0;
};

// ---- one reconcile ----
class Run {
 public:
  Run(const Context& context, const kcm_reconcile& c);
  Run(const Context& context, kcm_scope* scope);  // of a task
  std::string_view key() const { return key_; }
  std::string_view ns() const { return ns_; }  // "" for cluster scope
  std::string_view name() const { return name_; }
  uint32_t queue_number() const { return queue_; }
  int failures() const { return failures_; }
  Log log() const { return Log(context_.services(), scope_); }
  Client client() const { return Client(context_.services(), scope_); }
  Discovery discovery() const { return Discovery(context_.services(), scope_); }
  bool Cancelled() const;
  // Waits on the host's clock; false when cancelled or timed out.
  bool Wait(Duration timeout, const std::function<bool()>& ready) const;
  kcm_scope* scope() const { return scope_; }

 private:
  const Context& context_;
  kcm_scope* scope_;
  std::string_view key_, ns_, name_;
  uint32_t queue_ = 0;
  int failures_ = 0;
};

// What a reconcile comes to.
class Outcome {
 public:
  static Outcome Done() { return Outcome(KCM_OUTCOME_DONE, Duration(0), {}); }
  static Outcome RequeueAfter(Duration d) { return Outcome(KCM_OUTCOME_AFTER, d, {}); }
  static Outcome Retry(Error e) {
    return Outcome(KCM_OUTCOME_RETRY, Duration(0), std::move(e));
  }  // passes: back-off
  static Outcome Failed(Error e) {
    return Outcome(KCM_OUTCOME_ERROR, Duration(0), std::move(e));
  }  // an operator should know
  static Outcome Of(const Status& s) { return s.ok() ? Done() : Retry(s.error()); }

  uint32_t kind() const { return kind_; }
  Duration delay() const { return delay_; }
  const Error& error() const { return error_; }

 private:
  Outcome(uint32_t kind, Duration delay, Error e)
      : kind_(kind), delay_(delay), error_(std::move(e)) {}
  uint32_t kind_;
  Duration delay_;
  Error error_;
};

}  // namespace kcm::sdk
