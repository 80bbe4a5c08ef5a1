// SPDX-License-Identifier: Apache-2.0
// What a version of a CustomResourceDefinition makes of its kind (custom_kind.h).
#include "devcluster/server/custom_kind.h"

#include <map>
#include <sstream>

#include "devcluster/api/api_error.h"
#include "devcluster/kinds/json_path.h"
#include "devcluster/kinds/metadata.h"
#include "devcluster/kinds/times.h"
#include "devcluster/server/convert.h"

namespace kcm::devcluster {
namespace {

// Verbs that the resource does not offer, blank separated: stands for what aggregated API servers
// often lack.
constexpr const char* kWithoutVerbs = "sim/without-verbs";

std::vector<std::string> Words(const Json* list) {
  std::vector<std::string> out;
  if (list == nullptr || !list->is_array()) return out;
  for (const Json& w : *list) {
    if (w.is_string()) out.push_back(w);
  }
  return out;
}

// Strategy of custom objects: status is kept apart when the CRD says so; generation moves with
// everything but metadata and status.
void PrepareCreate(Json& object, const RequestInfo& info, bool has_status) {
  kinds::DeduplicateOwners(object, info);
  if (has_status) object.erase("status");
  object["metadata"]["generation"] = 1;
}

Json WithoutMetadata(Json object, bool has_status) {
  object.erase("metadata");
  if (has_status) object.erase("status");
  return object;
}

void PrepareUpdate(Json& object, const Json& old, const RequestInfo& info, bool has_status) {
  const auto keep = [&](Json* into, const Json& from, const char* name) {
    const auto it = from.find(name);
    if (it == from.end()) {
      into->erase(name);
    } else {
      (*into)[name] = *it;
    }
  };
  kinds::DeduplicateOwners(object, info);
  if (info.subresource == "status") {
    Json next = old;
    keep(&next, object, "status");
    next["metadata"]["managedFields"] = object["metadata"].value("managedFields", Json());
    if (next["metadata"]["managedFields"].is_null()) next["metadata"].erase("managedFields");
    object = std::move(next);
    return;
  }
  if (has_status) keep(&object, old, "status");
  if (WithoutMetadata(object, has_status) != WithoutMetadata(old, has_status)) {
    const Json* generation = Find(old, {"metadata", "generation"});
    object["metadata"]["generation"] = generation != nullptr && generation->is_number_integer()
                                           ? generation->get<int64_t>() + 1
                                           : 1;
  }
}

Json Cell(const Json& object, const kinds::JsonPath& path, const std::string& type,
          std::string_view now) {
  const std::vector<const Json*> found = path.Find(object);
  if (type == "date") {
    if (found.empty() || !found[0]->is_string()) return "<unknown>";
    return kinds::Age(found[0]->get_ref<const std::string&>(), now);
  }
  if (found.empty()) return nullptr;
  const Json& value = *found[0];
  if (type == "string" && !value.is_string()) return Dump(value);
  return value;
}

using Decoder = std::function<std::optional<std::string>(Json&, std::vector<std::string>*)>;

// Metadata has the type that it has everywhere; the rest is what the schema says.
std::optional<std::string> DecodeCustom(Json& object, const kinds::CustomSchema* schema,
                                        const Decoder& metadata,
                                        std::vector<std::string>* unknown) {
  std::vector<std::string> strange;
  const auto it = object.find("metadata");
  if (it != object.end() && !it->is_null()) {
    if (std::optional<std::string> fault = metadata(*it, &strange)) return fault;
  }
  for (const std::string& name : strange) {
    if (unknown != nullptr) unknown->push_back("metadata." + name);
  }
  if (schema != nullptr) schema->Prune(object, unknown);
  return std::nullopt;
}

// The printer columns of a version; Age where it names none.
void SetColumns(const Json& version, ResourceKind* k) {
  k->columns.push_back({"Name", "string", "name", "Name must be unique within a namespace.", 0});
  std::vector<std::pair<kinds::JsonPath, std::string>> cells;
  const auto add = [&](const Json& c) {
    std::optional<kinds::JsonPath> path = kinds::JsonPath::Parse(TextAt(c, {"jsonPath"}));
    if (!path) return;
    k->columns.push_back({TextAt(c, {"name"}), TextAt(c, {"type"}), TextAt(c, {"format"}),
                          TextAt(c, {"description"}), c.value("priority", 0)});
    cells.emplace_back(std::move(*path), TextAt(c, {"type"}));
  };
  const Json* given = Find(version, {"additionalPrinterColumns"});
  if (given != nullptr && given->is_array() && !given->empty()) {
    for (const Json& c : *given) add(c);
  } else {
    add({{"name", "Age"},
         {"type", "date"},
         {"jsonPath", ".metadata.creationTimestamp"},
         {"description", "When the object was created."}});
  }
  k->table_cells = [cells = std::move(cells)](const Json& object, std::string_view now) {
    Json out = Json::array({TextAt(object, {"metadata", "name"})});
    for (const auto& [path, type] : cells) out.push_back(Cell(object, path, type, now));
    return out;
  };
}

// Field selectors beyond metadata. A path's selector key is the path without its leading dot.
void SetSelectableFields(const Json& version, ResourceKind* k) {
  const Json* given = Find(version, {"selectableFields"});
  if (given == nullptr || !given->is_array()) return;
  std::map<std::string, kinds::JsonPath, std::less<>> paths;
  for (const Json& field : *given) {
    const std::string text = TextAt(field, {"jsonPath"});
    std::optional<kinds::JsonPath> path = kinds::JsonPath::Parse(text);
    if (!path || text.size() < 2) continue;
    k->field_labels.push_back(text.substr(1));
    paths.emplace(text.substr(1), std::move(*path));
  }
  k->field_label = [paths = std::move(paths)](std::string_view key,
                                              const Json& object) -> std::optional<std::string> {
    const auto it = paths.find(key);
    if (it == paths.end()) return std::nullopt;
    const std::vector<const Json*> found = it->second.Find(object);
    if (found.empty()) return "";
    return found[0]->is_string() ? found[0]->get<std::string>() : Dump(*found[0]);
  };
}

}  // namespace

std::shared_ptr<ResourceKind> MakeCustomKind(const KindRegistry& registry, const Json& crd,
                                             const Json& version) {
  auto k = std::make_shared<CustomKind>();
  const Json& spec = crd["spec"];
  k->gvr = {TextAt(spec, {"group"}), TextAt(version, {"name"}), TextAt(spec, {"names", "plural"})};
  k->kind = TextAt(spec, {"names", "kind"});
  k->list_kind = TextAt(spec, {"names", "listKind"});
  if (k->list_kind.empty()) k->list_kind = k->kind + "List";
  k->singular = TextAt(spec, {"names", "singular"});
  if (k->singular.empty()) {
    for (const char c : k->kind)
      k->singular += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  k->namespaced = TextAt(spec, {"scope"}) == "Namespaced";
  k->short_names = Words(Find(spec, {"names", "shortNames"}));
  k->categories = Words(Find(spec, {"names", "categories"}));
  k->verbs = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  std::istringstream without(TextAt(crd, {"metadata", "annotations", kWithoutVerbs}));
  for (std::string verb; without >> verb;) std::erase(k->verbs, verb);
  k->custom = true;
  k->requires_resource_version = true;
  k->delete_returns_object = false;
  k->storage_group = k->gvr.group;
  k->storage_version = k->gvr.version;
  for (const Json& v : spec["versions"]) {
    if (v.value("storage", false)) k->storage_version = TextAt(v, {"name"});
  }
  const bool has_status = Find(version, {"subresources", "status"}) != nullptr;
  k->has_status = has_status;
  if (has_status) k->subresources.push_back({"status", {"get", "patch", "update"}, "", "", ""});
  if (Find(version, {"subresources", "scale"}) != nullptr) {
    k->subresources.push_back({"scale", {"get", "patch", "update"}, "autoscaling", "v1", "Scale"});
  }
  k->prepare_create = [has_status](Json& o, const RequestInfo& info) {
    PrepareCreate(o, info, has_status);
  };
  k->prepare_update = [has_status](Json& o, const Json& old, const RequestInfo& info) {
    PrepareUpdate(o, old, info, has_status);
  };
  std::shared_ptr<const kinds::CustomSchema> schema;
  if (const Json* given = Find(version, {"schema", "openAPIV3Schema"});
      given != nullptr && given->is_object()) {
    schema = std::make_shared<const kinds::CustomSchema>(*given);
    k->set_defaults = [schema](Json& object) { schema->SetDefaults(object); };
  }
  k->schema = schema;
  k->terminating = !TextAt(crd, {"metadata", "deletionTimestamp"}).empty();
  SetSelectableFields(version, k.get());
  k->decode = [schema, metadata = registry.DecoderOf("meta.v1.ObjectMeta")](
                  Json& object, std::vector<std::string>* unknown) {
    return DecodeCustom(object, schema.get(), metadata, unknown);
  };
  SetColumns(version, k.get());
  const KindRegistry* rules = &registry;
  k->validate = [schema, rules](const Json& o, const RequestInfo&) {
    std::vector<FieldError> errors = rules->ValidateMetadata(o, nullptr);
    if (schema) kinds::Append(errors, schema->Validate(o, nullptr));
    return errors;
  };
  k->validate_update = [schema, rules](const Json& o, const Json& old, const RequestInfo&) {
    std::vector<FieldError> errors = rules->ValidateMetadata(o, &old);
    if (schema) kinds::Append(errors, schema->Validate(o, &old));
    return errors;
  };
  return k;
}

}  // namespace kcm::devcluster
