// SPDX-License-Identifier: Apache-2.0
// The scale subresource (spec/apiserver H2): a Scale is a view of the target; writing it updates
// the target like a change of its spec.
#include <algorithm>

#include "devcluster/server/apply.h"
#include "devcluster/server/convert.h"
#include "devcluster/server/managed_fields.h"
#include "devcluster/server/subresources.h"
#include "devcluster/server/table.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

const char* const kScaleVersion = "autoscaling/v1";

// Paths inside the target, from the CRD for custom kinds.
struct ScalePaths {
  std::vector<std::string> spec{"spec", "replicas"}, status{"status", "replicas"}, selector;
};

std::vector<std::string> Split(const std::string& dotted) {
  std::vector<std::string> out;
  std::string part;
  for (const char c : dotted + ".") {
    if (c != '.') {
      part += c;
    } else if (!part.empty()) {
      out.push_back(std::exchange(part, ""));
    }
  }
  return out;
}

ScalePaths PathsOf(const State& state, const Resource& r) {
  ScalePaths p;
  if (!r.kind->custom) return p;
  const std::optional<Json> crd =
      state.reader->Get(Gvr{"apiextensions.k8s.io", "v1", "customresourcedefinitions"}, "",
                        r.gvr().resource + "." + r.gvr().group);
  if (!crd) return p;
  for (const Json& v : (*crd)["spec"]["versions"]) {
    const Json* scale = Find(v, {"subresources", "scale"});
    if (TextAt(v, {"name"}) != r.gvr().version || scale == nullptr) continue;
    p.spec = Split(TextAt(*scale, {"specReplicasPath"}));
    p.status = Split(TextAt(*scale, {"statusReplicasPath"}));
    p.selector = Split(TextAt(*scale, {"labelSelectorPath"}));
  }
  return p;
}

const Json* At(const Json& object, const std::vector<std::string>& path) {
  const Json* at = path.empty() ? nullptr : &object;
  for (const std::string& name : path) {
    if (at == nullptr || !at->is_object() || !at->contains(name)) return nullptr;
    at = &(*at)[name];
  }
  return at;
}

// A selector as `kubectl -l` takes it, sorted by key.
std::string SelectorText(const Json& selector) {
  const bool plain = !selector.contains("matchLabels") && !selector.contains("matchExpressions");
  const Json labels = plain ? selector : selector.value("matchLabels", Json::object());
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [key, value] : labels.items()) {
    if (value.is_string()) all.emplace_back(key, key + "=" + value.get<std::string>());
  }
  for (const Json& e : plain ? Json::array() : selector.value("matchExpressions", Json::array())) {
    const std::string key = TextAt(e, {"key"}), op = TextAt(e, {"operator"});
    std::string values;
    for (const Json& v : e.value("values", Json::array()))
      values += (values.empty() ? "" : ",") + v.get<std::string>();
    if (op == "In") all.emplace_back(key, key + " in (" + values + ")");
    if (op == "NotIn") all.emplace_back(key, key + " notin (" + values + ")");
    if (op == "Exists") all.emplace_back(key, key);
    if (op == "DoesNotExist") all.emplace_back(key, "!" + key);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::string out;
  for (const auto& [key, text] : all) out += (out.empty() ? "" : ",") + text;
  return out;
}

int64_t WholeAt(const Json* j) {
  return j != nullptr && j->is_number_integer() ? j->get<int64_t>() : 0;
}

Json ScaleOf(const Json& target, const Resource& r, const ScalePaths& paths) {
  Json metadata = Json::object();
  for (const char* name : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    const std::string v = TextAt(target, {"metadata", name});
    if (!v.empty()) metadata[name] = v;
  }
  Json spec = Json::object(), status = {{"replicas", WholeAt(At(target, paths.status))}};
  if (const int64_t n = WholeAt(At(target, paths.spec)); n != 0) spec["replicas"] = n;
  std::string selector;
  if (r.kind->custom) {
    const Json* text = At(target, paths.selector);
    if (text != nullptr && text->is_string()) selector = *text;
  } else if (const Json* s = Find(target, {"spec", "selector"}); s != nullptr && s->is_object()) {
    selector = SelectorText(*s);
  }
  if (!selector.empty()) status["selector"] = selector;
  return {{"kind", "Scale"},
          {"apiVersion", kScaleVersion},
          {"metadata", metadata},
          {"spec", spec},
          {"status", status}};
}

// Versions of Scale that are known, but not what this subresource takes.
bool IsOldScale(const std::string& version) {
  return version == "extensions/v1beta1" || version == "apps/v1beta1" || version == "apps/v1beta2";
}

Json ReadScale(Request& request, const Resource& body, const WriteOptions& options) {
  std::vector<std::string> duplicates;
  Json scale = ReadBody(request, "Scale", &duplicates);
  const std::string version = TextAt(scale, {"apiVersion"});
  if (TextAt(scale, {"kind"}) == "Scale" && IsOldScale(version)) {
    Fail(BadRequest("the API version in the data (" + version +
                    ") does not match the expected API version (" + kScaleVersion + ")"));
  }
  scale = TypedObject(request, body, options, std::move(scale), duplicates);
  if (TextAt(scale, {"metadata", "name"}).empty()) {
    Fail(BadRequest("the name of the object (" + request.info.name +
                    " based on URL) was undeterminable: name must be provided"));
  }
  return scale;
}

// The scale must be that of the target.
void CheckScale(const Request& request, const Resource& r, const Json& target, Json* scale) {
  const std::string& name = request.info.name;
  const std::string given = TextAt(*scale, {"metadata", "name"});
  if (!given.empty() && given != name) {
    Fail(BadRequest("the name of the object (" + given + ") does not match the name on the URL (" +
                    name + ")"));
  }
  SetNamespace(r, request.info.ns, scale);
  const int64_t replicas = WholeAt(Find(*scale, {"spec", "replicas"}));
  if (replicas < 0) {
    Fail(Invalid("autoscaling", "Scale", name,
                 {InvalidValue("spec.replicas", std::to_string(replicas),
                               "must be greater than or equal to 0")}));
  }
  const std::string uid = TextAt(*scale, {"metadata", "uid"}),
                    have = TextAt(target, {"metadata", "uid"});
  if (!uid.empty() && uid != have) {
    const Gvr& gvr = r.gvr();
    Fail(Conflict(
        {gvr.group, gvr.version, gvr.resource + "/scale"}, name,
        "Precondition failed: UID in precondition: " + uid + ", UID in object meta: " + have));
  }
}

void SetAt(Json* object, const std::vector<std::string>& path, Json value) {
  Json* at = object;
  for (const std::string& name : path) at = &(*at)[name];
  *at = std::move(value);
}

Answer ShowScale(const State& state, const Request& request, const Json& scale) {
  const Media media = Negotiate(request.http->Header("Accept"), Offer());
  if (media.as != Media::As::kTable) return JsonAnswer(request, 200, scale);
  auto kind = std::make_shared<ResourceKind>();
  kind->columns = {{"Name", "string", "name", "", 0},
                   {"Desired", "integer", "", "", 0},
                   {"Available", "integer", "", "", 0},
                   {"Created At", "date", "", "", 0}};
  kind->table_cells = [](const Json& s, std::string_view) {
    return Json::array({TextAt(s, {"metadata", "name"}), WholeAt(Find(s, {"spec", "replicas"})),
                        WholeAt(Find(s, {"status", "replicas"})),
                        TextAt(s, {"metadata", "creationTimestamp"})});
  };
  Resource shown;
  shown.kind = kind;
  shown.type = {kScaleVersion, "Scale"};
  Answer a;
  a.content_type = media.ContentType();
  a.body = TableOfOne(state, request, shown, *ToFlat(scale), media);
  return a;
}

}  // namespace

Answer HandleScale(const State& state, Request& request) {
  const Resource& r = *request.resource;
  const ScalePaths paths = PathsOf(state, r);
  const std::string name = request.info.name;
  if (request.info.verb == "get") {
    const ObjectPtr object = state.store->Get(*r.table, Store::Key(request.info.ns, name));
    if (!object) Fail(NotFound(r.gvr(), name));
    return ShowScale(state, request, ScaleOf(EditableInVersion(r, *object), r, paths));
  }
  const bool patch = request.info.verb == "patch";
  const bool apply = patch && IsApply(request);
  WriteOptions options = ReadWriteOptions(request, patch ? "PatchOptions" : "UpdateOptions");
  options.apply = apply;
  const FieldShapes shapes = ShapesOf(*r.kind);
  const Resource body = BodyType(state, "autoscaling", "v1", "Scale");
  std::function<Json(const Json&)> make;
  if (apply) {
    if (!options.manager_given) {
      Fail(Invalid("meta.k8s.io", "PatchOptions", "",
                   {Required("fieldManager", "is required for apply patch")}));
    }
    const Json scale = ReadConfiguration(request, body, shapes);
    make = [scale](const Json&) { return scale; };
  } else if (patch) {
    make = PatchFunction(state, request, r, options, body);
  } else {
    const Json scale = ReadScale(request, body, options);
    make = [scale](const Json&) { return scale; };
  }
  Change change;
  change.patch = patch;
  change.subresource = "scale";
  change.make = [&](const Json& current) {
    Json scale = make(ScaleOf(current, r, paths));
    CheckScale(request, r, current, &scale);
    const int64_t replicas = WholeAt(Find(scale, {"spec", "replicas"}));
    Json next = current;
    if (apply) {
      Json configuration = Json::object();
      SetAt(&configuration, paths.spec, replicas);
      const FieldManager manager{options.manager, r.type.api_version, "scale", request.info.now};
      Applied applied =
          ApplyConfiguration(current, configuration, EmptyObject(r), request.query.Flag("force"),
                             manager, shapes, [](Json*) {});
      if (!applied.conflicts.empty()) FailConflicts(applied.conflicts);
      next = std::move(applied.object);
    } else {
      SetAt(&next, paths.spec, replicas);
    }
    const std::string version = TextAt(scale, {"metadata", "resourceVersion"});
    if (!version.empty()) next["metadata"]["resourceVersion"] = version;
    return next;
  };
  request.info.subresource.clear();  // for the target it is a change of its spec
  const ObjectPtr stored = UpdateObject(state, request, r, options, change);
  return JsonAnswer(request, 200, ScaleOf(EditableInVersion(r, *stored), r, paths));
}

}  // namespace kcm::devcluster
