// SPDX-License-Identifier: Apache-2.0
// Writes to the namespace itself: its phase, its conditions, its finalizers. Each is a PUT of what
// was read, at its resourceVersion (spec/namespace.md S7).
//
// Thread-safe.
#pragma once
#include <optional>

#include "kcm/rules/result.h"
#include "kcm/rules/time.h"
#include "kcm/sdk/context.h"
#include "plugins/namespace/namespace/conditions.h"

namespace kcm::ns::namespaces {

inline constexpr sdk::Resource kNamespace{"", "v1", "namespaces", "Namespace"};

// The namespace in phase Terminating; nullopt: it is gone. Error also when its uid has changed.
Result<std::optional<sdk::WholeRef>> MarkTerminating(const sdk::Run& run, sdk::WholeRef from);

// The namespace with these conditions. A failed write is logged and given up: it returns `from`,
// and the next run tells the same.
Result<sdk::WholeRef> WriteConditions(const sdk::Run& run, sdk::WholeRef from,
                                      const Progress& progress, rules::WallTime now);

// Removes `kubernetes` from spec.finalizers, which lets the server drop the namespace.
Status Finalize(const sdk::Run& run, sdk::WholeRef from);

}  // namespace kcm::ns::namespaces
