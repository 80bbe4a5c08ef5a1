// SPDX-License-Identifier: Apache-2.0
// Conversions between versions of one store: events of both groups (kept as core events) and
// autoscalers (kept as v2).
#pragma once
#include "devcluster/api/strategy.h"

namespace kcm::devcluster::kinds {

// Sets from_storage and to_storage of the kinds that need them.
void BindConversion(ResourceKind& kind);

}  // namespace kcm::devcluster::kinds
