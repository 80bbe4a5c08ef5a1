// SPDX-License-Identifier: Apache-2.0
// Reading and describing declarations.
#include "host/plugin/declaration.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "host/plugin/first_sizes.h"

namespace kcm::host::plugin {
namespace {

// Counts above this are a broken plugin, not a large one.
constexpr uint64_t kMaxItems = 4096;
constexpr uint64_t kMaxText = 1u << 16;

// Collects the first problem; everything read after it is harmless defaults.
class Reader {
 public:
  explicit Reader(std::string where) : where_(std::move(where)) {}

  std::string Text(kcm_str s, const char* what) {
    if (s.length == 0) return {};
    if (s.data == nullptr || s.length > kMaxText) {
      Problem(std::string(what) + " is no legal text");
      return {};
    }
    return std::string(s.data, s.length);
  }
  std::string Name(kcm_str s, const char* what) {
    std::string text = Text(s, what);
    if (text.empty()) Problem(std::string(what) + " is empty");
    return text;
  }
  std::vector<std::string> Names(const kcm_str* list, uint64_t count, const char* what) {
    std::vector<std::string> out;
    if (!Count(list, count, what)) return out;
    for (uint64_t i = 0; i < count; ++i) out.push_back(Text(list[i], what));
    return out;
  }
  // True when `count` items may be read at `list`.
  bool Count(const void* list, uint64_t count, const char* what) {
    if (count == 0) return false;
    if (list == nullptr || count > kMaxItems) {
      Problem(std::string(what) + ": list of " + std::to_string(count) + " items is not legal");
      return false;
    }
    return true;
  }
  // `p` is a struct that is at least `minimum` bytes long.
  bool Struct(const void* p, uint32_t minimum, const char* what) {
    if (p == nullptr) {
      Problem(std::string(what) + " is NULL");
      return false;
    }
    const uint32_t size = *static_cast<const uint32_t*>(p);
    if (size < minimum) {
      Problem(std::string(what) + " is " + std::to_string(size) + " bytes long, at least " +
              std::to_string(minimum) +
              " are needed: rebuild the plugin with the kcm headers of this host");
      return false;
    }
    return true;
  }
  void Problem(const std::string& text) {
    if (problem_.empty()) problem_ = where_ + ": " + text;
  }
  void Enter(std::string where) { where_ = std::move(where); }
  const std::string& where() const { return where_; }
  const std::string& problem() const { return problem_; }

 private:
  std::string where_, problem_;
};

cache::IndexSpec ReadIndex(Reader& r, const kcm_index* c) {
  cache::IndexSpec out;
  if (!r.Struct(c, kFirstIndex, "index")) return out;
  out.path = r.Text(c->path, "index path");
  switch (c->by) {
    case KCM_INDEX_CONTROLLER_UID:
      out.by = cache::IndexSpec::By::kControllerUid;
      break;
    case KCM_INDEX_OWNER_UID:
      out.by = cache::IndexSpec::By::kOwnerUid;
      break;
    case KCM_INDEX_FIELD:
      out.by = cache::IndexSpec::By::kField;
      break;
    case KCM_INDEX_LABEL:
      out.by = cache::IndexSpec::By::kLabel;
      break;
    default:
      r.Problem("index of unknown kind " + std::to_string(c->by));
      break;
  }
  return out;
}

WatchDeclaration ReadWatch(Reader& r, const kcm_watch* c) {
  WatchDeclaration out;
  if (!r.Struct(c, kFirstWatch, "watch")) return out;
  out.gvr = {r.Text(c->group, "watch group"), r.Name(c->version, "watch version"),
             r.Name(c->resource, "watch resource")};
  out.scope = r.Text(c->scope, "watch scope");
  out.field_selector = r.Text(c->field_selector, "watch field selector");
  out.flags = c->flags;
  out.fields = r.Names(c->fields, c->field_count, "watch fields");
  out.resync = clock::Duration(c->resync_ns);
  if (r.Count(c->indexes, c->index_count, "indexes"))
    for (uint64_t i = 0; i < c->index_count; ++i)
      out.indexes.push_back(ReadIndex(r, c->indexes[i]));
  const Result<wire::Mask> mask = wire::Mask::Compile(out.fields);
  if (!mask.ok()) r.Problem("watch of " + out.gvr.resource + ": " + mask.error().message);
  return out;
}

QueueDeclaration ReadQueue(Reader& r, const kcm_queue_declaration* c) {
  QueueDeclaration out;
  if (!r.Struct(c, kFirstQueue, "queue")) return out;
  out.name = r.Text(c->name, "queue name");
  out.workers_flag = r.Text(c->workers_flag, "workers flag");
  out.key_version = c->key_version;
  out.workers = c->workers;
  out.max_retries = c->max_retries;
  out.base_delay = clock::Duration(c->base_delay_ns);
  out.max_delay = clock::Duration(c->max_delay_ns);
  out.bucket_qps = c->bucket_qps;
  out.bucket_burst = c->bucket_burst;
  return out;
}

TaskDeclaration ReadTask(Reader& r, const kcm_task* c) {
  TaskDeclaration out;
  if (!r.Struct(c, kFirstTask, "task")) return out;
  out.name = r.Text(c->name, "task name");
  out.period_flag = r.Text(c->period_flag, "period flag");
  out.period = clock::Duration(c->period_ns);
  out.first_after = clock::Duration(c->first_after_ns);
  if (out.period_flag.empty() && out.period <= clock::Duration(0))
    r.Problem("task " + out.name + " has no period");
  return out;
}

FlagDeclaration ReadFlag(Reader& r, const kcm_flag* c) {
  FlagDeclaration out;
  if (!r.Struct(c, kFirstFlag, "flag")) return out;
  out.type = c->type;
  out.name = r.Name(c->name, "flag name");
  out.default_value = r.Text(c->default_value, "flag default");
  out.help = r.Text(c->help, "flag help");
  out.deprecated = r.Text(c->deprecated, "flag deprecation");
  if (c->type < KCM_FLAG_BOOL || c->type > KCM_FLAG_STRINGS)
    r.Problem("flag " + out.name + " has an unknown type");
  return out;
}

RuleDeclaration ReadRule(Reader& r, const kcm_rbac_rule* c) {
  RuleDeclaration out;
  if (!r.Struct(c, kFirstRule, "RBAC rule")) return out;
  out.api_groups = r.Names(c->api_groups, c->api_group_count, "apiGroups");
  out.resources = r.Names(c->resources, c->resource_count, "resources");
  out.verbs = r.Names(c->verbs, c->verb_count, "verbs");
  out.resource_names = r.Names(c->resource_names, c->resource_name_count, "resourceNames");
  out.non_resource_urls =
      r.Names(c->non_resource_urls, c->non_resource_url_count, "nonResourceURLs");
  return out;
}

template <class C, class Out, class Read>
void ReadList(Reader& r, const C* const* list, uint64_t count, const char* what,
              std::vector<Out>* out, Read read) {
  if (!r.Count(list, count, what)) return;
  for (uint64_t i = 0; i < count; ++i) out->push_back(read(r, list[i]));
}

void CheckApi(Reader& r, const kcm_controller_api* api) {
  if (!r.Struct(api, kFirstControllerApi, "function table")) return;
  if (api->create == nullptr || api->start == nullptr || api->on_event == nullptr ||
      api->reconcile == nullptr || api->stop == nullptr || api->destroy == nullptr)
    r.Problem("function table lacks one of create, start, on_event, reconcile, stop, destroy");
}

ControllerDeclaration ReadController(Reader& r, const kcm_controller_declaration* c) {
  ControllerDeclaration out;
  if (!r.Struct(c, kFirstControllerDeclaration, "controller declaration")) return out;
  out.name = r.Name(c->name, "controller name");
  const std::string outer = r.where();
  r.Enter(outer + ": controller " + out.name);
  out.off_by_default = (c->flags & KCM_CONTROLLER_OFF_BY_DEFAULT) != 0;
  out.root_identity = (c->flags & KCM_CONTROLLER_ROOT_IDENTITY) != 0;
  out.aliases = r.Names(c->aliases, c->alias_count, "aliases");
  out.client_name = r.Name(c->client_name, "client name");
  out.event_source = r.Text(c->event_source, "event source");
  out.feature_gates = r.Names(c->feature_gates, c->feature_gate_count, "feature gates");
  out.required_resources =
      r.Names(c->required_resources, c->required_resource_count, "required resources");
  ReadList(r, c->controller_flags, c->controller_flag_count, "flags", &out.flags, ReadFlag);
  ReadList(r, c->rules, c->rule_count, "RBAC rules", &out.rules, ReadRule);
  ReadList(r, c->watches, c->watch_count, "watches", &out.watches, ReadWatch);
  ReadList(r, c->queues, c->queue_count, "queues", &out.queues, ReadQueue);
  ReadList(r, c->tasks, c->task_count, "tasks", &out.tasks, ReadTask);
  CheckApi(r, c->api);
  out.api = c->api;
  if (!out.tasks.empty() && c->api != nullptr && c->api->on_task == nullptr)
    r.Problem("tasks are declared but on_task is NULL");
  out.qps_factor = c->qps_factor > 0 ? c->qps_factor : 1;
  out.burst_factor = c->burst_factor > 0 ? c->burst_factor : 1;
  r.Enter(outer);
  return out;
}

nlohmann::json Json(const ControllerDeclaration& c) {
  nlohmann::json out{{"name", c.name},
                     {"aliases", c.aliases},
                     {"client", c.client_name},
                     {"eventSource", c.event_source},
                     {"enabledByDefault", !c.off_by_default},
                     {"featureGates", c.feature_gates},
                     {"requiredResources", c.required_resources}};
  for (const FlagDeclaration& f : c.flags)
    out["flags"].push_back(
        {{"name", "--" + f.name}, {"default", f.default_value}, {"help", f.help}});
  for (const RuleDeclaration& r : c.rules)
    out["rules"].push_back({{"apiGroups", r.api_groups},
                            {"resources", r.resources},
                            {"verbs", r.verbs},
                            {"resourceNames", r.resource_names},
                            {"nonResourceURLs", r.non_resource_urls}});
  for (const WatchDeclaration& w : c.watches) {
    nlohmann::json j{{"resource", w.gvr.ApiVersion() + "/" + w.gvr.resource},
                     {"fields", w.fields.empty() ? std::vector<std::string>{"*"} : w.fields},
                     {"metadataOnly", w.metadata_only()}};
    if (!w.scope.empty()) j["namespace"] = w.scope;
    out["watches"].push_back(std::move(j));
  }
  for (const QueueDeclaration& q : c.queues)
    out["queues"].push_back({{"name", q.name},
                             {"workers", q.workers},
                             {"workersFlag", q.workers_flag},
                             {"keyVersion", q.key_version}});
  for (const TaskDeclaration& t : c.tasks)
    out["tasks"].push_back({{"name", t.name}, {"periodFlag", t.period_flag}});
  return out;
}

}  // namespace

Result<PluginDeclaration> ReadDeclaration(const kcm_plugin* plugin, const std::string& file) {
  Reader r(file);
  if (plugin == nullptr)
    return MakeError(Code::kInvalid, file + ": no symbol " KCM_PLUGIN_SYMBOL ": not a plugin");
  if (plugin->magic != KCM_PLUGIN_MAGIC)
    return MakeError(Code::kInvalid,
                     file + ": " KCM_PLUGIN_SYMBOL
                            " does not hold a plugin: export the constant of kcm/plugin.h");
  PluginDeclaration out;
  out.abi_major = plugin->abi_major;
  out.abi_minor = plugin->abi_minor;
  // The version decides before anything whose layout depends on it is read.
  if (plugin->abi_major != KCM_ABI_MAJOR || plugin->abi_minor > KCM_ABI_MINOR)
    return MakeError(Code::kUnsupported,
                     file + ": built for ABI " + std::to_string(plugin->abi_major) + "." +
                         std::to_string(plugin->abi_minor) + ", this host speaks " +
                         std::to_string(KCM_ABI_MAJOR) + "." + std::to_string(KCM_ABI_MINOR) +
                         ": rebuild the plugin or use a newer host");
  if (!r.Struct(plugin, kFirstPlugin, "plugin entry"))
    return MakeError(Code::kInvalid, r.problem());
  out.name = r.Name(plugin->name, "plugin name");
  out.version = r.Text(plugin->version, "plugin version");
  out.vendor = r.Text(plugin->vendor, "plugin vendor");
  out.build_id = r.Text(plugin->build_id, "build id");
  ReadList(r, plugin->controllers, plugin->controller_count, "controllers", &out.controllers,
           ReadController);
  std::set<std::string> names;
  for (const ControllerDeclaration& c : out.controllers)
    if (!names.insert(c.name).second) r.Problem("declares controller " + c.name + " twice");
  if (!r.problem().empty()) return MakeError(Code::kInvalid, r.problem());
  return out;
}

std::string Describe(const PluginDeclaration& p) {
  nlohmann::json out{{"name", p.name},
                     {"version", p.version},
                     {"vendor", p.vendor},
                     {"buildId", p.build_id},
                     {"abi", std::to_string(p.abi_major) + "." + std::to_string(p.abi_minor)},
                     {"controllers", nlohmann::json::array()}};
  for (const ControllerDeclaration& c : p.controllers) out["controllers"].push_back(Json(c));
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace kcm::host::plugin
