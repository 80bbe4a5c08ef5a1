// SPDX-License-Identifier: Apache-2.0
// Create and update (spec/apiserver C1, C2).
#include <openssl/rand.h>

#include <algorithm>
#include <cstdio>

#include "devcluster/server/apply.h"
#include "devcluster/server/convert.h"
#include "devcluster/server/crd.h"
#include "devcluster/server/custom_kind.h"
#include "devcluster/server/managed_fields.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {

using host::wire::ObjectPtr;

namespace {

constexpr int kNameTries = 8;
constexpr size_t kMaxGeneratedBase = 58;

uint64_t Random64() {
  unsigned char bytes[8];
  RAND_bytes(bytes, sizeof bytes);
  uint64_t n = 0;
  for (const unsigned char b : bytes) n = n << 8 | b;
  return n;
}

void RunAdmission(const State& state, const Request& request, const Resource& r, Json* object,
                  const Json* old) {
  FailIf(state.kinds->Admit(*r.kind, *object, old, request.info));
  if (r.kind->set_defaults) r.kind->set_defaults(*object);
}

void RefuseInvalid(const Resource& r, const Json& object, const std::vector<FieldError>& errors) {
  if (errors.empty()) return;
  // Two groups of one store (events) share the strategy, whose errors name the store's group.
  const std::string& group =
      r.kind->storage_version.empty() ? r.gvr().group : r.kind->storage_group;
  Fail(Invalid(group, r.kind->kind, TextAt(object, {"metadata", "name"}), errors));
}

// Final admission and the writes that it asks for. True: a side write lost a race, repeat all.
bool RunFinalAdmission(const State& state, Request& request, const Resource& r, const Json& object,
                       const Json* old, bool dry_run) {
  std::vector<SideWrite> writes;
  request.info.side_writes = dry_run ? nullptr : &writes;
  const std::optional<ApiError> error = state.kinds->AdmitFinal(*r.kind, object, old, request.info);
  request.info.side_writes = nullptr;
  FailIf(error);
  for (const SideWrite& w : writes) {
    const ResourcePtr other = state.resources->Find(w.gvr);
    if (!other) continue;
    const std::string key = Store::Key(TextAt(w.object, {"metadata", "namespace"}),
                                       TextAt(w.object, {"metadata", "name"}));
    const ObjectPtr current = state.store->Get(*other->table, key);
    if (!current ||
        current->ResourceVersionText() != TextAt(w.object, {"metadata", "resourceVersion"}))
      return true;
    const Json& next = w.object;
    if (!state.store->Put(*other->table, key, current,
                          [&](uint64_t rv) { return ToFlat(next, rv); }))
      return true;
  }
  return false;
}

Json StoredForm(const Resource& r, Json object) {
  if (r.kind->canonicalise) r.kind->canonicalise(object);
  if (r.kind->to_storage) object = r.kind->to_storage(object);
  object["kind"] = r.stored_type.kind;
  object["apiVersion"] = r.stored_type.api_version;
  return object;
}

// Strategies of subresources start from the stored metadata; ownership is what the write made of
// it.
void SetOwners(const Json& owners, Json* metadata) {
  if (owners.is_array() && !owners.empty()) {
    (*metadata)["managedFields"] = owners;
  } else {
    metadata->erase("managedFields");
  }
}

FieldManager ManagerOf(const Request& request, const Resource& r, const WriteOptions& options,
                       const std::string& subresource) {
  return {options.manager, r.type.api_version,
          subresource.empty() ? request.info.subresource : subresource, request.info.now};
}

void FillServerMetadata(Json* metadata, const std::string& now) {
  for (const char* name : {"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"})
    metadata->erase(name);
  (*metadata)["uid"] = NewUid();
  (*metadata)["creationTimestamp"] = now;
}

}  // namespace

void SetNamespace(const Resource& r, const std::string& ns, Json* object) {
  Json& metadata = (*object)["metadata"];
  if (!r.kind->namespaced) {
    metadata.erase("namespace");
    return;
  }
  const std::string given = TextAt(*object, {"metadata", "namespace"});
  if (!given.empty() && given != ns) {
    Fail(BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request"));
  }
  metadata["namespace"] = ns;
}

ApiError StorePrecondition(const Gvr& gvr, const std::string& key, const std::string& name,
                           const std::string& what, const std::string& wanted,
                           const std::string& have) {
  return Conflict(gvr, name,
                  "StorageError: invalid object, Code: 4, Key: /registry/" +
                      (gvr.group.empty() ? "" : gvr.group + "/") + gvr.resource + "/" + key +
                      ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: " + what +
                      " in precondition: " + wanted + ", " + what + " in object meta: " + have);
}

std::string NewUid() {
  const uint64_t a = Random64(), b = Random64();
  char text[40];
  std::snprintf(text, sizeof text, "%08x-%04x-4%03x-%04x-%012llx", static_cast<unsigned>(a >> 32),
                static_cast<unsigned>(a >> 16 & 0xffff), static_cast<unsigned>(a & 0xfff),
                static_cast<unsigned>(0x8000 | (b >> 48 & 0x3fff)),
                static_cast<unsigned long long>(b & 0xffffffffffffULL));
  return text;
}

std::string NewNameSuffix() {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  uint64_t n = Random64();
  std::string out;
  for (int i = 0; i < 5; ++i, n /= kAlphabet.size()) out += kAlphabet[n % kAlphabet.size()];
  return out;
}

void RequireLiveNamespace(const State& state, const Resource& resource, const std::string& ns,
                          std::string_view name) {
  if (ns.empty()) return;
  const Gvr namespaces{"", "v1", "namespaces"};
  const ResourcePtr r = state.resources->Find(namespaces);
  if (!r) return;
  const ObjectPtr object = state.store->Get(*r->table, ns);
  if (!object) Fail(NotFound(namespaces, ns));
  if (!object->Root().Member("metadata").Member("deletionTimestamp").Has()) return;
  Fail(ForbiddenWithCause(
      resource.gvr(), name,
      "unable to create new content in namespace " + ns + " because it is being terminated",
      {"NamespaceTerminating", "metadata.namespace", "namespace " + ns + " is being terminated"}));
}

bool MayVanish(const Json& object) {
  const Json* deleted = Find(object, {"metadata", "deletionTimestamp"});
  if (deleted == nullptr || deleted->is_null()) return false;
  const Json* finalizers = Find(object, {"metadata", "finalizers"});
  if (finalizers != nullptr && finalizers->is_array() && !finalizers->empty()) return false;
  const Json* grace = Find(object, {"metadata", "deletionGracePeriodSeconds"});
  if (grace != nullptr && grace->is_number_integer() && grace->get<int64_t>() != 0) return false;
  // A namespace is held by its spec's finalizers too (spec G9).
  const Json* held =
      TextAt(object, {"kind"}) == "Namespace" ? Find(object, {"spec", "finalizers"}) : nullptr;
  return held == nullptr || !held->is_array() || held->empty();
}

void AfterWrite(const State& state, const Resource& resource, const std::string& name, bool gone) {
  if (state.custom == nullptr) return;
  if (resource.gvr().resource == "apiservices") {
    if (gone) {
      state.custom->groups().Drop(name);
    } else {
      state.custom->groups().Serve(name);
    }
    return;
  }
  if (resource.kind->custom) {
    const ResourcePtr now = state.resources->Find(resource.gvr());
    if (now && IsTerminating(*now->kind))
      state.custom->CleanUp(resource.gvr().resource + "." + resource.gvr().group);
    return;
  }
  if (resource.gvr() == Gvr{"", "v1", "services"})
    return state.custom->groups().ServiceChanged(name);
  if (resource.gvr().resource != "customresourcedefinitions") return;
  if (gone) {
    state.custom->Drop(name);
  } else {
    state.custom->Serve(name);
  }
}

namespace {

void RefuseTerminating(const Resource& r) {
  if (!IsTerminating(*r.kind)) return;
  ApiError e = MethodNotAllowed();
  e.message = "create not allowed while custom resource definition is terminating";
  Fail(std::move(e));
}

}  // namespace

ObjectPtr CreateObject(const State& state, Request& request, const Resource& r,
                       const WriteOptions& options, Json object) {
  RefuseTerminating(r);
  SetNamespace(r, request.info.ns, &object);
  const std::string base = TextAt(object, {"metadata", "generateName"});
  const std::string given = TextAt(object, {"metadata", "name"});
  request.info.operation = Operation::kCreate;
  request.info.name = given;
  request.info.dry_run = options.dry_run;
  if (r.kind->set_defaults) r.kind->set_defaults(object);
  if (r.kind->namespaced) RequireLiveNamespace(state, r, request.info.ns, given);
  const FieldShapes shapes = ShapesOf(*r.kind);
  const Json empty = options.apply ? Json() : EmptyObject(r);
  for (int attempt = 0;; ++attempt) {
    Json next = object;
    if (given.empty() && !base.empty()) {
      next["metadata"]["name"] = base.substr(0, kMaxGeneratedBase) + NewNameSuffix();
      request.info.name = next["metadata"]["name"];
    }
    RunAdmission(state, request, r, &next, nullptr);
    if (!options.apply) {
      TrackWrite(empty, true, r.kind->has_status, ManagerOf(request, r, options, ""), shapes,
                 &next);
    }
    FillServerMetadata(&next["metadata"], request.info.now);
    const Json owners = next["metadata"].value("managedFields", Json());
    if (r.kind->prepare_create) r.kind->prepare_create(next, request.info);
    SetOwners(owners, &next["metadata"]);
    if (r.kind->validate) RefuseInvalid(r, next, r.kind->validate(next, request.info));
    const bool race = RunFinalAdmission(state, request, r, next, nullptr, options.dry_run);
    if (race && attempt < kRaceTries) continue;
    if (!TextAt(next, {"metadata", "resourceVersion"}).empty()) {
      Fail(Untyped("resourceVersion should not be set on objects to be created"));
    }
    const std::string name = TextAt(next, {"metadata", "name"});
    const std::string key = Store::Key(request.info.ns, name);
    Json stored = StoredForm(r, std::move(next));
    if (options.dry_run) {
      if (!state.store->Get(*r.table, key)) return ToFlat(stored);
    } else if (ObjectPtr done = state.store->Put(*r.table, key, ObjectPtr(), [&](uint64_t rv) {
                 return ToFlatInPlace(&stored, rv);
               })) {
      AfterWrite(state, r, name, false);
      return done;
    }
    if (given.empty() && attempt + 1 < kNameTries) continue;
    ApiError exists = AlreadyExists(r.gvr(), name);
    const ObjectPtr there = state.store->Get(*r.table, key);
    if (there && there->Root().Member("metadata").Member("deletionTimestamp").Has()) {
      exists.message = "object is being deleted: " + exists.message;
    }
    Fail(std::move(exists));
  }
}

namespace {

void CheckPreconditions(const Resource& r, const std::string& name, const Json& current,
                        const Json& next, const Change& change) {
  const std::string uid = TextAt(next, {"metadata", "uid"}),
                    have = TextAt(current, {"metadata", "uid"});
  if (!change.patch && !uid.empty() && uid != have) {
    const std::string key = Store::Key(TextAt(current, {"metadata", "namespace"}), name);
    Fail(StorePrecondition(r.gvr(), key, name, "UID", uid, have));
  }
  const std::string version = TextAt(next, {"metadata", "resourceVersion"});
  RevisionParameter("", 500);
  if (version.empty()) {
    if (r.kind->requires_resource_version && !change.patch) {
      Fail(Invalid(
          r.gvr().group, r.gvr().resource, name,
          {InvalidValue("metadata.resourceVersion", "0", "must be specified for an update")}));
    }
    return;
  }
  if (version != TextAt(current, {"metadata", "resourceVersion"})) {
    if (version.find_first_not_of("0123456789") != std::string::npos) {
      Fail(Untyped("strconv.ParseUint: parsing " + GoQuote(version) + ": invalid syntax"));
    }
    Fail(StaleVersion(r.gvr(), name));
  }
}

// What only the server writes comes from the stored object (spec C2.5).
void KeepServerMetadata(const Json& current, bool patch, Json* metadata) {
  const Json& old = current["metadata"];
  const auto keep = [&](const char* name) {
    const auto it = old.find(name);
    if (it == old.end()) {
      metadata->erase(name);
    } else {
      (*metadata)[name] = *it;
    }
  };
  for (const char* name : {"creationTimestamp", "selfLink", "generation", "resourceVersion"})
    keep(name);
  // A patch that sets deletionTimestamp on a living object is refused by validation, not corrected.
  if (!patch || old.contains("deletionTimestamp")) {
    keep("deletionTimestamp");
    keep("deletionGracePeriodSeconds");
  }
  if (TextAt(*metadata, {"uid"}).empty()) keep("uid");
  if (TextAt(*metadata, {"name"}).empty()) keep("name");
}

}  // namespace

ObjectPtr UpdateObject(const State& state, Request& request, const Resource& r,
                       const WriteOptions& options, const Change& change) {
  request.info.operation = Operation::kUpdate;
  request.info.dry_run = options.dry_run;
  const std::string name = request.info.name;
  const std::string key = Store::Key(request.info.ns, name);
  const std::vector<std::string> warnings = request.warnings;
  const FieldShapes shapes = ShapesOf(*r.kind);
  for (int attempt = 0; attempt < kRaceTries; ++attempt) {
    request.warnings = warnings;
    const ObjectPtr stored = state.store->Get(*r.table, key);
    if (!stored) Fail(NotFound(r.gvr(), name));
    const Json current = EditableInVersion(r, *stored);
    Json next = change.make(current);
    const std::string wanted_name = TextAt(next, {"metadata", "name"});
    if (!wanted_name.empty() && wanted_name != name) {
      Fail(BadRequest("the name of the object (" + wanted_name +
                      ") does not match the name on the URL (" + name + ")"));
    }
    SetNamespace(r, request.info.ns, &next);
    if (r.kind->set_defaults) r.kind->set_defaults(next);
    CheckPreconditions(r, name, current, next, change);
    KeepServerMetadata(current, change.patch, &next["metadata"]);
    RunAdmission(state, request, r, &next, &current);
    if (!options.apply) {
      TrackWrite(current, false, r.kind->has_status,
                 ManagerOf(request, r, options, change.subresource), shapes, &next);
    }
    const Json owners = next["metadata"].value("managedFields", Json());
    if (r.kind->prepare_update) r.kind->prepare_update(next, current, request.info);
    SetOwners(owners, &next["metadata"]);
    if (r.kind->validate_update)
      RefuseInvalid(r, next, r.kind->validate_update(next, current, request.info));
    if (RunFinalAdmission(state, request, r, next, &current, options.dry_run)) continue;
    Json result = StoredForm(r, std::move(next));
    if (options.dry_run) return ToFlat(result);
    if (MayVanish(result)) {
      // The last finalizer is gone: this update is the deletion. It answers with the object as
      // submitted under its old revision (spec C2.8, O3).
      const ObjectPtr shown = ToFlat(result);
      if (state.store->Remove(*r.table, key, stored,
                              [&](uint64_t rv) { return ToFlat(result, rv); })) {
        AfterWrite(state, r, name, true);
        return shown;
      }
      continue;
    }
    if (result == Editable(*stored, r.stored_type)) return stored;
    if (ObjectPtr done = state.store->Put(
            *r.table, key, stored, [&](uint64_t rv) { return ToFlatInPlace(&result, rv); })) {
      AfterWrite(state, r, name, false);
      return done;
    }
  }
  Fail(StaleVersion(r.gvr(), name));
}

ObjectPtr EditStored(const State& state, const Resource& r, const std::string& key, bool dry_run,
                     const std::function<bool(Json& object)>& change) {
  for (int attempt = 0; attempt < kRaceTries; ++attempt) {
    const ObjectPtr stored = state.store->Get(*r.table, key);
    if (!stored)
      Fail(NotFound(r.gvr(),
                    key.substr(key.find('/') == std::string::npos ? 0 : key.find('/') + 1)));
    Json object = Editable(*stored, r.stored_type);
    if (!change(object)) return stored;
    if (dry_run) return ToFlat(object);
    if (ObjectPtr done = state.store->Put(*r.table, key, stored,
                                          [&](uint64_t rv) { return ToFlat(object, rv); })) {
      return done;
    }
  }
  Fail(StaleVersion(r.gvr(), key));
}

Answer HandleCreate(const State& state, Request& request) {
  const Resource& r = *request.resource;
  const WriteOptions options = ReadWriteOptions(request, "CreateOptions");
  Negotiate(request.http->Header("Accept"), OfferFor(r));
  Json object = ReadObject(request, r, options);
  const ObjectPtr stored = CreateObject(state, request, r, options, std::move(object));
  return ObjectAnswer(state, request, 201, r, stored);
}

Answer HandleUpdate(const State& state, Request& request) {
  const Resource& r = *request.resource;
  const WriteOptions options = ReadWriteOptions(request, "UpdateOptions");
  Negotiate(request.http->Header("Accept"), OfferFor(r));
  const Json object = ReadObject(request, r, options);
  const std::string name = TextAt(object, {"metadata", "name"});
  if (name.empty()) {
    Fail(BadRequest("the name of the object (" + request.info.name +
                    " based on URL) was undeterminable: name must be provided"));
  }
  if (name != request.info.name) {
    Fail(BadRequest("the name of the object (" + name + ") does not match the name on the URL (" +
                    request.info.name + ")"));
  }
  if (r.kind->create_on_update && request.info.subresource.empty() &&
      !state.store->Get(*r.table, Store::Key(request.info.ns, name))) {
    Json fresh = object;
    fresh["metadata"].erase("resourceVersion");
    return ObjectAnswer(state, request, 201, r,
                        CreateObject(state, request, r, options, std::move(fresh)));
  }
  Change change;
  change.make = [&](const Json&) { return object; };
  const ObjectPtr stored = UpdateObject(state, request, r, options, change);
  return ObjectAnswer(state, request, 200, r, stored);
}

}  // namespace kcm::devcluster
