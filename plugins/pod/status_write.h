// SPDX-License-Identifier: Apache-2.0
// A status write that is tried once more on the live object (spec/pod-workloads.md 2, step 7 of the
// reconcile, and 6.5).
#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"

namespace kcm::pod {

// PUTs the status that `apply` gives to `object`. Whatever went wrong but a shutdown, it does so
// once more with the object as the server holds it now: `apply` keeps what was computed, the
// generation that was acted upon included. Answers the object as written.
Result<sdk::WholeRef> WriteStatus(const sdk::Client& client, const sdk::Resource& resource,
                                  const sdk::WholeRef& object,
                                  const std::function<void(nlohmann::json&)>& apply);

}  // namespace kcm::pod
