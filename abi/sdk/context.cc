// SPDX-License-Identifier: Apache-2.0
// The small services of a Context: log, clock, cache, queues, events, metrics, discovery,
// configuration.
#include "kcm/sdk/context.h"

#include <exception>
#include <stdexcept>

#include "kcm/sdk/controller.h"
#include "kcm/sdk/services.h"

namespace kcm::sdk {

namespace internal {
int32_t Fill(kcm_error* error, int32_t code, std::string_view text) noexcept {
  if (error == nullptr || error->text == nullptr) return code;
  size_t n = text.size() < error->capacity ? text.size() : error->capacity;
  // Cut at a character border: never leave half a UTF-8 sequence.
  if (n < text.size())
    while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0u) == 0x80u) --n;
  (void)text.copy(error->text, n);
  error->length = n;
  return code;
}
}  // namespace internal

// ---- log ----
LogPair::LogPair(std::string_view k, std::string_view v)
    : key(k), c{Str(k), Str(v), 0, 0, KCM_LOG_STRING, 0} {}
LogPair::LogPair(std::string_view k, bool v)
    : key(k), c{Str(k), {}, v ? 1 : 0, 0, KCM_LOG_BOOL, 0} {}
LogPair::LogPair(std::string_view k, double v) : key(k), c{Str(k), {}, 0, v, KCM_LOG_DOUBLE, 0} {}
LogPair::LogPair(std::string_view k, Integer v) : key(k), c{Str(k), {}, v.v, 0, KCM_LOG_INT, 0} {}

namespace {
void WriteLine(const Services* s, kcm_scope* scope, uint32_t severity, int level,
               std::string_view message, std::string_view error, LogPairs pairs) {
  std::vector<kcm_log_pair> c;
  c.reserve(pairs.size());
  for (const LogPair& p : pairs) c.push_back(p.c);
  s->log->write(s->context, scope, severity, level, Str(message), Str(error), c.data(), c.size());
}
}  // namespace

bool Log::Enabled(int level) const { return s_->log->enabled(s_->context, level) != 0; }
void Log::Info(int level, std::string_view message, LogPairs pairs) const {
  if (Enabled(level)) WriteLine(s_, scope_, KCM_LOG_INFO, level, message, {}, pairs);
}
void Log::Warning(std::string_view message, LogPairs pairs) const {
  WriteLine(s_, scope_, KCM_LOG_WARNING, 0, message, {}, pairs);
}
void Log::Error(std::string_view error, std::string_view message, LogPairs pairs) const {
  WriteLine(s_, scope_, KCM_LOG_ERROR, 0, message, error, pairs);
}

// ---- clock ----
WallTime Clock::Now() const { return WallTime(Duration(s_->clock->wall_ns(s_->context))); }
Duration Clock::Monotonic() const { return Duration(s_->clock->monotonic_ns(s_->context)); }

namespace {
void FireTimer(void* data) noexcept {
  auto* entry = static_cast<Services::Timers::Entry*>(data);
  std::shared_ptr<Services::Timers::Entry> mine;
  {
    const std::lock_guard lock(entry->owner->mutex);
    const auto it = entry->owner->entries.find(entry->id);
    if (it == entry->owner->entries.end()) return;
    mine = std::move(it->second);
    entry->owner->entries.erase(it);
  }
  (void)internal::AtTheEdge(nullptr, [&]() -> int32_t {
    mine->fire();
    return KCM_OK;
  });
}
}  // namespace

uint64_t Clock::After(Duration delay, std::function<void()> fire) const {
  Services::Timers& timers = *s_->timers;
  const auto entry = std::make_shared<Services::Timers::Entry>();
  entry->owner = &timers;
  entry->fire = std::move(fire);
  uint64_t id = 0;
  {
    const std::lock_guard lock(timers.mutex);
    id = entry->id = timers.next++;
    timers.entries.emplace(id, entry);
  }
  const kcm_timer t = s_->clock->after(s_->context, delay.count(), FireTimer, entry.get());
  const std::lock_guard lock(timers.mutex);
  entry->host_timer = t;
  if (t != 0) return id;
  timers.entries.erase(id);  // stopped
  return 0;
}

bool Clock::Cancel(uint64_t timer) const {
  Services::Timers& timers = *s_->timers;
  kcm_timer host_timer = 0;
  {
    const std::lock_guard lock(timers.mutex);
    const auto it = timers.entries.find(timer);
    if (it == timers.entries.end()) return false;
    host_timer = it->second->host_timer;
  }
  // The host first: once it has returned the entry is not in use any more.
  const bool prevented = s_->clock->cancel(s_->context, host_timer) != 0;
  const std::lock_guard lock(timers.mutex);
  timers.entries.erase(timer);
  return prevented;
}

// ---- cache ----
namespace {
kcm_object* GetObject(const Services* s, uint32_t watch, std::string_view key) {
  kcm_object* out = nullptr;
  (void)s->cache->get(s->context, watch, Str(key), &out);
  return out;
}

template <class Ref>
ObjectList<Ref> ListObjects(const Services* s, uint32_t watch, const Query& q) {
  kcm_query c{};
  c.size = sizeof(c);
  c.watch = watch;
  c.index = q.index;
  c.index_value = Str(q.index_value);
  c.namespace_name = Str(q.ns);
  c.label_selector = Str(q.label_selector);
  kcm_list* list = nullptr;
  ErrorText error;
  const int32_t code = s->cache->list(s->context, &c, &list, error.c());
  if (code != KCM_OK) {
    if (code != KCM_ERR_STOPPED)
      Log(s, nullptr).Error(error.As(code).message, "Illegal cache query", {{"watch", watch}});
    return {};
  }
  std::vector<Ref> items;
  const uint64_t n = s->cache->list_count(list);
  items.reserve(n);
  for (uint64_t i = 0; i < n; ++i) items.push_back(Ref::Share(s->cache->list_at(list, i)));
  s->cache->list_release(list);
  return ObjectList<Ref>(std::move(items));
}
}  // namespace

std::optional<WholeRef> Cache::Get(WholeWatch watch, std::string_view key) const {
  kcm_object* o = GetObject(s_, watch.number, key);
  return o == nullptr ? std::nullopt : std::optional<WholeRef>(WholeRef(o));
}
std::optional<ObjectRef> Cache::Get(MaskedWatch watch, std::string_view key) const {
  return GetAt(watch.number, key);
}
std::optional<ObjectRef> Cache::GetAt(uint32_t watch, std::string_view key) const {
  kcm_object* o = GetObject(s_, watch, key);
  return o == nullptr ? std::nullopt : std::optional<ObjectRef>(ObjectRef(o));
}
ObjectList<WholeRef> Cache::List(WholeWatch watch, const Query& q) const {
  return ListObjects<WholeRef>(s_, watch.number, q);
}
ObjectList<ObjectRef> Cache::List(MaskedWatch watch, const Query& q) const {
  return ListObjects<ObjectRef>(s_, watch.number, q);
}
ObjectList<ObjectRef> Cache::ListAt(uint32_t watch, const Query& q) const {
  return ListObjects<ObjectRef>(s_, watch, q);
}
bool Cache::Synced(uint32_t watch) const { return s_->cache->synced(s_->context, watch) != 0; }
uint64_t Cache::ResourceVersion(uint32_t watch) const {
  return s_->cache->resource_version(s_->context, watch);
}
Result<uint32_t> Cache::AddWatch(std::string_view group, std::string_view version,
                                 std::string_view resource) const {
  uint32_t watch = 0;
  ErrorText error;
  const int32_t code =
      s_->cache->add_watch(s_->context, Str(group), Str(version), Str(resource), &watch, error.c());
  if (code != KCM_OK) return error.As(code);
  return watch;
}
void Cache::RemoveWatch(uint32_t watch) const { (void)s_->cache->remove_watch(s_->context, watch); }

// ---- queues ----
void Queues::Add(std::string_view key, uint32_t queue) const {
  (void)s_->queue->add(s_->context, queue, Str(key));
}
void Queues::AddAfter(std::string_view key, Duration delay, uint32_t queue) const {
  if (delay <= Duration(0)) return Add(key, queue);
  (void)s_->queue->add_after(s_->context, queue, Str(key), delay.count());
}
void Queues::AddRateLimited(std::string_view key, uint32_t queue) const {
  (void)s_->queue->add_rate_limited(s_->context, queue, Str(key));
}
void Queues::Forget(std::string_view key, uint32_t queue) const {
  (void)s_->queue->forget(s_->context, queue, Str(key));
}
int Queues::Requeues(std::string_view key, uint32_t queue) const {
  return s_->queue->requeues(s_->context, queue, Str(key));
}
size_t Queues::Length(uint32_t queue) const { return s_->queue->length(s_->context, queue); }

// ---- events ----
void Events::Record(const ObjectRef& about, const Resource& r, EventType type,
                    std::string_view reason, std::string_view message) const {
  const std::string api_version = r.ApiVersion();
  kcm_reference c{};
  c.size = sizeof(c);
  c.api_version = Str(api_version);
  c.kind = Str(r.kind);
  c.namespace_name = Str(about.Namespace());
  c.name = Str(about.Name());
  c.uid = Str(about.Uid());
  c.resource_version = Str(about.ResourceVersion());
  Record(c, type, reason, message);
}
void Events::Record(const kcm_reference& about, EventType type, std::string_view reason,
                    std::string_view message,
                    const std::vector<std::pair<std::string, std::string>>& annotations) const {
  const uint32_t t = static_cast<uint32_t>(type);
  if (annotations.empty()) {
    (void)s_->event->record(s_->context, &about, t, Str(reason), Str(message));
    return;
  }
  std::vector<kcm_str> flat;
  for (const auto& [name, value] : annotations) {
    flat.push_back(Str(name));
    flat.push_back(Str(value));
  }
  (void)s_->event->record_annotated(s_->context, &about, t, Str(reason), Str(message), flat.data(),
                                    annotations.size());
}

// ---- metrics ----
void Metric::Add(std::initializer_list<std::string_view> labels, double value) const {
  if (m_ == nullptr) return;
  std::vector<kcm_str> c;
  for (std::string_view l : labels) c.push_back(Str(l));
  s_->metric->add(m_, c.data(), c.size(), value);
}
void Metric::Set(double value, std::initializer_list<std::string_view> labels) const {
  if (m_ == nullptr) return;
  std::vector<kcm_str> c;
  for (std::string_view l : labels) c.push_back(Str(l));
  s_->metric->set(m_, c.data(), c.size(), value);
}

// ---- discovery ----
bool ServedResource::Supports(std::string_view verb) const {
  std::string_view rest = verbs;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    if (rest.substr(0, comma) == verb) return true;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return false;
}

namespace {
ServedResource ToServed(const kcm_resource& c) {
  return {std::string(View(c.group)), std::string(View(c.version)), std::string(View(c.resource)),
          std::string(View(c.kind)),  std::string(View(c.verbs)),   c.namespaced != 0};
}
}  // namespace

Result<int> Discovery::ServerMinor() const {
  const int32_t minor = s_->discovery->server_minor(s_->context);
  if (minor < 0) return MakeError(static_cast<Code>(-minor), "reading the server's version");
  return static_cast<int>(minor);
}
Result<ServedResources> Discovery::Preferred() const {
  kcm_resource_list* list = nullptr;
  ErrorText error;
  const int32_t code = s_->discovery->preferred(s_->context, scope_, &list, error.c());
  if (code != KCM_OK) return error.As(code);
  ServedResources out;
  const uint64_t n = s_->discovery->list_count(list);
  out.resources.reserve(n);
  for (uint64_t i = 0; i < n; ++i)
    out.resources.push_back(ToServed(*s_->discovery->list_at(list, i)));
  out.failed = std::string(View(s_->discovery->list_failed(list)));
  s_->discovery->list_release(list);
  return out;
}
Result<ServedResource> Discovery::ForKind(std::string_view group, std::string_view version,
                                          std::string_view kind) const {
  kcm_resource_list* list = nullptr;
  ErrorText error;
  const int32_t code = s_->discovery->for_kind(s_->context, scope_, Str(group), Str(version),
                                               Str(kind), &list, error.c());
  if (code != KCM_OK) return error.As(code);
  ServedResource out = ToServed(*s_->discovery->list_at(list, 0));
  s_->discovery->list_release(list);
  return out;
}

// ---- configuration ----
std::optional<std::string> Config::Flag(std::string_view name) const {
  kcm_str out{};
  if (s_->config->flag(s_->context, Str(name), &out) != KCM_OK) return std::nullopt;
  return std::string(View(out));
}
int64_t Config::Int(std::string_view name, int64_t otherwise) const {
  return s_->config->integer(s_->context, Str(name), otherwise);
}
Duration Config::DurationOf(std::string_view name, Duration otherwise) const {
  return Duration(s_->config->duration_ns(s_->context, Str(name), otherwise.count()));
}
double Config::Real(std::string_view name, double otherwise) const {
  return s_->config->real(s_->context, Str(name), otherwise);
}
bool Config::Bool(std::string_view name, bool otherwise) const {
  return s_->config->boolean(s_->context, Str(name), otherwise ? 1 : 0) != 0;
}
bool Config::Gate(std::string_view name) const {
  return s_->config->gate(s_->context, Str(name)) != 0;
}

// ---- context ----
Context::Context() : s_(std::make_unique<Services>()) {}
Context::~Context() = default;

Result<std::unique_ptr<Context>> Context::Make(const kcm_create& args) {
  std::unique_ptr<Context> out(new Context());
  Services& s = *out->s_;
  s.host = args.host;
  s.context = args.context;
  out->generation_ = args.generation;
  std::string missing;
  const auto table = [&](const char* id) {
    const void* p = args.host->table(args.context, Str(id));
    if (p == nullptr) missing = id;
    return p;
  };
  const auto* objects = static_cast<const kcm_object_api*>(table(KCM_OBJECT_API_ID));
  s.log = static_cast<const kcm_log_api*>(table(KCM_LOG_API_ID));
  s.clock = static_cast<const kcm_clock_api*>(table(KCM_CLOCK_API_ID));
  s.cache = static_cast<const kcm_cache_api*>(table(KCM_CACHE_API_ID));
  s.client = static_cast<const kcm_client_api*>(table(KCM_CLIENT_API_ID));
  s.queue = static_cast<const kcm_queue_api*>(table(KCM_QUEUE_API_ID));
  s.event = static_cast<const kcm_event_api*>(table(KCM_EVENT_API_ID));
  s.metric = static_cast<const kcm_metric_api*>(table(KCM_METRIC_API_ID));
  s.discovery = static_cast<const kcm_discovery_api*>(table(KCM_DISCOVERY_API_ID));
  s.config = static_cast<const kcm_config_api*>(table(KCM_CONFIG_API_ID));
  s.cancel = static_cast<const kcm_cancel_api*>(table(KCM_CANCEL_API_ID));
  if (!missing.empty())
    return MakeError(Code::kUnsupported, "this host has no table " + missing +
                                             ": use a newer host or build with an older SDK");
  internal::SetObjectApi(objects);
  return out;
}

Metric Context::DefineMetric(const MetricDescription& d) const {
  std::vector<kcm_str> labels;
  for (std::string_view l : d.labels) labels.push_back(Str(l));
  kcm_metric_description c{};
  c.size = sizeof(c);
  c.type = d.type;
  c.name = Str(d.name);
  c.help = Str(d.help);
  c.stability = Str(d.stability);
  c.labels = labels.data();
  c.label_count = labels.size();
  c.buckets = d.buckets.data();
  c.bucket_count = d.buckets.size();
  kcm_metric* m = nullptr;
  ErrorText error;
  const int32_t code = s_->metric->define(s_->context, &c, &m, error.c());
  if (code != KCM_OK)
    throw std::runtime_error("metric " + std::string(d.name) + ": " + error.As(code).message);
  return Metric(s_.get(), m);
}

bool Context::Cancelled() const { return s_->cancel->cancelled(s_->context, nullptr) != 0; }

// ---- run ----
Run::Run(const Context& context, const kcm_reconcile& c)
    : context_(context),
      scope_(c.scope),
      key_(View(c.key)),
      queue_(c.queue),
      failures_(c.failures) {
  const size_t slash = key_.find('/');
  if (slash == std::string_view::npos) {
    name_ = key_;
  } else {
    ns_ = key_.substr(0, slash);
    name_ = key_.substr(slash + 1);
  }
}
Run::Run(const Context& context, kcm_scope* scope) : context_(context), scope_(scope) {}
bool Run::Cancelled() const {
  return context_.services()->cancel->cancelled(context_.services()->context, scope_) != 0;
}
bool Run::Wait(Duration timeout, const std::function<bool()>& ready) const {
  const Services* s = context_.services();
  struct Asked {
    const std::function<bool()>& ready;
    std::exception_ptr thrown = {};
  } asked{ready};
  // What is thrown must not pass through the host: it ends the wait and is thrown on here.
  const auto ask = [](void* data) noexcept -> uint32_t {
    Asked& a = *static_cast<Asked*>(data);
    try {
      return a.thrown || a.ready() ? 1 : 0;
    } catch (...) {
      a.thrown = std::current_exception();
      return 1;
    }
  };
  const int32_t code = s->cancel->wait(s->context, scope_, timeout.count(), ask, &asked);
  if (asked.thrown) std::rethrow_exception(asked.thrown);
  return code == KCM_OK;
}

std::string Change::Key() const {
  const std::string_view namespace_name = ns();
  return namespace_name.empty() ? std::string(name())
                                : std::string(namespace_name) + "/" + std::string(name());
}

}  // namespace kcm::sdk
