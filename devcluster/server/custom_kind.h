// SPDX-License-Identifier: Apache-2.0
// One served version of a CustomResourceDefinition as a kind: schema, subresources, columns.
#pragma once
#include <memory>

#include "devcluster/api/strategy.h"

namespace kcm::devcluster {

// `version`: an entry of spec.versions of `crd`. `registry` has the rules of metadata; it outlives
// the kind.
std::shared_ptr<ResourceKind> MakeCustomKind(const KindRegistry& registry, const Json& crd,
                                             const Json& version);

}  // namespace kcm::devcluster
