// SPDX-License-Identifier: Apache-2.0
// The look at the live owner that comes before every adoption (spec/pod-workloads.md 1.4.1).
#pragma once
#include "kcm/rules/node.h"
#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"

namespace kcm::pod {

// Ok when the server still has the `owner` of the cache and it is not being deleted; else the cause
// for not adopting anything. Asks the server: once per reconcile is enough.
Status CheckLiveOwner(const sdk::Client& client, const sdk::Resource& resource, rules::Node owner);

}  // namespace kcm::pod
