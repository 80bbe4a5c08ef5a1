// SPDX-License-Identifier: Apache-2.0
// Counting finished pods exactly once: which pods are recorded in the status now, and which may
// lose their finalizer once that record is written (spec/pod-batch.md 1.10 steps 1 to 5). Pure.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "plugins/pod/job/failure_policy.h"
#include "plugins/pod/job/indexes.h"
#include "plugins/pod/job/pods.h"
#include "plugins/pod/job/spec.h"
#include "plugins/pod/job/status.h"
#include "plugins/pod/job/verdict.h"

namespace kcm::pod::job {

// At most this many pods recorded and not counted yet; the rest follows in later reconciles.
inline constexpr int64_t kMaxUncounted = 500;

struct Tracking {
  bool changed = false;                           // the status is to be written
  bool limit_reached = false;                     // there is more to do: the Job can not finish now
  std::vector<const JobPod*> release = {};        // may lose the finalizer; points into the pods
  Uids holding = {};                              // uids of pods that hold it
  std::map<FailureAction, int64_t> handled = {};  // failures recorded because of a policy's rule
};

struct Tracked {
  const JobSpec& spec;
  std::span<const JobPod> pods;
  const Indexes* indexes = nullptr;  // of an Indexed Job
  bool deleting = false;             // the Job has a deletionTimestamp
};

// Edits `status`. Indexes and the target condition are not its business.
Tracking TrackFinishedPods(Json& status, const Tracked& job, const Verdict& verdict);

}  // namespace kcm::pod::job
