// SPDX-License-Identifier: Apache-2.0
// Declarations of a plugin as constexpr C++ data, turned into the C structs of kcm/declaration.h at
// compile time: inspecting a plugin runs no code of it.
//
//   constexpr std::string_view kPodFields[] = {"status.phase", "spec.nodeName"};
//   constexpr sdk::Index kPodIndexes[] = {{.by = sdk::Index::kControllerUid}};
//   constexpr sdk::Watch kWatches[] = {{.resource = "apps/v1/replicasets"}, // whole
//                                      {.resource = "v1/pods", .fields = kPodFields, .indexes =
//                                      kPodIndexes}};
//   constexpr sdk::Queue kQueues[] = {{.name = "replicaset", .workers_flag =
//   "concurrent-replicaset-syncs", .workers = 5}}; inline constexpr sdk::Declaration
//   kDeclaration{.name = "replicaset-controller", ..., .watches = kWatches, .queues = kQueues};
#pragma once
#include <kcm/declaration.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace kcm::sdk {

using Names = std::span<const std::string_view>;

struct Flag {
  enum Type : uint32_t {
    kBool = KCM_FLAG_BOOL,
    kInt = KCM_FLAG_INT,
    kFloat = KCM_FLAG_FLOAT,
    kDuration = KCM_FLAG_DURATION,
    kString = KCM_FLAG_STRING,
    kStrings = KCM_FLAG_STRINGS,
  };
  std::string_view name;
  Type type = kString;
  std::string_view default_value;
  std::string_view help;
  std::string_view deprecated = {};
};

struct Rule {
  Names api_groups = {}, resources = {}, verbs = {}, resource_names = {}, non_resource_urls = {};
};

struct Index {
  enum By : uint32_t {
    kControllerUid = KCM_INDEX_CONTROLLER_UID,
    kOwnerUid = KCM_INDEX_OWNER_UID,
    kField = KCM_INDEX_FIELD,
    kLabel = KCM_INDEX_LABEL,
  };
  By by = kField;
  std::string_view path = {};
};

struct Watch {
  std::string_view resource;  // "apps/v1/deployments", "v1/pods"
  Names fields = {};          // none: whole
  std::span<const Index> indexes = {};
  uint32_t flags = 0;           // KCM_WATCH_*
  std::string_view scope = {};  // namespace; empty: all
  std::string_view field_selector = {};
  int64_t resync_ns = 0;
};

struct Queue {
  std::string_view name;
  std::string_view workers_flag = {};
  int32_t workers = 1;
  int32_t max_retries = -1;   // -1: retried for ever
  int64_t base_delay_ns = 0;  // 0: 5 ms
  int64_t max_delay_ns = 0;   // 0: 1000 s
  double bucket_qps = 0;      // 0: 10/s with burst 100; negative: none
  int32_t bucket_burst = 0;
  uint32_t key_version = 1;
};

struct Task {
  std::string_view name;
  std::string_view period_flag = {};
  int64_t period_ns = 0;
  int64_t first_after_ns = 0;
};

struct Declaration {
  std::string_view name;
  Names aliases = {};
  std::string_view client_name;
  std::string_view event_source = {};
  uint32_t flags = 0;  // KCM_CONTROLLER_*
  Names feature_gates = {};
  Names required_resources = {};
  std::span<const Flag> controller_flags = {};
  std::span<const Rule> rules = {};
  std::span<const Watch> watches = {};
  std::span<const Queue> queues = {};
  std::span<const Task> tasks = {};
  double qps_factor = 0, burst_factor = 0;
};

namespace internal {

constexpr kcm_str Str(std::string_view s) { return kcm_str{s.data(), s.size()}; }

struct ResourceParts {
  std::string_view group, version, resource;
};
constexpr ResourceParts Split(std::string_view text) {
  const size_t last = text.rfind('/');
  const std::string_view resource = text.substr(last + 1);
  const std::string_view left = text.substr(0, last);
  const size_t slash = left.find('/');
  if (slash == std::string_view::npos) return {{}, left, resource};
  return {left.substr(0, slash), left.substr(slash + 1), resource};
}

// All name lists of a declaration end up in one array; Place() hands out its pieces in a fixed
// order.
constexpr size_t CountNames(const Declaration& d) {
  size_t n = d.aliases.size() + d.feature_gates.size() + d.required_resources.size();
  for (const Rule& r : d.rules)
    n += r.api_groups.size() + r.resources.size() + r.verbs.size() + r.resource_names.size() +
         r.non_resource_urls.size();
  for (const Watch& w : d.watches) n += w.fields.size();
  return n;
}
constexpr size_t CountIndexes(const Declaration& d) {
  size_t n = 0;
  for (const Watch& w : d.watches) n += w.indexes.size();
  return n;
}
template <size_t N>
struct NamePool {
  std::array<kcm_str, N + 1> names{};
  size_t used = 0;
  constexpr void Add(Names list) {
    for (std::string_view s : list) names[used++] = Str(s);
  }
};

template <const Declaration& D>
constexpr auto MakeNames() {
  NamePool<CountNames(D)> pool;
  pool.Add(D.aliases);
  pool.Add(D.feature_gates);
  pool.Add(D.required_resources);
  for (const Rule& r : D.rules) {
    pool.Add(r.api_groups);
    pool.Add(r.resources);
    pool.Add(r.verbs);
    pool.Add(r.resource_names);
    pool.Add(r.non_resource_urls);
  }
  for (const Watch& w : D.watches) pool.Add(w.fields);
  return pool;
}

// The C form of D, all of it static constant data.
template <const Declaration& D, const kcm_controller_api& Api>
struct Converted {
  static constexpr auto kNames = MakeNames<D>();

  template <class C, size_t N>
  static constexpr auto Pointers(const std::array<C, N>& items) {
    std::array<const C*, N + 1> p{};
    for (size_t i = 0; i < N; ++i) p[i] = &items[i];
    return p;
  }
  static constexpr const kcm_str* NamesAt(size_t& at, size_t count) {
    const kcm_str* p = &kNames.names[at];
    at += count;
    return p;
  }

  static constexpr auto kFlags = [] {
    std::array<kcm_flag, D.controller_flags.size()> out{};
    for (size_t i = 0; i < out.size(); ++i) {
      const Flag& f = D.controller_flags[i];
      out[i] = {sizeof(kcm_flag),     f.type,      Str(f.name),
                Str(f.default_value), Str(f.help), Str(f.deprecated)};
    }
    return out;
  }();
  static constexpr auto kFlagPointers = Pointers(kFlags);

  static constexpr size_t kRuleStart =
      D.aliases.size() + D.feature_gates.size() + D.required_resources.size();
  static constexpr auto kRules = [] {
    std::array<kcm_rbac_rule, D.rules.size()> out{};
    size_t at = kRuleStart;
    for (size_t i = 0; i < out.size(); ++i) {
      const Rule& r = D.rules[i];
      kcm_rbac_rule c{};
      c.size = sizeof(c);
      c.api_groups = NamesAt(at, r.api_groups.size());
      c.api_group_count = r.api_groups.size();
      c.resources = NamesAt(at, r.resources.size());
      c.resource_count = r.resources.size();
      c.verbs = NamesAt(at, r.verbs.size());
      c.verb_count = r.verbs.size();
      c.resource_names = NamesAt(at, r.resource_names.size());
      c.resource_name_count = r.resource_names.size();
      c.non_resource_urls = NamesAt(at, r.non_resource_urls.size());
      c.non_resource_url_count = r.non_resource_urls.size();
      out[i] = c;
    }
    return out;
  }();
  static constexpr auto kRulePointers = Pointers(kRules);

  static constexpr auto kIndexes = [] {
    std::array<kcm_index, CountIndexes(D)> out{};
    size_t n = 0;
    for (const Watch& w : D.watches)
      for (const Index& x : w.indexes) out[n++] = {sizeof(kcm_index), x.by, Str(x.path)};
    return out;
  }();
  static constexpr auto kIndexPointers = Pointers(kIndexes);

  static constexpr auto kWatches = [] {
    std::array<kcm_watch, D.watches.size()> out{};
    size_t names = CountNames(D);
    for (const Watch& w : D.watches) names -= w.fields.size();
    size_t index = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      const Watch& w = D.watches[i];
      const ResourceParts parts = Split(w.resource);
      kcm_watch c{};
      c.size = sizeof(c);
      c.flags = w.flags;
      c.group = Str(parts.group);
      c.version = Str(parts.version);
      c.resource = Str(parts.resource);
      c.scope = Str(w.scope);
      c.fields = NamesAt(names, w.fields.size());
      c.field_count = w.fields.size();
      c.indexes = &kIndexPointers[index];
      c.index_count = w.indexes.size();
      index += w.indexes.size();
      c.field_selector = Str(w.field_selector);
      c.resync_ns = w.resync_ns;
      out[i] = c;
    }
    return out;
  }();
  static constexpr auto kWatchPointers = Pointers(kWatches);

  static constexpr auto kQueues = [] {
    std::array<kcm_queue_declaration, D.queues.size()> out{};
    for (size_t i = 0; i < out.size(); ++i) {
      const Queue& q = D.queues[i];
      out[i] = {sizeof(kcm_queue_declaration),
                q.key_version,
                Str(q.name),
                Str(q.workers_flag),
                q.workers,
                q.max_retries,
                q.base_delay_ns,
                q.max_delay_ns,
                q.bucket_qps,
                q.bucket_burst,
                0};
    }
    return out;
  }();
  static constexpr auto kQueuePointers = Pointers(kQueues);

  static constexpr auto kTasks = [] {
    std::array<kcm_task, D.tasks.size()> out{};
    for (size_t i = 0; i < out.size(); ++i) {
      const Task& t = D.tasks[i];
      out[i] = {sizeof(kcm_task),   0,           Str(t.name),
                Str(t.period_flag), t.period_ns, t.first_after_ns};
    }
    return out;
  }();
  static constexpr auto kTaskPointers = Pointers(kTasks);

  static constexpr kcm_controller_declaration kDeclaration = [] {
    kcm_controller_declaration c{};
    c.size = sizeof(c);
    c.flags = D.flags;
    c.name = Str(D.name);
    size_t at = 0;
    c.aliases = NamesAt(at, D.aliases.size());
    c.alias_count = D.aliases.size();
    c.client_name = Str(D.client_name);
    c.event_source = Str(D.event_source);
    c.feature_gates = NamesAt(at, D.feature_gates.size());
    c.feature_gate_count = D.feature_gates.size();
    c.required_resources = NamesAt(at, D.required_resources.size());
    c.required_resource_count = D.required_resources.size();
    c.controller_flags = kFlagPointers.data();
    c.controller_flag_count = D.controller_flags.size();
    c.rules = kRulePointers.data();
    c.rule_count = D.rules.size();
    c.watches = kWatchPointers.data();
    c.watch_count = D.watches.size();
    c.queues = kQueuePointers.data();
    c.queue_count = D.queues.size();
    c.tasks = kTaskPointers.data();
    c.task_count = D.tasks.size();
    c.api = &Api;
    c.qps_factor = D.qps_factor;
    c.burst_factor = D.burst_factor;
    return c;
  }();
};

}  // namespace internal
}  // namespace kcm::sdk
