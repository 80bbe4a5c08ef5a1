// SPDX-License-Identifier: Apache-2.0
// Custom resources (crd.h).
#include "devcluster/server/crd.h"

#include <vector>

#include "devcluster/server/convert.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

const Gvr kCrds{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};

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
void PrepareCreate(Json& object, bool has_status) {
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

std::shared_ptr<ResourceKind> MakeKind(const Json& crd, const Json& version) {
  auto k = std::make_shared<ResourceKind>();
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
  k->custom = true;
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
  k->prepare_create = [has_status](Json& o, const RequestInfo&) { PrepareCreate(o, has_status); };
  k->prepare_update = [has_status](Json& o, const Json& old, const RequestInfo& info) {
    PrepareUpdate(o, old, info, has_status);
  };
  const std::string kind = k->kind;
  k->validate = [](const Json& o, const RequestInfo&) {
    std::vector<FieldError> errors;
    if (TextAt(o, {"metadata", "name"}).empty()) {
      errors.push_back(Required("metadata.name", "name or generateName is required"));
    }
    return errors;
  };
  k->validate_update = [](const Json& o, const Json& old, const RequestInfo&) {
    std::vector<FieldError> errors;
    if (TextAt(o, {"metadata", "uid"}) != TextAt(old, {"metadata", "uid"})) {
      errors.push_back(InvalidValue("metadata.uid", GoQuote(TextAt(o, {"metadata", "uid"})),
                                    "field is immutable"));
    }
    return errors;
  };
  return k;
}

Json Condition(const char* type, const char* reason, const char* message, const std::string& now) {
  return {{"type", type},
          {"status", "True"},
          {"reason", reason},
          {"message", message},
          {"lastTransitionTime", now}};
}

}  // namespace

void CustomKinds::Serve(const std::string& name) {
  const ResourcePtr crds = state_->resources->Find(kCrds);
  if (!crds) return;
  const ObjectPtr stored = state_->store->Get(*crds->table, name);
  if (!stored) return;
  const Json crd = Editable(*stored, crds->stored_type);
  const Json* versions = Find(crd, {"spec", "versions"});
  if (versions == nullptr || !versions->is_array()) return;
  std::vector<std::shared_ptr<const ResourceKind>> kinds;
  Json stored_versions = Json::array();
  for (const Json& v : *versions) {
    if (v.value("storage", false)) stored_versions.push_back(TextAt(v, {"name"}));
    if (v.value("served", false)) kinds.push_back(MakeKind(crd, v));
  }
  state_->resources->SetCustom(name, std::move(kinds));
  const std::string now = FormatSeconds(state_->clock->Now());
  EditStored(*state_, *crds, name, false, [&](Json& object) {
    Json& status = object["status"];
    if (!status.is_object()) status = Json::object();
    const Json* conditions = Find(status, {"conditions"});
    if (conditions != nullptr && conditions->is_array() && !conditions->empty()) return false;
    status["conditions"] =
        Json::array({Condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
                     Condition("Established", "InitialNamesAccepted",
                               "the initial names have been accepted", now)});
    status["acceptedNames"] = object["spec"]["names"];
    status["storedVersions"] = stored_versions;
    return true;
  });
}

void CustomKinds::Drop(const std::string& name) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return;
  Store::Table* table = state_->store->OpenTable(name.substr(dot + 1) + "/" + name.substr(0, dot));
  const std::shared_ptr<const ResourceSet> set = state_->resources->Current();
  for (const auto& [gvr, r] : set->by_gvr) {
    if (r->table != table) continue;
    for (const ObjectPtr& object : state_->store->List(*table, "", "", 0).items) {
      const Json json = Editable(*object, r->stored_type);
      state_->store->Remove(*table, object->Key(), object,
                            [&](uint64_t rv) { return ToFlat(json, rv); });
    }
    break;
  }
  state_->resources->SetCustom(name, {});
}

}  // namespace kcm::devcluster
