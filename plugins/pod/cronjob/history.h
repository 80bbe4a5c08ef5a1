// SPDX-License-Identifier: Apache-2.0
// Which finished Jobs of a CronJob are too many (spec/pod-batch.md 2.4 step 1). Pure.
#pragma once
#include <cstddef>
#include <vector>

#include "kcm/rules/node.h"

namespace kcm::pod::cronjob {

// Places of the Jobs to delete: of the succeeded and of the failed ones, each beyond its limit, the
// first started ones. A limit that is absent keeps all.
std::vector<size_t> BeyondHistory(rules::Node cron_job, const std::vector<rules::Node>& jobs);

}  // namespace kcm::pod::cronjob
