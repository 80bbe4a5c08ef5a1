// SPDX-License-Identifier: Apache-2.0
// How a Job ends.
#include "plugins/pod/job/verdict.h"

#include "kcm/rules/pod.h"
#include "plugins/pod/bounded_seconds.h"
#include "plugins/pod/job/failure_policy.h"

namespace kcm::pod::job {
namespace {

using rules::Node;

// An entry of this type that is True; one that a user set to False does not hide it.
Node TrueCondition(Node status, std::string_view type) {
  for (const Node condition : status.Get("conditions").Items()) {
    if (condition.Get("type").String() == type && condition.Get("status").String() == "True")
      return condition;
  }
  return Node();
}

Verdict Recorded(Verdict::Type type, Node condition) {
  return {type, std::string(condition.Get("reason").String()),
          std::string(condition.Get("message").String())};
}

Verdict Failure(const Features& features, const char* reason, const char* message) {
  return {
      features.delayed_terminal_condition ? Verdict::Type::kFailureTarget : Verdict::Type::kFailed,
      reason, message};
}

std::optional<std::string> FailJobMessage(const Evidence& e) {
  if (!e.spec.failure_policy.Has()) return std::nullopt;
  for (const JobPod& pod : e.pods) {
    if (!pod.failed) continue;
    FailureMatch match = MatchFailurePolicy(e.spec, pod.root);
    if (match.action == FailureAction::kFailJob) return std::move(match.message);
  }
  return std::nullopt;
}

// Restarts of containers in place count where the pods restart them.
bool RestartsExceedLimit(const Evidence& e) {
  if (!e.spec.restarts_on_failure) return false;
  int64_t restarts = 0;
  for (const JobPod& pod : e.pods) {
    const std::string_view phase = rules::PodPhase(pod.root);
    if (phase != "Running" && phase != "Pending") continue;
    const Node status = pod.root.Get("status");
    for (const std::string_view list : {"initContainerStatuses", "containerStatuses"})
      for (const Node container : status.Get(list).Items())
        restarts += container.Get("restartCount").Int();
  }
  return e.spec.backoff_limit == 0 ? restarts > 0 : restarts >= e.spec.backoff_limit;
}

// A Job whose resumption is not recorded yet starts anew: its old start time is about to go.
bool HasRunningDeadline(const Evidence& e) {
  return e.spec.active_deadline_seconds && e.start_time && !e.spec.suspended &&
         !TrueCondition(e.status, "Suspended").Has();
}

std::chrono::nanoseconds LeftFor(const Evidence& e) {
  return LeftOfDeadline(*e.start_time, *e.spec.active_deadline_seconds, e.now);
}

Verdict JudgeIndexes(const Evidence& e) {
  const Indexes& indexes = *e.indexes;
  if (indexes.failed) {
    const int64_t failed = indexes.failed->size();
    if (e.spec.max_failed_indexes && failed > *e.spec.max_failed_indexes) {
      return Failure(e.features, "MaxFailedIndexesExceeded",
                     "Job has exceeded the specified maximal number of failed indexes");
    }
    if (failed > 0 && failed + indexes.succeeded.size() >= e.spec.IndexBound())
      return Failure(e.features, "FailedIndexes", "Job has failed indexes");
  }
  if (std::optional<std::string> met = MatchSuccessPolicy(e.spec, indexes.succeeded))
    return {Verdict::Type::kSuccessCriteriaMet, "SuccessPolicy", std::move(*met)};
  return {};
}

}  // namespace

std::chrono::nanoseconds LeftOfDeadline(rules::WallTime start, int64_t seconds,
                                        rules::WallTime now) {
  const std::chrono::nanoseconds deadline = BoundedSeconds(seconds);
  const std::chrono::nanoseconds active = rules::Elapsed(start, now);
  // A start in the far future: no overflow.
  if (active < std::chrono::nanoseconds(0)) return deadline;
  return deadline - active;
}

Verdict Judge(const Evidence& e) {
  if (const Node met = TrueCondition(e.status, "SuccessCriteriaMet"); met.Has())
    return Recorded(Verdict::Type::kSuccessCriteriaMet, met);
  if (const Node target = TrueCondition(e.status, "FailureTarget"); target.Has())
    return Recorded(Verdict::Type::kFailed, target);
  if (std::optional<std::string> message = FailJobMessage(e))
    return {Verdict::Type::kFailureTarget, "PodFailurePolicy", std::move(*message)};
  if (e.failed > e.spec.backoff_limit || RestartsExceedLimit(e)) {
    return Failure(e.features, "BackoffLimitExceeded",
                   "Job has reached the specified backoff limit");
  }
  if (HasRunningDeadline(e) && LeftFor(e).count() <= 0) {
    return Failure(e.features, "DeadlineExceeded", "Job was active longer than specified deadline");
  }
  return e.spec.indexed ? JudgeIndexes(e) : Verdict{};
}

std::optional<std::chrono::nanoseconds> UntilDeadline(const Evidence& e) {
  if (!HasRunningDeadline(e)) return std::nullopt;
  const std::chrono::nanoseconds left = LeftFor(e);
  return left.count() > 0 ? std::optional(left) : std::nullopt;
}

bool IsComplete(const JobSpec& spec, int64_t succeeded, int64_t active) {
  if (active != 0) return false;
  return spec.completions ? succeeded >= *spec.completions : succeeded > 0;
}

Verdict CompletionsReached(const Features& features) {
  Verdict out{.type = features.delayed_terminal_condition ? Verdict::Type::kSuccessCriteriaMet
                                                          : Verdict::Type::kComplete};
  if (features.success_policy) {
    out.reason = "CompletionsReached";
    out.message = "Reached expected number of succeeded pods";
  }
  return out;
}

}  // namespace kcm::pod::job
