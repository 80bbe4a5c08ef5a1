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

// Complete or Failed is True.
inline bool IsJobFinished(Node job) {
  for (const Node condition : job.Get("status").Get("conditions").Items()) {
    const std::string_view type = condition.Get("type").String();
    if ((type == "Complete" || type == "Failed") && condition.Get("status").String() == "True")
      return true;
  }
  return false;
}

}  // namespace kcm::rules
