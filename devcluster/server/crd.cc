// SPDX-License-Identifier: Apache-2.0
// Custom resources (crd.h).
#include "devcluster/server/crd.h"

#include <vector>

#include "devcluster/server/convert.h"
#include "devcluster/server/custom_kind.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

const Gvr kCrds{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};

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
    if (v.value("served", false)) kinds.push_back(MakeCustomKind(crd, v));
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
