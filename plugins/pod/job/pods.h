// SPDX-License-Identifier: Apache-2.0
// JobPod: what one pod means to its Job (spec/pod-batch.md 1.4, 1.7). Pure.
#pragma once
#include <cstdint>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"
#include "plugins/pod/job/spec.h"

namespace kcm::pod::job {

inline constexpr int64_t kNoIndex = -1;

// Borrows from the pod it was made of.
struct JobPod {
  rules::Node root;
  std::string_view name, uid;
  int64_t index = kNoIndex;
  bool countable = true;       // NonIndexed, or its index is one of the Job's
  bool has_finalizer = false;  // batch.kubernetes.io/job-tracking
  bool tracked = false;        // has it, and its removal has not been asked for
  bool succeeded = false;      // phase Succeeded
  bool failed = false;         // phase Failed, or on the way there
  bool active = false;
  bool terminating = false;
  bool ready = false;
};

// `removal_asked`: the finalizer's removal has been asked for and not been seen yet.
JobPod PodOf(rules::Node pod, const JobSpec& spec, bool removal_asked);

bool HasTrackingFinalizer(rules::Node pod);
// Terminal, with the tracking finalizer: what job_controller_terminated_pods_tracking_finalizer
// counts.
bool IsTrackedTerminalPod(rules::Node pod);

// The annotation as a number, kNoIndex when absent or illegal.
int64_t CompletionIndex(rules::Node pod);

// When the pod finished (1.7), as well as it can be told.
rules::WallTime FinishTime(rules::Node pod);

}  // namespace kcm::pod::job
