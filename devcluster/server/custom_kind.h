// SPDX-License-Identifier: Apache-2.0
// One served version of a CustomResourceDefinition as a kind: schema, subresources, columns.
#pragma once
#include <memory>

#include "devcluster/api/strategy.h"

namespace kcm::devcluster {

// `version`: an entry of spec.versions of `crd`.
std::shared_ptr<ResourceKind> MakeCustomKind(const Json& crd, const Json& version);

}  // namespace kcm::devcluster
