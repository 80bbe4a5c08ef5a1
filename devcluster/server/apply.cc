// SPDX-License-Identifier: Apache-2.0
// Server-side apply (apply.h): reads and checks the configuration, settles ownership, then updates
// as usual.
#include "devcluster/server/apply.h"

#include <algorithm>
#include <map>

#include "devcluster/server/convert.h"
#include "devcluster/server/managed_fields.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

// `failed to create typed patch object (NS/NAME; apps/v1, Kind=Deployment): WHY`
[[noreturn]] void FailTyped(const Json& configuration, const Resource& r, const std::string& why) {
  const std::string group = r.gvr().group + "/" + r.gvr().version;
  Fail(Untyped("failed to create typed patch object (" +
               TextAt(configuration, {"metadata", "namespace"}) + "/" +
               TextAt(configuration, {"metadata", "name"}) + "; " + group +
               ", Kind=" + r.kind->kind + "): " + why));
}

Json ParseConfiguration(const Request& request, const Resource& r) {
  Json j = ParseYaml(request.http->body);
  if (!j.is_object()) Fail(BadRequest("error decoding YAML: the body is not an object"));
  const std::string version = TextAt(j, {"apiVersion"}), kind = TextAt(j, {"kind"});
  if (version.empty()) Fail(BadRequest("invalid object type: /, Kind=" + kind));
  if (kind.empty()) Fail(BadRequest("Object 'Kind' is missing in the applied configuration"));
  if (version != r.type.api_version || kind != r.type.kind) {
    Fail(BadRequest("the applied configuration is " + version + ", Kind=" + kind +
                    ", the URL is for " + r.type.api_version + ", Kind=" + r.type.kind));
  }
  if (const Json* m = Find(j, {"metadata", "managedFields"}); m != nullptr && !m->is_null()) {
    Fail(BadRequest("metadata.managedFields must be nil"));
  }
  if (!j["metadata"].is_object()) j["metadata"] = Json::object();
  const std::string name = TextAt(j, {"metadata", "name"});
  if (!name.empty() && name != request.info.name) {
    Fail(BadRequest("the name of the object (" + name + ") does not match the name on the URL (" +
                    request.info.name + ")"));
  }
  j["metadata"]["name"] = request.info.name;
  return j;
}

// Maps of texts: null is the empty text, anything else is a mistake of type.
void CheckTexts(const Json& whole, const Resource& r, Json* object, const std::string& path) {
  for (const char* member : {"data", "stringData", "labels", "annotations"}) {
    const auto it = object->find(member);
    if (it == object->end() || !it->is_object()) continue;
    for (auto entry = it->begin(); entry != it->end(); ++entry) {
      if (entry->is_null()) *entry = "";
      if (entry->is_string() || r.kind->custom) continue;
      FailTyped(whole, r,
                path + "." + member + "." + entry.key() +
                    ": expected string, got &value.valueUnstructured{Value:" + entry->dump() + "}");
    }
  }
}

// What keeps an item out of a set or keyed list, "" when nothing does.
std::string ItemFault(const Json& item, const FieldShape& shape) {
  if (shape.list == FieldShape::List::kSet) {
    if (item.is_object()) return "associative list without keys has an element that's a map type";
    if (item.is_null())
      return "associative list without keys has an element that's an explicit null";
    return "";
  }
  if (item.is_null()) return "associative list with keys may not have a null element";
  if (!item.is_object()) return "associative list with keys may not have non-map elements";
  if (!ItemElement(item, shape).empty()) return "";
  std::string keys;
  for (const std::string& key : shape.keys) keys += (keys.empty() ? "" : " ") + GoQuote(key);
  return "associative list with keys has an element that omits all key fields [" + keys +
         "] (and doesn't have default values for any key fields)";
}

void CheckLists(const Json& whole, const Resource& r, const Json& value, const std::string& path,
                const std::string& shown, const FieldShapes& shapes) {
  if (value.is_object()) {
    for (const auto& [name, member] : value.items())
      CheckLists(whole, r, member, FieldPath(path, name), shown + "." + name, shapes);
    return;
  }
  const FieldShape shape = value.is_array() ? shapes(path) : FieldShape();
  if (!value.is_array() || shape.list == FieldShape::List::kAtomic) return;
  std::map<std::string, int> seen;
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string fault = ItemFault(value[i], shape);
    if (!fault.empty())
      FailTyped(whole, r, shown + ": element " + std::to_string(i) + ": " + fault);
    const std::string element = ItemElement(value[i], shape);
    std::string key;
    FieldSet one;
    one.children[element].self = true;
    one.ForEach([&](const std::string& text) { key = text; });
    if (++seen[element] > 1) FailTyped(whole, r, shown + ": duplicate entries for key " + key);
    CheckLists(whole, r, value[i], path, shown + key, shapes);
  }
}

void CheckTyped(const Resource& r, Json* configuration, const FieldShapes& shapes) {
  CheckTexts(*configuration, r, configuration, "");
  CheckTexts(*configuration, r, &(*configuration)["metadata"], ".metadata");
  CheckLists(*configuration, r, *configuration, "", "", shapes);
  if (!r.kind->decode) return;
  Json decoded = *configuration;
  std::vector<std::string> unknown;
  const std::optional<std::string> error = r.kind->decode(decoded, &unknown);
  if (error) FailTyped(*configuration, r, *error);
  if (!unknown.empty())
    FailTyped(*configuration, r, "." + unknown.front() + ": field not declared in schema");
}

constexpr const char* kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

// kubectl's client-side apply keeps what it applied in an annotation. Its server-side apply carries
// that annotation on, and takes over what the annotation says was its own all along.
bool MayTakeOver(const std::string& manager, const Json& live,
                 const std::vector<Applied::Conflict>& conflicts, const FieldShapes& shapes) {
  if (manager != "kubectl") return false;
  const Json last =
      Json::parse(TextAt(live, {"metadata", "annotations", kLastApplied}), nullptr, false);
  if (!last.is_object()) return false;
  std::vector<std::string> own;
  FieldsOf(last, shapes).ForEach([&](const std::string& field) { own.push_back(field); });
  return std::all_of(conflicts.begin(), conflicts.end(), [&](const Applied::Conflict& c) {
    return std::find(own.begin(), own.end(), c.field) != own.end();
  });
}

void UpdateLastApplied(const std::string& manager, const Json& configuration, Json* object) {
  if (manager != "kubectl" || TextAt(*object, {"metadata", "annotations", kLastApplied}).empty())
    return;
  (*object)["metadata"]["annotations"][kLastApplied] = Dump(configuration) + "\n";
}

}  // namespace

Json ReadConfiguration(const Request& request, const Resource& r, const FieldShapes& shapes) {
  Json configuration = ParseConfiguration(request, r);
  CheckTyped(r, &configuration, shapes);
  return configuration;
}

void FailConflicts(const std::vector<Applied::Conflict>& conflicts) {
  Json causes = Json::array();
  std::map<std::string, std::vector<std::string>> by_owner;
  for (const Applied::Conflict& c : conflicts) {
    by_owner[c.owner].push_back(c.field);
    causes.push_back({{"reason", "FieldManagerConflict"},
                      {"message", "conflict with " + c.owner},
                      {"field", c.field}});
  }
  std::string text;
  for (const auto& [owner, fields] : by_owner) {
    if (!text.empty()) text += "\n";
    if (fields.size() == 1) {
      text += "conflict with " + owner + ": " + fields[0];
      continue;
    }
    text += "conflicts with " + owner + ":";
    for (const std::string& f : fields) text += "\n- " + f;
  }
  ApiError e;
  e.code = 409;
  e.reason = "Conflict";
  e.message = "Apply failed with " + std::to_string(conflicts.size()) +
              (conflicts.size() == 1 ? " conflict: " : " conflicts: ") + text;
  e.details = {{"causes", causes}};
  Fail(std::move(e));
}

Json EmptyObject(const Resource& r) {
  Json empty = {
      {"kind", r.type.kind}, {"apiVersion", r.type.api_version}, {"metadata", Json::object()}};
  if (r.kind->decode) (void)r.kind->decode(empty, nullptr);
  return empty;
}

Answer HandleApply(const State& state, Request& request) {
  const Resource& r = *request.resource;
  WriteOptions options = ReadWriteOptions(request, "PatchOptions");
  if (!options.manager_given) {
    Fail(Invalid("meta.k8s.io", "PatchOptions", "",
                 {Required("fieldManager", "is required for apply patch")}));
  }
  options.apply = true;
  options.warn = false;
  const FieldShapes shapes = ShapesOf(*r.kind);
  const Json configuration = ReadConfiguration(request, r, shapes);
  const FieldManager manager{options.manager, r.type.api_version, request.info.subresource,
                             request.info.now};
  const std::string key = Store::Key(request.info.ns, request.info.name);
  if (!state.store->Get(*r.table, key) && request.info.subresource.empty()) {
    Json fresh = configuration;
    DecodePatched(request, r, options, "", &fresh);
    fresh["metadata"]["managedFields"] = FirstApply(configuration, manager, shapes);
    return ObjectAnswer(state, request, 201, r,
                        CreateObject(state, request, r, options, std::move(fresh)));
  }
  const Json empty = EmptyObject(r);
  const bool force = request.query.Flag("force");
  const std::string given_version = TextAt(configuration, {"metadata", "resourceVersion"});
  Change change;
  change.patch = true;
  change.make = [&](const Json& current) {
    const auto apply = [&](bool forced) {
      return ApplyConfiguration(
          current, configuration, empty, forced, manager, shapes,
          [&](Json* object) { DecodePatched(request, r, options, "", object); });
    };
    Applied applied = apply(force);
    if (!applied.conflicts.empty() &&
        MayTakeOver(options.manager, current, applied.conflicts, shapes)) {
      applied = apply(true);
    }
    if (!applied.conflicts.empty()) FailConflicts(applied.conflicts);
    UpdateLastApplied(options.manager, configuration, &applied.object);
    if (!given_version.empty()) applied.object["metadata"]["resourceVersion"] = given_version;
    return std::move(applied.object);
  };
  return ObjectAnswer(state, request, 200, r, UpdateObject(state, request, r, options, change));
}

}  // namespace kcm::devcluster
