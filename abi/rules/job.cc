// SPDX-License-Identifier: Apache-2.0
// Whether a Job is over.
#include "kcm/rules/job.h"

namespace kcm::rules {

Node FinishedCondition(Node job) {
  for (const Node c : job.Path("status.conditions").Items()) {
    const std::string_view type = c.Get("type").String();
    if ((type == "Complete" || type == "Failed") && c.Get("status").String() == "True") return c;
  }
  return Node();
}

}  // namespace kcm::rules
