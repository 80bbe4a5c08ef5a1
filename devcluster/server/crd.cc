// SPDX-License-Identifier: Apache-2.0
// Custom resources (crd.h).
#include "devcluster/server/crd.h"

#include <set>
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
    if (v.value("served", false)) kinds.push_back(MakeCustomKind(*state_->kinds, crd, v));
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

void CustomKinds::ServeStored() {
  const ResourcePtr crds = state_->resources->Find(kCrds);
  if (!crds) return;
  for (const ObjectPtr& crd : state_->store->List(*crds->table, "", "", 0).items)
    Serve(std::string(crd->Name()));
  std::set<std::string> known;
  for (const auto& [gvr, r] : state_->resources->Current()->by_gvr)
    known.insert((r->kind->storage_version.empty() ? gvr.group : r->kind->storage_group) + "/" +
                 gvr.resource);
  for (const std::string& table : state_->store->NamesInUse()) {
    const size_t slash = table.find('/');
    // A built-in resource that this build does not have is not ours to remove.
    const std::string_view group = std::string_view(table).substr(0, slash);
    if (known.contains(table) || group.find('.') == std::string_view::npos ||
        group.ends_with(".k8s.io"))
      continue;
    const std::string crd = table.substr(slash + 1) + "." + table.substr(0, slash);
    if (!state_->store->Get(*crds->table, crd)) Drop(crd);
  }
  groups_.ServeStored();
}

void CustomKinds::Drop(const std::string& name) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return;
  Store::Table* table = state_->store->FindTable(name.substr(dot + 1) + "/" + name.substr(0, dot));
  if (table != nullptr) state_->store->RemoveAll(*table);
  state_->resources->SetCustom(name, {});
}

}  // namespace kcm::devcluster
