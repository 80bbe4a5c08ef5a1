// SPDX-License-Identifier: Apache-2.0
// OpenAPI v3 schemas of the built-in kinds (spec A3.4), made from the field table: what `kubectl
// explain` shows and what says which fields exist.
#pragma once
#include <span>
#include <string>

#include "devcluster/api/strategy.h"
#include "devcluster/kinds/schema.h"

namespace kcm::devcluster::kinds {

// `components.schemas` of a document: the kinds, all that they refer to, and ObjectMeta. Kinds that
// are not built in are left out. Thread-safe.
Json OpenApiSchemas(std::span<const Gvr> kinds);

}  // namespace kcm::devcluster::kinds
