// SPDX-License-Identifier: Apache-2.0
// The patch that takes the tracking finalizer off a pod (spec/pod-batch.md 1.11).
#pragma once
#include <string_view>

namespace kcm::pod::job {

// A strategic merge patch.
inline constexpr std::string_view kRemoveTrackingFinalizer =
    R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}})";

}  // namespace kcm::pod::job
