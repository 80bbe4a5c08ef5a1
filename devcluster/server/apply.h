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

// The function of a JSON, merge or strategic patch request, for handlers of subresources with a
// foreign kind.
std::function<Json(const Json&)> PatchFunction(const State& state, const Request& request,
                                               const Resource& resource);

// What an object of the kind looks like before anything is set: ownership of a new object is
// counted from it.
Json EmptyObject(const Resource& resource);

}  // namespace kcm::devcluster
