// SPDX-License-Identifier: Apache-2.0
// The revision data that is stored for a workload's template (spec/pod-workloads.md 1.15.2).
#pragma once
#include <string>

#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"

namespace kcm::pod {

// The bytes that a reference manager would store: those of the template as the server serves it.
// What the cache holds does not tell a null time from none, so older servers are asked. kConflict
// when the live object is another one or has a newer spec than `owner`.
Result<std::string> ServedRevisionData(const sdk::Run& run, const sdk::Resource& resource,
                                       const sdk::WholeRef& owner);

}  // namespace kcm::pod
