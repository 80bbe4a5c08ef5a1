// SPDX-License-Identifier: Apache-2.0
// Objects of a fresh server (spec M).
#pragma once
#include <vector>

#include "devcluster/api/strategy.h"

namespace kcm::devcluster::kinds {

// In creation order: namespaces first. The server adds uid, resourceVersion and creationTimestamp.
std::vector<KindRegistry::Seed> FreshServer();

}  // namespace kcm::devcluster::kinds
