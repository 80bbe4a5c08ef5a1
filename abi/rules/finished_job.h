// SPDX-License-Identifier: Apache-2.0
// Whether and how a Job is over (spec/pod-batch.md 2.4, 3).
//
//   if (IsJobFinished(job)) ...
#pragma once
#include "kcm/rules/node.h"

namespace kcm::rules {

// The first condition in list order that is Complete or Failed with status True; absent Node when
// the Job is not finished.
Node FinishedCondition(Node job);
bool IsJobFinished(Node job);

}  // namespace kcm::rules
