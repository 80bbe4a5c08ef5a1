// SPDX-License-Identifier: Apache-2.0
// JobSpec: what a Job asks for, with defaults and gates applied (spec/pod-batch.md 1.4). Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "kcm/rules/node.h"
#include "plugins/pod/job/features.h"

namespace kcm::pod::job {

// Borrows from the Job it was made of.
struct JobSpec {
  bool indexed = false;
  bool suspended = false;
  int64_t parallelism = 1;
  std::optional<int64_t> completions = {};  // nullopt: a work queue
  int64_t backoff_limit = 6;
  std::optional<int64_t> backoff_limit_per_index = {};
  std::optional<int64_t> max_failed_indexes = {};
  std::optional<int64_t> active_deadline_seconds = {};
  bool restarts_on_failure = false;  // the template's restartPolicy is OnFailure
  // podReplacementPolicy is Failed / that or a failure policy: a pod that is being deleted has not
  // failed and is not replaced before its phase says so.
  bool replacement_policy_failed = false;
  bool only_replace_failed = false;
  bool fail_index_rules = true;  // the action FailIndex is known
  rules::Node failure_policy = {};
  rules::Node success_policy = {};  // absent when the gate is off
  rules::Node pod_template = {};

  bool PerIndex() const { return indexed && backoff_limit_per_index.has_value(); }
  // Indexes are below it. REQUIRES: indexed
  int64_t IndexBound() const { return completions.value_or(0); }
};

JobSpec SpecOf(rules::Node job, const Features& features);

// NonIndexed or Indexed.
bool HasKnownCompletionMode(rules::Node job);

// spec.managedBy when it names somebody else, empty otherwise.
std::string_view ExternalManager(rules::Node job, bool managed_by_gate);

}  // namespace kcm::pod::job
