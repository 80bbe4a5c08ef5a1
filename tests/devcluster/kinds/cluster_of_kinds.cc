// SPDX-License-Identifier: Apache-2.0
// Writes through the kinds.
#include "devcluster/kinds/cluster_of_kinds.h"

#include <algorithm>
#include <cstdio>

#include "devcluster/kinds/fields.h"

namespace kcm::devcluster::kinds {

ClusterOfKinds::ClusterOfKinds() : registry_(MakeKindRegistry()) {
  user.name = "admin";
  user.groups = {"system:masters", "system:authenticated"};
  user.extra["authentication.kubernetes.io/credential-id"] = Json::array({"X509SHA256=1"});
  for (KindRegistry::Seed& seed : registry_->Seeds()) {
    seed.object["metadata"]["uid"] = NewUid();
    seed.object["metadata"]["resourceVersion"] = std::to_string(++revision_);
    seed.object["metadata"]["creationTimestamp"] = now;
    const ResourceKind* kind = Kind(seed.gvr);
    const std::string key = seed.object["metadata"].value("namespace", "") + "/" +
                            seed.object["metadata"].value("name", "");
    if (kind != nullptr) Store(*kind)[key] = Stored(*kind, seed.object);
  }
}

const ResourceKind* ClusterOfKinds::Kind(const Gvr& gvr) const {
  for (const auto& kind : registry_->BuiltIn()) {
    if (kind->gvr == gvr) return kind.get();
  }
  return nullptr;
}

std::map<std::string, Json>& ClusterOfKinds::Store(const ResourceKind& kind) const {
  return objects_[kind.storage_group + "/" + kind.gvr.resource];
}

std::string ClusterOfKinds::NewUid() {
  char text[40];
  std::snprintf(text, sizeof text, "00000000-0000-4000-8000-%012llx",
                static_cast<unsigned long long>(++revision_));
  return text;
}

RequestInfo ClusterOfKinds::Info(Operation operation, const std::string& ns,
                                 const std::string& name,
                                 std::vector<std::string>* warnings) const {
  RequestInfo info;
  info.operation = operation;
  info.ns = ns;
  info.name = name;
  info.user = user;
  info.now = now;
  info.warnings = warnings;
  info.reader = this;
  return info;
}

Json ClusterOfKinds::Stored(const ResourceKind& kind, Json object) const {
  if (kind.canonicalise) kind.canonicalise(object);
  return kind.to_storage ? kind.to_storage(object) : object;
}

Json ClusterOfKinds::InVersion(const ResourceKind& kind, const Json& stored) const {
  Json out = kind.from_storage ? kind.from_storage(stored) : stored;
  if (kind.canonicalise) kind.canonicalise(out);
  out["kind"] = kind.kind;
  out["apiVersion"] =
      kind.gvr.group.empty() ? kind.gvr.version : kind.gvr.group + "/" + kind.gvr.version;
  return out;
}

std::optional<Json> ClusterOfKinds::Get(const Gvr& gvr, std::string_view ns,
                                        std::string_view name) const {
  const ResourceKind* kind = Kind(gvr);
  if (kind == nullptr) return std::nullopt;
  const auto& store = Store(*kind);
  const auto it = store.find(std::string(ns) + "/" + std::string(name));
  return it == store.end() ? std::nullopt : std::optional<Json>(InVersion(*kind, it->second));
}

std::vector<Json> ClusterOfKinds::List(const Gvr& gvr, std::string_view ns) const {
  std::vector<Json> out;
  const ResourceKind* kind = Kind(gvr);
  if (kind == nullptr) return out;
  for (const auto& [key, object] : Store(*kind)) {
    if (ns.empty() || key.starts_with(std::string(ns) + "/"))
      out.push_back(InVersion(*kind, object));
  }
  return out;
}

ClusterOfKinds::Outcome ClusterOfKinds::Refused(const ApiError& error,
                                                std::vector<std::string> warnings) const {
  return {error.code, ToStatus(error), std::move(warnings)};
}

void ClusterOfKinds::Apply(const std::vector<SideWrite>& writes) {
  for (const SideWrite& w : writes) {
    Json object = w.object;
    object["metadata"]["resourceVersion"] = std::to_string(++revision_);
    const std::string key =
        object["metadata"].value("namespace", "") + "/" + object["metadata"].value("name", "");
    Store(*Kind(w.gvr))[key] = object;
  }
}

ClusterOfKinds::Outcome ClusterOfKinds::Create(const Gvr& gvr, const std::string& ns, Json object,
                                               bool dry_run) {
  const ResourceKind& kind = *Kind(gvr);
  Outcome out;
  if (const auto error = kind.decode(object, nullptr)) {
    return Refused(BadRequest(kind.kind + " in version \"" + gvr.version +
                              "\" cannot be handled as a " + kind.kind + ": " + *error),
                   {});
  }
  Json& metadata = object["metadata"];
  if (kind.namespaced) metadata["namespace"] = ns;
  std::string name = metadata.value("name", "");
  const std::string prefix = metadata.value("generateName", "");
  if (name.empty() && !prefix.empty()) metadata["name"] = name = prefix.substr(0, 58) + "xxxxx";
  RequestInfo info = Info(Operation::kCreate, ns, name, &out.warnings);
  info.dry_run = dry_run;
  std::vector<SideWrite> writes;
  info.side_writes = &writes;
  if (kind.set_defaults) kind.set_defaults(object);
  if (const auto error = registry_->Admit(kind, object, nullptr, info))
    return Refused(*error, out.warnings);
  if (kind.set_defaults) kind.set_defaults(object);
  for (const char* member : {"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"})
    object["metadata"].erase(member);
  object["metadata"]["uid"] = NewUid();
  object["metadata"]["creationTimestamp"] = now;
  if (kind.prepare_create) kind.prepare_create(object, info);
  if (const auto errors = kind.validate(object, info); !errors.empty()) {
    return Refused(Invalid(kind.storage_group, kind.kind, name, errors), out.warnings);
  }
  if (const auto error = registry_->AdmitFinal(kind, object, nullptr, info))
    return Refused(*error, out.warnings);
  if (dry_run) {
    out.status = 201;
    out.body = InVersion(kind, Stored(kind, object));
    return out;
  }
  Apply(writes);
  object["metadata"]["resourceVersion"] = std::to_string(++revision_);
  auto [it, fresh] = Store(kind).emplace(ns + "/" + name, Stored(kind, object));
  if (!fresh) {
    ApiError error = AlreadyExists(gvr, name);
    if (it->second["metadata"].contains("deletionTimestamp"))
      error.message = "object is being deleted: " + error.message;
    return Refused(error, out.warnings);
  }
  out.status = 201;
  out.body = InVersion(kind, it->second);
  return out;
}

// Just enough merging for the recordings: no directives.
Json ClusterOfKinds::Merged(const ResourceKind& kind, const Json& current, const Json& patch,
                            const std::string& path, bool strategic) const {
  if (patch.is_array() && strategic && current.is_array()) {
    const std::string key = registry_->MergeKey(kind.gvr, path).key;
    if (key.empty() || key == "$set") return patch;
    Json out = current;
    for (const Json& item : patch) {
      const auto it = std::find_if(out.begin(), out.end(), [&](const Json& o) {
        return o.value(key, Json()) == item.value(key, Json());
      });
      if (it == out.end())
        out.insert(out.begin(), item);
      else
        *it = Merged(kind, *it, item, path, true);
    }
    return out;
  }
  if (!patch.is_object()) return patch;
  Json out = current.is_object() ? current : Json::object();
  for (const auto& [name, value] : patch.items()) {
    if (value.is_null())
      out.erase(name);
    else
      out[name] = Merged(kind, out.value(name, Json()), value,
                         path.empty() ? name : path + "." + name, strategic);
  }
  return out;
}

ClusterOfKinds::Outcome ClusterOfKinds::Update(const Gvr& gvr, const std::string& ns,
                                               const std::string& name,
                                               const std::string& subresource, const Json& body,
                                               PatchType type) {
  const ResourceKind& kind = *Kind(gvr);
  Outcome out;
  const std::string key = ns + "/" + name;
  const auto it = Store(kind).find(key);
  if (it == Store(kind).end()) return Refused(NotFound(gvr, name), {});
  const Json current = InVersion(kind, it->second);
  Json next = type == PatchType::kPut
                  ? body
                  : Merged(kind, current, body, "", type == PatchType::kStrategic);
  if (const auto error = kind.decode(next, nullptr)) return Refused(BadRequest(*error), {});
  if (next["metadata"].value("name", name) != name) {
    return Refused(BadRequest("the name of the object (" + next["metadata"].value("name", "") +
                              ") does not match the name on the URL (" + name + ")"),
                   {});
  }
  if (kind.namespaced && next["metadata"].value("namespace", ns) != ns) {
    return Refused(BadRequest("the namespace of the provided object does not match the namespace "
                              "sent on the request"),
                   {});
  }
  Json& metadata = next["metadata"];
  if (kind.namespaced) metadata["namespace"] = ns;
  for (const char* member : {"creationTimestamp", "generation", "resourceVersion"}) {
    if (current["metadata"].contains(member))
      metadata[member] = current["metadata"][member];
    else
      metadata.erase(member);
  }
  for (const char* member : {"deletionTimestamp", "deletionGracePeriodSeconds"}) {
    if (current["metadata"].contains(member)) metadata[member] = current["metadata"][member];
  }
  if (!metadata.contains("uid")) metadata["uid"] = current["metadata"]["uid"];
  RequestInfo info = Info(Operation::kUpdate, ns, name, &out.warnings);
  info.subresource = subresource;
  if (kind.set_defaults) kind.set_defaults(next);
  if (const auto error = registry_->Admit(kind, next, &current, info))
    return Refused(*error, out.warnings);
  if (kind.set_defaults) kind.set_defaults(next);
  kind.prepare_update(next, current, info);
  if (const auto errors = kind.validate_update(next, current, info); !errors.empty()) {
    return Refused(Invalid(kind.storage_group, kind.kind, name, errors), out.warnings);
  }
  if (const auto error = registry_->AdmitFinal(kind, next, &current, info))
    return Refused(*error, out.warnings);
  Json stored = Stored(kind, next);
  Json before = it->second;
  for (const char* member : {"kind", "apiVersion"}) {
    stored.erase(member);
    before.erase(member);
  }
  if (stored != before) {
    stored["metadata"]["resourceVersion"] = std::to_string(++revision_);
    it->second = stored;
  }
  out.status = 200;
  out.body = InVersion(kind, it->second);
  const bool over = gvr.resource == "namespaces" && Items(stored, "spec.finalizers").empty() &&
                    stored["metadata"].contains("deletionTimestamp");
  if (over) Store(kind).erase(it);
  return out;
}

ClusterOfKinds::Outcome ClusterOfKinds::Delete(const Gvr& gvr, const std::string& ns,
                                               const std::string& name) {
  const ResourceKind& kind = *Kind(gvr);
  const auto it = Store(kind).find(ns + "/" + name);
  if (it == Store(kind).end()) return Refused(NotFound(gvr, name), {});
  Json object = it->second;
  std::vector<std::string> warnings;
  if (const auto error = registry_->Admit(kind, object, &it->second,
                                          Info(Operation::kDelete, ns, name, &warnings))) {
    return Refused(*error, {});
  }
  ++revision_;
  if (gvr.resource == "pods" && it->second["spec"].contains("nodeName")) {
    it->second["metadata"]["deletionTimestamp"] = now;  // its kubelet would finish it
    return {200, Json(), {}};
  }
  if (gvr.resource == "namespaces" && !Items(it->second, "spec.finalizers").empty()) {
    it->second["metadata"]["deletionTimestamp"] = now;  // its controller would finish it
    it->second["status"]["phase"] = "Terminating";
    return {200, Json(), {}};
  }
  Store(kind).erase(it);
  return {200, Json(), {}};
}

}  // namespace kcm::devcluster::kinds
