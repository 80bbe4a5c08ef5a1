// SPDX-License-Identifier: Apache-2.0
// How many pods a Job wants, and which active ones are too many (spec/pod-batch.md 0.5, 1.5.2,
// 1.5.3). Pure.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "plugins/pod/job/pods.h"
#include "plugins/pod/job/spec.h"

namespace kcm::pod::job {

// At most this many creations, or removals by scaling down, in one reconcile.
inline constexpr int64_t kBurst = 500;

// Active pods that a Job that is not suspended wants.
int64_t WantedActive(const JobSpec& spec, int64_t active, int64_t succeeded);

// Those of `active` to remove so that at most `wanted` are left; of an Indexed Job also those that
// should not be there at all. Not more than kBurst.
std::vector<const JobPod*> PodsToRemove(const JobSpec& spec, std::vector<const JobPod*> active,
                                        int64_t wanted);

// Sorts active pods, first to delete first.
void SortByDeletionPreference(std::span<const JobPod*> pods);

}  // namespace kcm::pod::job
