// SPDX-License-Identifier: Apache-2.0
// Indexed Jobs: which indexes have succeeded and failed, and which get a pod next
// (spec/pod-batch.md 1.5.5, 1.6, 1.9). Pure.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kcm/rules/index_set.h"
#include "kcm/rules/node.h"
#include "plugins/pod/job/pods.h"
#include "plugins/pod/job/spec.h"

namespace kcm::pod::job {

inline constexpr std::string_view kIndexFailureCount =
    "batch.kubernetes.io/job-index-failure-count";
inline constexpr std::string_view kIndexIgnoredFailureCount =
    "batch.kubernetes.io/job-index-ignored-failure-count";

// Failures of one index so far, as its newest pod carries them.
struct IndexFailures {
  int64_t counted = 0;
  int64_t ignored = 0;
  friend bool operator==(const IndexFailures&, const IndexFailures&) = default;
};
IndexFailures FailuresOn(rules::Node pod);
// What the pod that replaces `failed` carries; zeros for the first pod of an index (nullptr).
IndexFailures FailuresAfter(const JobSpec& spec, const JobPod* failed);

struct Indexes {
  rules::IndexSet previous = {};               // status.completedIndexes, within the bound
  rules::IndexSet succeeded = {};              // with those of pods that succeeded since
  std::optional<rules::IndexSet> failed = {};  // nullopt: the limit is not per index
  // By index the failed pod that keeps its finalizer until its replacement is active: the failures
  // so far are written on it only. Points into the pods.
  std::map<int64_t, const JobPod*> delayed = {};
};
// REQUIRES: spec.indexed
Indexes IndexesOf(const JobSpec& spec, rules::Node status, std::span<const JobPod> pods);

// The pod is the one that keeps its finalizer for its index.
bool IsDelayed(const Indexes& indexes, const JobPod& pod);

struct IndexPlan {
  std::vector<int64_t> create = {};
  // With nothing to create: when the first of the indexes may start.
  std::chrono::nanoseconds wait{0};
};
// The lowest `count` indexes that want a pod, without those that still back off.
IndexPlan PlanIndexes(const JobSpec& spec, const Indexes& indexes, std::span<const JobPod> pods,
                      int64_t count, rules::WallTime now);

// The message when a rule of the success policy is met.
std::optional<std::string> MatchSuccessPolicy(const JobSpec& spec,
                                              const rules::IndexSet& succeeded);

}  // namespace kcm::pod::job
