// SPDX-License-Identifier: Apache-2.0
// The tables about the API server: caches, requests, discovery.
#include <memory>

#include "host/plugin/controller.h"
#include "host/plugin/first_sizes.h"
#include "host/plugin/instance.h"
#include "host/plugin/tables.h"
#include "kcm/rules/label_selector.h"

struct kcm_list {
  std::vector<kcm_object*> items;
};

struct kcm_resource_list {
  std::vector<kcm_resource> items;
  std::vector<kcm::host::client::ApiResource> texts;  // what the items point to
  std::vector<std::string> verbs;
  std::string failed;
};

namespace kcm::host::plugin {
namespace {

// ---- cache ----
int32_t Get(kcm_context* c, uint32_t watch, kcm_str key, kcm_object** out) {
  Instance& i = InstanceOf(c);
  if (out == nullptr) return KCM_ERR_INVALID;
  *out = nullptr;
  const std::shared_ptr<const WatchState> w = i.Watch(watch);
  if (w == nullptr) return KCM_ERR_INVALID;
  if (i.state() == State::kStopped) return KCM_ERR_STOPPED;
  if (!w->informer) return KCM_OK;
  wire::ObjectPtr o = w->informer->Get(View(key));
  if (o) *out = NewHandle(std::move(o), w->mask, i.handles());
  return KCM_OK;
}

int32_t List(kcm_context* c, const kcm_query* q, kcm_list** out, kcm_error* error) {
  Instance& i = InstanceOf(c);
  if (out == nullptr) return Fail(error, KCM_ERR_INVALID, "no place for the list");
  *out = nullptr;
  if (q == nullptr || q->size < kFirstQuery) return Fail(error, KCM_ERR_INVALID, "no query");
  const std::shared_ptr<const WatchState> w = i.Watch(q->watch);
  if (w == nullptr) return Fail(error, KCM_ERR_INVALID, "no watch " + std::to_string(q->watch));
  if (i.state() == State::kStopped) return Fail(error, KCM_ERR_STOPPED, "stopped");
  if (q->index >= 0 && static_cast<size_t>(q->index) >= w->indexes.size() && w->informer)
    return Fail(
        error, KCM_ERR_INVALID,
        "watch of " + w->declaration.gvr.resource + " has no index " + std::to_string(q->index));
  const Result<rules::LabelSelector> selector =
      rules::LabelSelector::Parse(View(q->label_selector));
  if (!selector.ok()) return Fail(error, KCM_ERR_INVALID, selector.error().message);
  auto list = std::make_unique<kcm_list>();
  if (w->informer) {
    const std::string_view ns = View(q->namespace_name);
    std::vector<wire::ObjectPtr> found =
        q->index >= 0
            ? w->informer->ByIndex(w->indexes[static_cast<size_t>(q->index)], View(q->index_value))
            : w->informer->List(ns);
    list->items.reserve(found.size());
    const bool all = selector->SelectsEverything();
    for (wire::ObjectPtr& o : found) {
      if (!ns.empty() && o->Namespace() != ns) continue;
      if (!all && !selector->Matches(o->Node().Get("metadata").Get("labels"))) continue;
      list->items.push_back(NewHandle(std::move(o), w->mask, i.handles()));
    }
  }
  *out = list.release();
  return KCM_OK;
}

uint64_t ListCount(const kcm_list* list) { return list == nullptr ? 0 : list->items.size(); }
kcm_object* ListAt(const kcm_list* list, uint64_t n) {
  return n < ListCount(list) ? list->items[n] : nullptr;
}
void ListRelease(kcm_list* list) {
  if (list == nullptr) return;
  for (kcm_object* o : list->items) ObjectTable().release(o);
  delete list;
}
uint32_t Synced(kcm_context* c, uint32_t watch) { return InstanceOf(c).WatchSynced(watch) ? 1 : 0; }
uint64_t ResourceVersion(kcm_context* c, uint32_t watch) {
  const std::shared_ptr<const WatchState> w = InstanceOf(c).Watch(watch);
  return w == nullptr || !w->informer ? 0 : w->informer->ResourceVersion();
}
int32_t AddWatch(kcm_context* c, kcm_str group, kcm_str version, kcm_str resource, uint32_t* watch,
                 kcm_error* error) {
  if (version.length == 0 || resource.length == 0 || watch == nullptr)
    return Fail(error, KCM_ERR_INVALID, "a watch needs version and resource");
  const Result<uint32_t> id = OrNoThread([&] {
    return InstanceOf(c).AddRuntimeWatch(
        {std::string(View(group)), std::string(View(version)), std::string(View(resource))});
  });
  if (!id.ok()) return Fail(error, static_cast<int32_t>(id.code()), id.error().message);
  *watch = *id;
  return KCM_OK;
}
int32_t RemoveWatch(kcm_context* c, uint32_t watch) {
  return static_cast<int32_t>(InstanceOf(c).RemoveRuntimeWatch(watch).code());
}

// ---- client ----
// False: the request is not legal. Everything is copied.
bool ToCall(const kcm_request* r, client::Call* out) {
  if (r == nullptr || r->size < kFirstRequest) return false;
  switch (r->verb) {
    case KCM_VERB_GET:
      out->verb = client::Verb::kGet;
      break;
    case KCM_VERB_LIST:
      out->verb = client::Verb::kList;
      break;
    case KCM_VERB_CREATE:
      out->verb = client::Verb::kCreate;
      break;
    case KCM_VERB_UPDATE:
      out->verb = client::Verb::kUpdate;
      break;
    case KCM_VERB_PATCH:
      out->verb = client::Verb::kPatch;
      break;
    case KCM_VERB_DELETE:
      out->verb = client::Verb::kDelete;
      break;
    case KCM_VERB_DELETE_COLLECTION:
      out->verb = client::Verb::kDeleteCollection;
      break;
    default:
      return false;
  }
  switch (r->patch_type) {
    case KCM_PATCH_JSON:
      out->patch = client::PatchType::kJson;
      break;
    case KCM_PATCH_MERGE:
      out->patch = client::PatchType::kMerge;
      break;
    case KCM_PATCH_STRATEGIC:
      out->patch = client::PatchType::kStrategic;
      break;
    case KCM_PATCH_APPLY:
      out->patch = client::PatchType::kApply;
      break;
    default:
      if (r->verb == KCM_VERB_PATCH) return false;
      break;
  }
  const bool raw = (r->flags & KCM_REQUEST_RAW) != 0;
  if (raw ? r->raw_path.length == 0 : (r->resource.length == 0 || r->version.length == 0))
    return false;
  out->resource = {std::string(View(r->group)), std::string(View(r->version)),
                   std::string(View(r->resource))};
  out->ns = View(r->namespace_name);
  out->name = View(r->name);
  out->subresource = View(r->subresource);
  out->query = View(r->query);
  out->body = View(r->body);
  out->raw_path = View(r->raw_path);
  out->timeout = clock::Duration(r->timeout_ns);
  if (raw) {
    out->form = client::Form::kRaw;
  } else if ((r->flags & KCM_REQUEST_METADATA_ONLY) != 0) {
    out->form = client::Form::kMetadataOnly;
  }
  return true;
}

int32_t Call(kcm_context* c, kcm_scope* scope, const kcm_request* request, kcm_answer** out) {
  client::Call call;
  if (out == nullptr) return KCM_ERR_INVALID;
  *out = nullptr;
  if (!ToCall(request, &call)) return KCM_ERR_INVALID;
  *out = InstanceOf(c).Send(scope, call, request->flags);
  return (*out)->code;
}
int32_t Submit(kcm_context* c, kcm_scope* scope, const kcm_request* request, kcm_completion done,
               void* data) {
  client::Call call;
  if (done == nullptr || !ToCall(request, &call)) return KCM_ERR_INVALID;
  return static_cast<int32_t>(
      InstanceOf(c).Submit(scope, std::move(call), *request, done, data).code());
}

// ---- discovery ----
std::string Join(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& s : list) out += (out.empty() ? "" : ",") + s;
  return out;
}

kcm_resource_list* MakeList(std::vector<client::ApiResource> resources, std::string failed) {
  auto out = std::make_unique<kcm_resource_list>();
  out->texts = std::move(resources);
  out->failed = std::move(failed);
  for (const client::ApiResource& r : out->texts) out->verbs.push_back(Join(r.verbs));
  for (size_t i = 0; i < out->texts.size(); ++i) {
    const client::ApiResource& r = out->texts[i];
    out->items.push_back({sizeof(kcm_resource), r.namespaced ? 1u : 0u, TextOf(r.gvr.group),
                          TextOf(r.gvr.version), TextOf(r.gvr.resource), TextOf(r.kind),
                          TextOf(out->verbs[i])});
  }
  return out.release();
}

int32_t ServerMinor(kcm_context* c) {
  const Result<int> minor = InstanceOf(c).env().discovery->ServerMinor();
  return minor.ok() ? *minor : -static_cast<int32_t>(minor.code());
}
int32_t Preferred(kcm_context* c, kcm_scope*, kcm_resource_list** out, kcm_error* error) {
  if (out == nullptr) return Fail(error, KCM_ERR_INVALID, "no place for the list");
  *out = nullptr;
  Result<client::DiscoveryResult> preferred = InstanceOf(c).env().discovery->FetchPreferred();
  if (!preferred.ok())
    return Fail(error, static_cast<int32_t>(preferred.code()), preferred.error().message);
  std::string failed;
  for (const auto& [version, why] : preferred->failed) failed += version + ": " + why + "\n";
  *out = MakeList(std::move(preferred->resources), std::move(failed));
  return KCM_OK;
}
uint64_t ResourceCount(const kcm_resource_list* list) {
  return list == nullptr ? 0 : list->items.size();
}
const kcm_resource* ResourceAt(const kcm_resource_list* list, uint64_t n) {
  return n < ResourceCount(list) ? &list->items[n] : nullptr;
}
kcm_str ResourcesFailed(const kcm_resource_list* list) {
  return list == nullptr ? kcm_str{nullptr, 0} : TextOf(list->failed);
}
void ResourcesRelease(kcm_resource_list* list) { delete list; }
int32_t ForKind(kcm_context* c, kcm_scope*, kcm_str group, kcm_str version, kcm_str kind,
                kcm_resource_list** out, kcm_error* error) {
  if (out == nullptr) return Fail(error, KCM_ERR_INVALID, "no place for the answer");
  *out = nullptr;
  auto found = InstanceOf(c).env().discovery->ForKind(View(group), View(version), View(kind));
  if (!found.ok()) return Fail(error, static_cast<int32_t>(found.code()), found.error().message);
  *out = MakeList({*std::move(found)}, {});
  return KCM_OK;
}

constexpr kcm_cache_api kCache = {
    sizeof(kcm_cache_api), 0,        Get,        List, ListCount, ListAt, ListRelease, Synced,
    ResourceVersion,       AddWatch, RemoveWatch};
constexpr kcm_client_api kClient = {sizeof(kcm_client_api), 0, Call, Submit, ReleaseAnswer};
constexpr kcm_discovery_api kDiscovery = {sizeof(kcm_discovery_api),
                                          0,
                                          ServerMinor,
                                          Preferred,
                                          ResourceCount,
                                          ResourceAt,
                                          ResourcesFailed,
                                          ResourcesRelease,
                                          ForKind};

}  // namespace

const kcm_cache_api& CacheTable() { return kCache; }
const kcm_client_api& ClientTable() { return kClient; }
const kcm_discovery_api& DiscoveryTable() { return kDiscovery; }

}  // namespace kcm::host::plugin
