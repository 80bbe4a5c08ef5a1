// SPDX-License-Identifier: Apache-2.0
// The tables a plugin gets, but for "kcm.object/1" (object_handle.cc) and the cache, client and
// discovery ones (tables_api.cc). The other side of the ABI is the world: arguments are checked and
// answered with a code.
#include "host/plugin/tables.h"

#include <algorithm>
#include <array>
#include <shared_mutex>

#include "host/plugin/first_sizes.h"
#include "host/plugin/instance.h"

namespace kcm::host::plugin {
namespace {

// ---- log ----
uint32_t LogEnabled(kcm_context* c, int32_t level) {
  return InstanceOf(c).shared().log.Enabled(level) ? 1 : 0;
}

void LogWrite(kcm_context* c, kcm_scope* scope, uint32_t severity, int32_t level, kcm_str message,
              kcm_str error, const kcm_log_pair* pairs, uint64_t count) {
  if (pairs == nullptr) count = 0;
  std::vector<log::Pair> out;
  out.reserve(count + 1);
  if (scope != nullptr && !scope->key.empty())
    out.emplace_back("key", std::string_view(scope->key));
  for (uint64_t i = 0; i < count; ++i) {
    const kcm_log_pair& p = pairs[i];
    switch (p.kind) {
      case KCM_LOG_INT:
        out.emplace_back(View(p.key), p.integer);
        break;
      case KCM_LOG_DOUBLE:
        out.emplace_back(View(p.key), p.real);
        break;
      case KCM_LOG_BOOL:
        out.emplace_back(View(p.key), p.integer != 0);
        break;
      default:
        out.emplace_back(View(p.key), View(p.text));
        break;
    }
  }
  const log::Severity s = severity == KCM_LOG_ERROR     ? log::Severity::kError
                          : severity == KCM_LOG_WARNING ? log::Severity::kWarning
                                                        : log::Severity::kInfo;
  InstanceOf(c).shared().log.Write(s, level, View(message), View(error), out.data(), out.size());
}

// ---- clock ----
int64_t MonotonicNs(kcm_context* c) {
  return InstanceOf(c).env().clock->Monotonic().since().count();
}
int64_t WallNs(kcm_context* c) {
  return InstanceOf(c).env().clock->Now().time_since_epoch().count();
}
kcm_timer After(kcm_context* c, int64_t delay_ns, void (*fire)(void*), void* data) {
  return fire == nullptr ? 0 : InstanceOf(c).AddTimer(clock::Duration(delay_ns), fire, data);
}
uint32_t CancelTimer(kcm_context* c, kcm_timer timer) {
  return InstanceOf(c).CancelTimer(timer) ? 1 : 0;
}

// ---- queue ----
int32_t Add(kcm_context* c, uint32_t queue, kcm_str key) {
  return static_cast<int32_t>(
      InstanceOf(c).AddKey(queue, View(key), clock::Duration(0), false).code());
}
int32_t AddAfter(kcm_context* c, uint32_t queue, kcm_str key, int64_t delay_ns) {
  if (delay_ns < 0) return KCM_ERR_INVALID;
  return static_cast<int32_t>(
      InstanceOf(c).AddKey(queue, View(key), clock::Duration(delay_ns), false).code());
}
int32_t AddRateLimited(kcm_context* c, uint32_t queue, kcm_str key) {
  return static_cast<int32_t>(
      InstanceOf(c).AddKey(queue, View(key), clock::Duration(0), true).code());
}
// A queue that can not be exchanged while this is there; null: none.
struct HeldQueue {
  std::shared_lock<std::shared_mutex> lock;
  queue::WorkQueue* queue = nullptr;
};
HeldQueue QueueAt(kcm_context* c, uint32_t queue) {
  HeldQueue out{std::shared_lock(InstanceOf(c).shared().queues_mutex)};
  // An instance that is not active has no queues (yet, or any more).
  if (InstanceOf(c).state() != State::kActive) return out;
  auto& queues = InstanceOf(c).shared().queues;
  out.queue = queue < queues.size() ? queues[queue].get() : nullptr;
  return out;
}
int32_t Forget(kcm_context* c, uint32_t queue, kcm_str key) {
  const HeldQueue held = QueueAt(c, queue);
  queue::WorkQueue* const q = held.queue;
  if (q == nullptr) return InstanceOf(c).state() == State::kActive ? KCM_ERR_INVALID : KCM_OK;
  q->Forget(View(key));
  return KCM_OK;
}
int32_t Requeues(kcm_context* c, uint32_t queue, kcm_str key) {
  const HeldQueue held = QueueAt(c, queue);
  return held.queue == nullptr ? 0 : held.queue->NumRequeues(View(key));
}
uint64_t Length(kcm_context* c, uint32_t queue) {
  const HeldQueue held = QueueAt(c, queue);
  return held.queue == nullptr ? 0 : held.queue->Length();
}

// ---- event ----
int32_t RecordAnnotated(kcm_context* c, const kcm_reference* about, uint32_t type, kcm_str reason,
                        kcm_str message, const kcm_str* annotations, uint64_t pair_count) {
  Instance& i = InstanceOf(c);
  if (about == nullptr || about->size < kFirstReference || reason.length == 0 ||
      (type != KCM_EVENT_NORMAL && type != KCM_EVENT_WARNING))
    return KCM_ERR_INVALID;
  if (annotations == nullptr && pair_count > 0) return KCM_ERR_INVALID;
  if (i.state() == State::kStopped) return KCM_ERR_STOPPED;
  if (i.state() != State::kActive) return KCM_ERR_FENCED;
  const std::shared_ptr<event::EventRecorder> recorder = i.services().recorder;
  if (!recorder) return KCM_ERR_UNSUPPORTED;
  event::ObjectReference ref;
  ref.api_version = View(about->api_version);
  ref.kind = View(about->kind);
  ref.namespace_ = View(about->namespace_name);
  ref.name = View(about->name);
  ref.uid = View(about->uid);
  ref.resource_version = View(about->resource_version);
  ref.field_path = View(about->field_path);
  event::Annotations extra;
  for (uint64_t n = 0; n < pair_count; ++n)
    extra.emplace_back(std::string(View(annotations[2 * n])),
                       std::string(View(annotations[2 * n + 1])));
  recorder->Record(
      ref, type == KCM_EVENT_NORMAL ? event::EventType::kNormal : event::EventType::kWarning,
      View(reason), View(message), extra);
  return KCM_OK;
}
int32_t Record(kcm_context* c, const kcm_reference* about, uint32_t type, kcm_str reason,
               kcm_str message) {
  return RecordAnnotated(c, about, type, reason, message, nullptr, 0);
}

// ---- metric ----
std::vector<std::string> Labels(const kcm_str* values, uint64_t count) {
  std::vector<std::string> out;
  if (values == nullptr) return out;
  out.reserve(count);
  for (uint64_t i = 0; i < count; ++i) out.emplace_back(View(values[i]));
  return out;
}
int32_t Define(kcm_context* c, const kcm_metric_description* d, kcm_metric** out,
               kcm_error* error) {
  if (d == nullptr || out == nullptr || d->size < kFirstMetric)
    return Fail(error, KCM_ERR_INVALID, "no description");
  if ((d->labels == nullptr && d->label_count > 0) ||
      (d->buckets == nullptr && d->bucket_count > 0))
    return Fail(error, KCM_ERR_INVALID, "a list of the metric is NULL");
  metric::Description description;
  description.name = View(d->name);
  description.help = View(d->help);
  description.stability = View(d->stability);
  description.labels = Labels(d->labels, d->label_count);
  if (d->bucket_count > 0) description.buckets.assign(d->buckets, d->buckets + d->bucket_count);
  const metric::Type type = d->type == KCM_METRIC_HISTOGRAM ? metric::Type::kHistogram
                            : d->type == KCM_METRIC_GAUGE   ? metric::Type::kGauge
                                                            : metric::Type::kCounter;
  Result<metric::Metric> made = InstanceOf(c).env().metrics->Try(type, description);
  if (!made.ok()) return Fail(error, KCM_ERR_CONFLICT, made.error().message);
  *out = InstanceOf(c).KeepMetric(*std::move(made), type, d->label_count);
  return KCM_OK;
}
void MetricAdd(kcm_metric* m, const kcm_str* values, uint64_t count, double value) {
  if (m == nullptr) return;
  const metric::Series series = m->metric.With(Labels(values, count));
  if (m->type == metric::Type::kHistogram) {
    series.Observe(value);
  } else {
    series.Add(value);
  }
}
void MetricSet(kcm_metric* m, const kcm_str* values, uint64_t count, double value) {
  if (m != nullptr && m->type == metric::Type::kGauge)
    m->metric.With(Labels(values, count)).Set(value);
}

// ---- config ----
std::optional<std::string> FlagText(kcm_context* c, kcm_str name) {
  return InstanceOf(c).env().flag(View(name));
}
int32_t Flag(kcm_context* c, kcm_str name, kcm_str* out) {
  if (out == nullptr) return KCM_ERR_INVALID;
  std::optional<std::string> text = FlagText(c, name);
  if (!text) return KCM_ERR_NOT_FOUND;
  *out = InstanceOf(c).KeepText(std::string(View(name)), std::move(*text));
  return KCM_OK;
}
int64_t Integer(kcm_context* c, kcm_str name, int64_t otherwise) {
  const std::optional<std::string> text = FlagText(c, name);
  return text ? ParseInteger(*text, otherwise) : otherwise;
}
int64_t DurationNs(kcm_context* c, kcm_str name, int64_t otherwise) {
  const std::optional<std::string> text = FlagText(c, name);
  return text ? ParseDurationNs(*text, otherwise) : otherwise;
}
double Real(kcm_context* c, kcm_str name, double otherwise) {
  const std::optional<std::string> text = FlagText(c, name);
  return text ? ParseReal(*text, otherwise) : otherwise;
}
uint32_t Boolean(kcm_context* c, kcm_str name, uint32_t otherwise) {
  const std::optional<std::string> text = FlagText(c, name);
  return text ? (*text == "true" ? 1 : 0) : otherwise;
}
uint32_t Gate(kcm_context* c, kcm_str name) { return InstanceOf(c).env().gate(View(name)) ? 1 : 0; }

// ---- cancel ----
uint32_t Cancelled(kcm_context* c, kcm_scope* scope) {
  return (scope != nullptr ? scope->cancel : InstanceOf(c).cancel()).cancelled() ? 1 : 0;
}
int32_t Wait(kcm_context* c, kcm_scope* scope, int64_t timeout_ns, uint32_t (*ready)(void*),
             void* data) {
  return ready == nullptr ? KCM_ERR_INVALID
                          : InstanceOf(c).WaitReady(scope, timeout_ns, ready, data);
}
void Wake(kcm_context* c) { InstanceOf(c).Wake(); }

constexpr kcm_log_api kLog = {sizeof(kcm_log_api), 0, LogEnabled, LogWrite};
constexpr kcm_clock_api kClock = {
    sizeof(kcm_clock_api), 0, MonotonicNs, WallNs, After, CancelTimer};
constexpr kcm_queue_api kQueue = {sizeof(kcm_queue_api), 0,      Add,      AddAfter,
                                  AddRateLimited,        Forget, Requeues, Length};
constexpr kcm_event_api kEvent = {sizeof(kcm_event_api), 0, Record, RecordAnnotated};
constexpr kcm_metric_api kMetric = {sizeof(kcm_metric_api), 0, Define, MetricAdd, MetricSet};
constexpr kcm_config_api kConfig = {
    sizeof(kcm_config_api), 0, Flag, Integer, DurationNs, Real, Boolean, Gate};
constexpr kcm_cancel_api kCancel = {sizeof(kcm_cancel_api), 0, Cancelled, Wait, Wake};

}  // namespace

int32_t Fail(kcm_error* error, int32_t code, std::string_view text) {
  if (error == nullptr || error->text == nullptr) return code;
  size_t n = std::min<size_t>(text.size(), error->capacity);
  if (n < text.size())
    while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0u) == 0x80u) --n;
  std::copy_n(text.data(), n, error->text);
  error->length = n;
  return code;
}

const void* TableById(std::string_view id) {
  const std::array<std::pair<std::string_view, const void*>, 11> tables{{
      {KCM_OBJECT_API_ID, &ObjectTable()},
      {KCM_LOG_API_ID, &kLog},
      {KCM_CLOCK_API_ID, &kClock},
      {KCM_CACHE_API_ID, &CacheTable()},
      {KCM_CLIENT_API_ID, &ClientTable()},
      {KCM_QUEUE_API_ID, &kQueue},
      {KCM_EVENT_API_ID, &kEvent},
      {KCM_METRIC_API_ID, &kMetric},
      {KCM_DISCOVERY_API_ID, &DiscoveryTable()},
      {KCM_CONFIG_API_ID, &kConfig},
      {KCM_CANCEL_API_ID, &kCancel},
  }};
  for (const auto& [name, table] : tables)
    if (name == id) return table;
  return nullptr;
}

}  // namespace kcm::host::plugin
