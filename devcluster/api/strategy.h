// SPDX-License-Identifier: Apache-2.0
// The contract between devcluster's server (HTTP, store, watch, patch, delete procedure) and its
// kinds (what is particular to a resource: defaults, validation, status rules, admission, tables).
// The server knows no kind; kinds know no HTTP.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"

namespace kcm::devcluster {

using Json = nlohmann::json;

struct Gvr {
  std::string group, version, resource;
  friend auto operator<=>(const Gvr&, const Gvr&) = default;
};

struct Subresource {
  std::string
      name;  // "status", "scale", "binding", "eviction", "token", "finalize", "approval", ...
  std::vector<std::string> verbs;  // discovery verbs: get, patch, update, create
  std::string group, version,
      kind;  // foreign kind (Scale autoscaling/v1); empty: the resource's own
};

// A cause of a 422.
struct FieldError {
  std::string reason;   // FieldValueRequired, FieldValueInvalid, ...
  std::string field;    // spec.selector
  std::string message;  // `Required value` / `Invalid value: "x": must ...` : text after "FIELD: "
};

// An API error: becomes a Status. Build one with the functions of devcluster/api/api_error.h.
struct ApiError {
  int code = 500;
  std::string reason, message;
  Json details;                   // null: absent
  std::string metadata_continue;  // of an expired list page; "" otherwise
};

struct UserInfo {
  std::string name, uid;
  std::vector<std::string> groups;
  Json extra = Json::object();
};

// What an admission step or a strategy may look at.
class Reader {
 public:
  virtual ~Reader() = default;
  // Current stored object as JSON, nullopt when absent. No side effect.
  virtual std::optional<Json> Get(const Gvr& gvr, std::string_view ns,
                                  std::string_view name) const = 0;
  virtual std::vector<Json> List(const Gvr& gvr, std::string_view ns) const = 0;
  // Moves with every write of a Role, ClusterRole, RoleBinding or ClusterRoleBinding; lets the
  // authorizer keep its index between requests. 0: not known, the index is built anew each time.
  virtual uint64_t AuthorizationRevision() const { return 0; }
};

// A write of another object that belongs to a request (quota usage): done before the request's own
// write, never at dry run. `object` carries the resourceVersion that was read: a conflict makes the
// server repeat the whole request.
struct SideWrite {
  Gvr gvr;
  Json object;
};

enum class Operation { kCreate, kUpdate, kDelete, kConnect };

struct RequestInfo {
  Operation operation = Operation::kCreate;
  std::string verb;  // create, update, patch, delete, deletecollection, get, list, watch
  std::string ns, name, subresource;
  UserInfo user;
  bool dry_run = false;
  std::string now;  // RFC 3339 seconds, from the Clock
  std::string now_micro;
  std::vector<std::string>* warnings = nullptr;  // each becomes a Warning header
  const Reader* reader = nullptr;
  std::vector<SideWrite>* side_writes =
      nullptr;  // filled by AdmitFinal; nullptr: usage is checked but not raised
};

struct Column {
  std::string name, type, format, description;
  int priority = 0;
};

// Everything particular to one resource. Functions may be empty (nothing to do). All are called
// without a store lock held and must be pure but for `object`.
struct ResourceKind {
  Gvr gvr;
  std::string kind, list_kind, singular;
  bool namespaced = true;
  std::vector<std::string> short_names, categories;
  std::vector<std::string> verbs;  // discovery order (alphabetical)
  std::vector<Subresource> subresources;
  std::string storage_group,
      storage_version;  // key of the store when two versions share one (autoscaling, events)
  bool custom = false;  // from a CRD
  bool create_on_update = false;           // "CoU"
  bool requires_resource_version = false;  // "RV!"
  bool delete_returns_object = false;      // "Del" column O
  bool default_orphan = false;             // RC, Job
  bool has_dependents = true;              // false: events
  bool has_status = false;                 // status subresource exists

  // Decoding into the kind's type, before anything else (spec C3): drops members that the type does
  // not have (their paths are appended to `unknown`, may be nullptr, in the order of decoding:
  // "spec.template.spec.containers[0].zzz", "spec.nope"), null members and what omitempty drops;
  // writes the members that the type always writes; rewrites quantities and times. Returns what
  // follows `K in version "V" cannot be handled as a K: ` of the 400 (`json: cannot unmarshal
  // number into Go struct field ConfigMap.data of type string`), nullopt when well typed. Custom
  // kinds: their metadata alone, then what their schema prunes.
  std::function<std::optional<std::string>(Json& object, std::vector<std::string>* unknown)> decode;
  // Defaults of the version's scheme, at create and update (spec C6).
  std::function<void(Json& object)> set_defaults;
  // Name rule and field validation of a new object.
  std::function<std::vector<FieldError>(const Json& object, const RequestInfo&)> validate;
  std::function<std::vector<FieldError>(const Json& object, const Json& old, const RequestInfo&)>
      validate_update;
  // Strategy before storing: reset status at create, keep spec for status writes, keep status for
  // spec writes, generation ...
  std::function<void(Json& object, const RequestInfo&)> prepare_create;
  std::function<void(Json& object, const Json& old, const RequestInfo&)>
      prepare_update;  // RequestInfo.subresource tells which
  // JSON members that are always written although empty, quantity canonicalisation, ... runs last
  // before storing.
  std::function<void(Json& object)> canonicalise;
  // Conversion between versions of one store (autoscaling v1/v2, events.k8s.io): empty = same form.
  std::function<Json(const Json& stored)> from_storage;
  std::function<Json(const Json& given)> to_storage;
  // Extra field selector keys: value of a key, nullopt when the key is not known for this kind.
  std::function<std::optional<std::string>(std::string_view key, const Json& object)> field_label;
  std::vector<std::string> field_labels;  // the extra keys, for the error text
  // Table output.
  std::vector<Column> columns;
  std::function<Json(const Json& object, std::string_view now)>
      table_cells;  // array of cells; wide ones included
  std::function<Json(const Json& object)> table_row_conditions;  // may be empty
};

// The kinds of a fresh server, in discovery order, and everything cross-kind. Implemented by
// devcluster/kinds.
class KindRegistry {
 public:
  virtual ~KindRegistry() = default;
  virtual const std::vector<std::shared_ptr<const ResourceKind>>& BuiltIn() const = 0;
  // Group order of /apis.
  virtual const std::vector<std::string>& GroupOrder() const = 0;
  // Merge key of a list member for strategic merge patch: `schema_path` is the dotted member path
  // from the root of `kind`
  // ("spec.template.spec.containers"). "" when the list is atomic; primitive sets give key "$set".
  struct ListKey {
    std::string key;
    bool retain_keys = false;
  };
  virtual ListKey MergeKey(const Gvr& gvr, std::string_view schema_path) const = 0;
  // ResourceKind::decode of a type that is no resource of its own: "autoscaling.v1.Scale",
  // "meta.v1.DeleteOptions". Empty for a type that the schema does not have. Outlives the registry.
  virtual std::function<std::optional<std::string>(Json& object, std::vector<std::string>* unknown)>
  DecoderOf(std::string_view message) const = 0;
  // What is wrong with the metadata of an object of a kind that the registry does not have (custom
  // resources): a new one, or a change of `old`. Names are DNS subdomains.
  virtual std::vector<FieldError> ValidateMetadata(const Json& object, const Json* old) const = 0;
  // Mutating then validating admission for one write. May change `object`.
  virtual std::optional<ApiError> Admit(const ResourceKind& kind, Json& object, const Json* old,
                                        const RequestInfo& info) const = 0;
  // What has the last word, after validation and right before storing (spec C1): resource quota,
  // which may ask for writes of other objects through info.side_writes.
  virtual std::optional<ApiError> AdmitFinal(const ResourceKind&, const Json&, const Json* /*old*/,
                                             const RequestInfo&) const {
    return std::nullopt;
  }
  // RBAC: is `user` allowed? `reason` gets the text for the 403.
  virtual bool Authorize(const UserInfo& user, std::string_view verb, const Gvr& gvr,
                         std::string_view subresource, std::string_view ns, std::string_view name,
                         const Reader& reader, std::string* reason) const = 0;
  virtual bool AuthorizeNonResource(const UserInfo& user, std::string_view verb,
                                    std::string_view path, const Reader& reader,
                                    std::string* reason) const = 0;
  // Objects of a fresh server (spec M), complete, in creation order.
  struct Seed {
    Gvr gvr;
    Json object;
  };
  virtual std::vector<Seed> Seeds() const = 0;
};
std::unique_ptr<KindRegistry> MakeKindRegistry();  // devcluster/kinds

}  // namespace kcm::devcluster
