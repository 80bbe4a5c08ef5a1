// SPDX-License-Identifier: Apache-2.0
// metadata.managedFields: who owns which fields (spec/apiserver F5). Pure functions on documents.
#pragma once
#include <string>
#include <vector>

#include "devcluster/server/field_set.h"

namespace kcm::devcluster {

struct FieldManager {
  std::string name;
  std::string api_version;
  std::string subresource;
  std::string now;  // RFC 3339
};

// Ownership after a write that is no apply: what changed belongs to the manager, what went belongs
// to nobody. `before` is the stored object, or the empty object of the kind at a create. Sets or
// removes after's managedFields. An object that nobody tracks stays untracked by updates.
// `has_status`: a main write does not count status, a status write only status.
void TrackWrite(const Json& before, bool create, bool has_status, const FieldManager& manager,
                const FieldShapes& shapes, Json* after);

struct Applied {
  Json object;
  struct Conflict {
    std::string owner;  // `"m1"`, `"upd" using v1`, ...
    std::string field;
  };
  std::vector<Conflict> conflicts;  // of a forced apply: empty
};
// Lays `configuration` over `live`, moves ownership, drops what the manager no longer sends.
// `complete` turns the merged document into what would be stored (decoding), for comparison.
// `empty`: the empty object of the kind.
Applied ApplyConfiguration(const Json& live, const Json& configuration, const Json& empty,
                           bool force, const FieldManager& manager, const FieldShapes& shapes,
                           const std::function<void(Json*)>& complete);
// The managedFields of an object created by apply.
Json FirstApply(const Json& configuration, const FieldManager& manager, const FieldShapes& shapes);

}  // namespace kcm::devcluster
