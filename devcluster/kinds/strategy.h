// SPDX-License-Identifier: Apache-2.0
// Strategy: what a write may change, before validation and storing (spec C1, C5, H): status and
// spec kept apart, generation, and what single kinds do to a new object.
#pragma once
#include "devcluster/api/strategy.h"
#include "devcluster/kinds/resource_table.h"
#include "devcluster/kinds/schema.h"

namespace kcm::devcluster::kinds {

// REQUIRES: metadata.uid is set (jobs select their pods by it), defaults were applied.
void PrepareCreate(const KindRow& row, const Message& message, Json& object,
                   const RequestInfo& info);
// info.subresource: "" and "scale" are main writes; "status", "approval", "finalize",
// "ephemeralcontainers", "resize" take their part of `object` and the rest of `old`; others leave
// the object alone.
void PrepareUpdate(const KindRow& row, const Message& message, Json& object, const Json& old,
                   const RequestInfo& info);

// Guaranteed, Burstable or BestEffort (spec C6).
std::string QosClass(const Json& pod);

}  // namespace kcm::devcluster::kinds
