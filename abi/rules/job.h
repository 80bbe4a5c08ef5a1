// SPDX-License-Identifier: Apache-2.0
// Jobs as other controllers see them, and the names that Jobs and their pods carry
// (spec/pod-batch.md 1).
#pragma once
#include <string_view>

#include "kcm/rules/node.h"

namespace kcm::rules {

inline constexpr std::string_view kJobTrackingFinalizer = "batch.kubernetes.io/job-tracking";
// Annotation and label of the pods of an Indexed Job.
inline constexpr std::string_view kJobCompletionIndex = "batch.kubernetes.io/job-completion-index";
inline constexpr std::string_view kJobControllerUidLabel = "batch.kubernetes.io/controller-uid";

// The first condition in list order that is Complete or Failed with status True; absent when the
// Job is not finished.
Node FinishedCondition(Node job);
inline bool IsJobFinished(Node job) { return FinishedCondition(job).Has(); }

}  // namespace kcm::rules
