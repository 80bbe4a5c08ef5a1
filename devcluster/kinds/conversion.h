// SPDX-License-Identifier: Apache-2.0
// Conversions between versions of one store: events of both groups (kept as core events) and
// autoscalers (kept as v2).
#pragma once
#include <optional>
#include <string>

#include "devcluster/api/strategy.h"

namespace kcm::devcluster::kinds {

// What keeps a well typed Node from being converted to the API server's own form, which has one
// list of pod ranges.
std::optional<std::string> NodeConversionFault(const Json& node);

// Sets from_storage and to_storage of the kinds that need them.
void BindConversion(ResourceKind& kind);

}  // namespace kcm::devcluster::kinds
