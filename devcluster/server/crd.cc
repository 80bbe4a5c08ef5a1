// SPDX-License-Identifier: Apache-2.0
// Custom resources (crd.h).
#include "devcluster/server/crd.h"

#include <set>
#include <vector>

#include "devcluster/api/api_error.h"
#include "devcluster/server/convert.h"
#include "devcluster/server/custom_kind.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

const Gvr kCrds{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};

// APIServices of the groups of CRDs.
constexpr const char* kAutomanaged = "kube-aggregator.kubernetes.io/automanaged";
constexpr int kGroupPriority = 1000;
constexpr int kVersionPriority = 100;

Json Condition(const char* type, bool is, const std::string& reason, const std::string& message,
               const std::string& now) {
  return {{"type", type},
          {"status", is ? "True" : "False"},
          {"reason", reason},
          {"message", message},
          {"lastTransitionTime", now}};
}

const Json* FindCondition(const Json& crd, std::string_view type) {
  const Json* conditions = Find(crd, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  for (const Json& c : *conditions) {
    if (TextAt(c, {"type"}) == type) return &c;
  }
  return nullptr;
}

bool Is(const Json& crd, std::string_view type) {
  const Json* c = FindCondition(crd, type);
  return c != nullptr && TextAt(*c, {"status"}) == "True";
}

// Keeps the time of a condition whose status does not move.
void PutCondition(Json* crd, Json condition) {
  Json& conditions = (*crd)["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (Json& c : conditions) {
    if (TextAt(c, {"type"}) != TextAt(condition, {"type"})) continue;
    if (TextAt(c, {"status"}) == TextAt(condition, {"status"}))
      condition["lastTransitionTime"] = c["lastTransitionTime"];
    c = std::move(condition);
    return;
  }
  conditions.push_back(std::move(condition));
}

bool Terminating(const Json& crd) {
  return !TextAt(crd, {"metadata", "deletionTimestamp"}).empty();
}

// Names that other CRDs of the group have.
struct TakenNames {
  std::set<std::string> resources, kinds;
};

TakenNames NamesOfOthers(const std::vector<Json>& crds, const Json& crd) {
  TakenNames taken;
  for (const Json& other : crds) {
    if (TextAt(other, {"spec", "group"}) != TextAt(crd, {"spec", "group"}) ||
        TextAt(other, {"metadata", "name"}) == TextAt(crd, {"metadata", "name"}))
      continue;
    for (const char* member : {"plural", "singular"})
      taken.resources.insert(TextAt(other, {"status", "acceptedNames", member}));
    const Json* short_names = Find(other, {"status", "acceptedNames", "shortNames"});
    if (short_names != nullptr && short_names->is_array()) {
      for (const Json& n : *short_names) {
        if (n.is_string()) taken.resources.insert(n.get<std::string>());
      }
    }
    for (const char* member : {"kind", "listKind"})
      taken.kinds.insert(TextAt(other, {"status", "acceptedNames", member}));
  }
  taken.resources.erase("");
  taken.kinds.erase("");
  return taken;
}

// Takes over the wanted names that are free; the condition tells of the last that is not.
void AcceptNames(const TakenNames& taken, const std::string& now, Json* crd) {
  const Json wanted = (*crd)["spec"]["names"];
  const Json* had = Find(*crd, {"status", "acceptedNames"});
  Json accepted = had != nullptr && had->is_object() ? *had : Json::object();
  std::string reason = "NoConflicts", message = "no conflicts found";
  const auto is_free = [&](const std::set<std::string>& names, const std::string& name,
                           const char* conflict) {
    if (!names.contains(name)) return true;
    reason = conflict;
    message = GoQuote(name) + " is already in use";
    return false;
  };
  const auto take = [&](const std::set<std::string>& names, const char* member,
                        const char* conflict) {
    const std::string name = TextAt(wanted, {member});
    if (name != TextAt(accepted, {member}) && !is_free(names, name, conflict)) return;
    accepted[member] = name;
  };
  take(taken.resources, "plural", "PluralConflict");
  take(taken.resources, "singular", "SingularConflict");
  bool all_free = true;
  const Json short_names = wanted.value("shortNames", Json::array());
  for (const Json& n : short_names) {
    if (n.is_string() && !is_free(taken.resources, n.get<std::string>(), "ShortNamesConflict"))
      all_free = false;
  }
  if (all_free) accepted["shortNames"] = short_names;
  take(taken.kinds, "kind", "KindConflict");
  take(taken.kinds, "listKind", "ListKindConflict");
  accepted["categories"] = wanted.value("categories", Json::array());
  for (const char* member : {"shortNames", "categories", "singular", "listKind"}) {
    if (accepted.contains(member) && accepted[member].empty()) accepted.erase(member);
    if (TextAt(accepted, {member}).empty() && accepted.contains(member) &&
        accepted[member].is_string())
      accepted.erase(member);
  }
  for (const char* member : {"plural", "kind"}) {
    if (!accepted.contains(member)) accepted[member] = "";
  }
  (*crd)["status"]["acceptedNames"] = std::move(accepted);
  const bool good = reason == "NoConflicts";
  PutCondition(crd, Condition("NamesAccepted", good, reason, message, now));
  if (Is(*crd, "Established")) return;  // for good
  PutCondition(crd, good ? Condition("Established", true, "InitialNamesAccepted",
                                     "the initial names have been accepted", now)
                         : Condition("Established", false, "NotAccepted",
                                     "not all names are accepted", now));
}

std::string GroupOf(const std::string& crd) {
  const size_t dot = crd.find('.');
  return dot == std::string::npos ? "" : crd.substr(dot + 1);
}

Store::Table* TableOf(Store* store, const std::string& crd) {
  return store->FindTable(GroupOf(crd) + "/" + crd.substr(0, crd.find('.')));
}

host::wire::TypeMeta StoredType(const Json& crd) {
  std::string version;
  for (const Json& v : crd["spec"]["versions"]) {
    if (v.value("storage", false)) version = TextAt(v, {"name"});
  }
  return {GroupVersion(TextAt(crd, {"spec", "group"}), version),
          TextAt(crd, {"status", "acceptedNames", "kind"})};
}

}  // namespace

void CustomKinds::Serve(const std::string& name) {
  const ResourcePtr crds = state_->resources->Find(kCrds);
  if (!crds) return;
  {
    const std::lock_guard lock(names_mutex_);
    const ObjectPtr stored = state_->store->Get(*crds->table, name);
    if (!stored) return;
    const TakenNames taken =
        NamesOfOthers(state_->reader->List(kCrds, ""), Editable(*stored, crds->stored_type));
    const std::string now = FormatSeconds(state_->clock->Now());
    Json crd = Editable(*stored, crds->stored_type);
    AcceptNames(taken, now, &crd);
    std::vector<std::shared_ptr<const ResourceKind>> kinds;
    if (Is(crd, "Established")) {
      Json served = crd;
      served["spec"]["names"] = crd["status"]["acceptedNames"];
      for (const Json& v : served["spec"]["versions"]) {
        if (v.value("served", false)) kinds.push_back(MakeCustomKind(*state_->kinds, served, v));
      }
    }
    state_->resources->SetCustom(name, std::move(kinds));
    EditStored(*state_, *crds, name, false, [&](Json& object) {
      const Json before = object;
      AcceptNames(taken, now, &object);
      return object != before;
    });
  }
  RegisterGroup(GroupOf(name));
}

void CustomKinds::ServeWaiting(const std::string& group) {
  for (const Json& crd : state_->reader->List(kCrds, "")) {
    if (TextAt(crd, {"spec", "group"}) != group || Is(crd, "NamesAccepted")) continue;
    try {
      Serve(TextAt(crd, {"metadata", "name"}));
    } catch (const Failure&) {
      // Removed meanwhile.
    }
  }
}

void CustomKinds::RegisterGroup(const std::string& group) {
  const ResourcePtr r = state_->resources->Find(Gvr{"apiregistration.k8s.io", "v1", "apiservices"});
  if (!r) return;
  const auto own = [&](const Json& object) {
    return TextAt(object, {"metadata", "labels", kAutomanaged}) == "true" &&
           TextAt(object, {"spec", "group"}) == group;
  };
  const auto served = state_->resources->Current();
  for (const Json& object : state_->reader->List(r->gvr(), "")) {
    if (!own(object) || served->Version(group, TextAt(object, {"spec", "version"})) != nullptr)
      continue;
    const std::string name = TextAt(object, {"metadata", "name"});
    if (const ObjectPtr stored = state_->store->Get(*r->table, name))
      state_->store->Remove(*r->table, name, stored,
                            [&](uint64_t rv) { return ToFlat(object, rv); });
  }
  for (const GroupVersionResources& v : served->versions) {
    if (v.group != group) continue;
    const std::string name = v.version + "." + group, now = FormatSeconds(state_->clock->Now());
    if (state_->store->Get(*r->table, name)) continue;
    Json object = {{"kind", r->stored_type.kind},
                   {"apiVersion", r->stored_type.api_version},
                   {"metadata",
                    {{"name", name},
                     {"uid", NewUid()},
                     {"creationTimestamp", now},
                     {"labels", {{kAutomanaged, "true"}}}}},
                   {"spec",
                    {{"group", group},
                     {"version", v.version},
                     {"groupPriorityMinimum", kGroupPriority},
                     {"versionPriority", kVersionPriority}}}};
    object["status"]["conditions"] = Json::array(
        {Condition("Available", true, "Local", "Local APIServices are always available", now)});
    state_->store->Put(*r->table, name, ObjectPtr(),
                       [&](uint64_t rv) { return ToFlat(object, rv); });
  }
}

void CustomKinds::ServeStored() {
  const ResourcePtr crds = state_->resources->Find(kCrds);
  if (!crds) return;
  for (const ObjectPtr& crd : state_->store->List(*crds->table, "", "", 0).items)
    Serve(std::string(crd->Name()));
  for (const ObjectPtr& crd : state_->store->List(*crds->table, "", "", 0).items)
    CleanUp(std::string(crd->Name()));
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
  if (GroupOf(name).empty()) return;
  if (Store::Table* table = TableOf(state_->store, name)) state_->store->RemoveAll(*table);
  state_->resources->SetCustom(name, {});
  RegisterGroup(GroupOf(name));
  ServeWaiting(GroupOf(name));
}

bool CustomKinds::HasObjects(const std::string& name) const {
  const Store::Table* table = TableOf(state_->store, name);
  return table != nullptr && state_->store->Count(*table) > 0;
}

void CustomKinds::CleanUp(const std::string& name) {
  const ResourcePtr crds = state_->resources->Find(kCrds);
  Store::Table* table = TableOf(state_->store, name);
  const std::optional<Json> crd = crds ? state_->reader->Get(kCrds, "", name) : std::nullopt;
  if (!crd || !Terminating(*crd) || table == nullptr) return;
  const std::string now = FormatSeconds(state_->clock->Now());
  const host::wire::TypeMeta type = StoredType(*crd);
  for (const ObjectPtr& object : state_->store->List(*table, "", "", 0).items) {
    const std::string key = Store::Key(object->Namespace(), object->Name());
    Json next = Editable(*object, type);
    if (Terminating(next)) continue;
    next["metadata"]["deletionTimestamp"] = now;
    next["metadata"]["deletionGracePeriodSeconds"] = 0;
    Json& generation = next["metadata"]["generation"];
    generation = (generation.is_number_integer() ? generation.get<int64_t>() : 0) + 1;
    const auto build = [&](uint64_t rv) { return ToFlat(next, rv); };
    if (MayVanish(next)) {
      state_->store->Remove(*table, key, object, build);
    } else {
      state_->store->Put(*table, key, object, build);
    }
  }
  if (HasObjects(name)) return;
  try {
    EditStored(*state_, *crds, name, false, [&](Json& object) {
      Json& finalizers = object["metadata"]["finalizers"];
      if (finalizers.is_array()) std::erase(finalizers.get_ref<Json::array_t&>(), Json(kCleanup));
      if (finalizers.empty()) object["metadata"].erase("finalizers");
      PutCondition(&object, Condition("Terminating", false, "InstanceDeletionCompleted",
                                      "removed all instances", now));
      return true;
    });
  } catch (const Failure&) {
    return;  // someone else removed it
  }
  const ObjectPtr last = state_->store->Get(*crds->table, name);
  if (!last) return;
  const Json object = Editable(*last, crds->stored_type);
  if (MayVanish(object) && state_->store->Remove(*crds->table, name, last,
                                                 [&](uint64_t rv) { return ToFlat(object, rv); }))
    Drop(name);
}

}  // namespace kcm::devcluster
