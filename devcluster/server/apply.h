// SPDX-License-Identifier: Apache-2.0
// Server-side apply (spec/apiserver F5).
#pragma once
#include <vector>

#include "devcluster/server/managed_fields.h"
#include "devcluster/server/write.h"

namespace kcm::devcluster {

Answer HandleApply(const State& state, Request& request);

// 409 with one cause per conflict.
[[noreturn]] void FailConflicts(const std::vector<Applied::Conflict>& conflicts);
bool IsApply(const Request& request);

// The change that a JSON, merge or strategic patch request makes of an object of type `body`: the
// resource itself, or the foreign kind of its subresource. What comes out is decoded. Throws 415,
// 422. The arguments must outlive the function.
std::function<Json(const Json&)> PatchFunction(const State& state, Request& request,
                                               const Resource& resource,
                                               const WriteOptions& options, const Resource& body);

// The configuration of an apply request, of type `resource`, checked member by member. Throws 400,
// 500.
Json ReadConfiguration(const Request& request, const Resource& resource, const FieldShapes& shapes);

// What an object of the kind looks like before anything is set: ownership of a new object is
// counted from it.
Json EmptyObject(const Resource& resource);

}  // namespace kcm::devcluster
