// SPDX-License-Identifier: Apache-2.0
// The write pipeline (spec/apiserver C): body, defaults, admission, strategy, validation,
// compare-and-swap.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "devcluster/server/core.h"

namespace kcm::devcluster {

// Query options of a write.
struct WriteOptions {
  bool dry_run = false;
  bool strict = false;  // fieldValidation=Strict
  bool warn = true;     // fieldValidation=Warn or none
  std::string manager;  // fieldManager, or from the user agent
  bool manager_given = false;
  bool apply = false;  // ownership of fields is settled already
};
// `options_kind`: CreateOptions, UpdateOptions, PatchOptions. Throws 422.
WriteOptions ReadWriteOptions(const Request& request, const char* options_kind);

// The body as Json, from JSON, YAML or protobuf (with kind and apiVersion of its envelope). Throws
// 400 / 415. `kind` names the wanted type in messages.
Json ReadBody(const Request& request, const std::string& kind,
              std::vector<std::string>* duplicates);
// The body as an object of `resource`, decoded strictly (spec C3). Warnings go to the request.
Json ReadObject(Request& request, const Resource& resource, const WriteOptions& options);
// The same of a body that was read: `duplicates` as ReadBody gives them.
Json TypedObject(Request& request, const Resource& resource, const WriteOptions& options,
                 Json object, const std::vector<std::string>& duplicates);
// A type that comes in bodies though it is no resource of its own (Scale, Binding, Eviction,
// TokenRequest), as ReadObject and DecodePatched want it.
Resource BodyType(const State& state, const std::string& group, const std::string& version,
                  const std::string& kind);
// The strict decoding step alone, of a patched object: errors become 422. They show `shown`, or the
// object when it is empty.
void DecodePatched(Request& request, const Resource& resource, const WriteOptions& options,
                   const std::string& shown, Json* object);

// Creates `object` (as ReadObject returns it). Returns the stored form; throws.
host::wire::ObjectPtr CreateObject(const State& state, Request& request, const Resource& resource,
                                   const WriteOptions& options, Json object);

// So often a write is tried anew when another one was faster.
inline constexpr int kRaceTries = 32;

// How an update comes to its new object.
struct Change {
  // Current object (request's version, kind and apiVersion set) to the wanted one. Runs again after
  // a lost race.
  std::function<Json(const Json& current)> make;
  bool patch = false;       // a patch: uid changes are validated, not preconditions
  std::string subresource;  // for managedFields, when the request's own was put aside (scale)
  bool keep_trying = true;  // retry after a lost race even with a resourceVersion in hand
};
// Returns the stored (or last) form; throws. The object must exist (404).
host::wire::ObjectPtr UpdateObject(const State& state, Request& request, const Resource& resource,
                                   const WriteOptions& options, const Change& change);

// A change by the server itself: no strategy, no admission. `change` returns false to leave the
// object alone; it may throw.
host::wire::ObjectPtr EditStored(const State& state, const Resource& resource,
                                 const std::string& key, bool dry_run,
                                 const std::function<bool(Json& object)>& change);

// 404 for a missing namespace, 403 for one that terminates (create only).
void RequireLiveNamespace(const State& state, const Resource& resource, const std::string& ns,
                          std::string_view name);

// Sets metadata.namespace of a body as its URL demands; 400 for another namespace.
void SetNamespace(const Resource& resource, const std::string& ns, Json* object);
// 409 of a store that compares before it writes. `what`: UID, ResourceVersion.
ApiError StorePrecondition(const Gvr& gvr, const std::string& key, const std::string& name,
                           const std::string& what, const std::string& wanted,
                           const std::string& have);

std::string NewUid();
// Five characters for generateName.
std::string NewNameSuffix();
// Whether an object that is being deleted has nothing left that holds it.
bool MayVanish(const Json& object);

// What follows a stored write: CRDs change what is served, APIServices and Services what is
// forwarded.
void AfterWrite(const State& state, const Resource& resource, const std::string& name, bool gone);

Answer HandleCreate(const State& state, Request& request);
Answer HandleUpdate(const State& state, Request& request);
Answer HandlePatch(const State& state, Request& request);
Answer HandleDelete(const State& state, Request& request);
Answer HandleDeleteCollection(const State& state, Request& request);

}  // namespace kcm::devcluster
