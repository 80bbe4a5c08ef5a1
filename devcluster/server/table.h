// SPDX-License-Identifier: Apache-2.0
// Tables (spec/apiserver K): column definitions and rows of what `kubectl get` shows.
#pragma once
#include <string>
#include <vector>

#include "devcluster/server/core.h"

namespace kcm::devcluster {

enum class IncludeObject { kMetadata, kObject, kNone };
// Of the query. Throws 422 for other values.
IncludeObject IncludeObjectOf(const Request& request);

// The table's head up to the rows: kind, apiVersion, metadata, columnDefinitions (unless `columns`
// is false).
std::string TableHead(const Resource& resource, const Media& media, const Json& metadata,
                      bool columns);
std::string TableRow(const State& state, const Resource& resource, const host::wire::Object& object,
                     IncludeObject include, const Media& media);
// Complete table of one object.
std::string TableOfOne(const State& state, const Request& request, const Resource& resource,
                       const host::wire::Object& object, const Media& media, bool columns = true);

}  // namespace kcm::devcluster
