// SPDX-License-Identifier: Apache-2.0
// Reading a Job's spec.
#include "plugins/pod/job/spec.h"

namespace kcm::pod::job {
namespace {

using rules::Node;

constexpr std::string_view kThisController = "kubernetes.io/job-controller";

std::optional<int64_t> Number(Node node) {
  return node.IsNumber() ? std::optional(node.Int()) : std::nullopt;
}

}  // namespace

JobSpec SpecOf(Node job, const Features& features) {
  const Node spec = job.Get("spec");
  JobSpec out{.indexed = spec.Get("completionMode").String() == "Indexed",
              .suspended = spec.Get("suspend").Bool(),
              .parallelism = spec.Get("parallelism").Int(1),
              .completions = Number(spec.Get("completions")),
              .backoff_limit = spec.Get("backoffLimit").Int(6),
              .active_deadline_seconds = Number(spec.Get("activeDeadlineSeconds")),
              .fail_index_rules = features.backoff_limit_per_index,
              .failure_policy = spec.Get("podFailurePolicy"),
              .pod_template = spec.Get("template")};
  out.restarts_on_failure =
      out.pod_template.Get("spec").Get("restartPolicy").String() == "OnFailure";
  if (features.backoff_limit_per_index) {
    out.backoff_limit_per_index = Number(spec.Get("backoffLimitPerIndex"));
    out.max_failed_indexes = Number(spec.Get("maxFailedIndexes"));
  }
  if (features.success_policy) out.success_policy = spec.Get("successPolicy");
  out.replacement_policy_failed =
      features.pod_replacement_policy && spec.Get("podReplacementPolicy").String() == "Failed";
  out.only_replace_failed = out.replacement_policy_failed || out.failure_policy.Has();
  return out;
}

bool HasKnownCompletionMode(Node job) {
  const Node mode = job.Get("spec").Get("completionMode");
  return !mode.Has() || mode.String() == "NonIndexed" || mode.String() == "Indexed";
}

std::string_view ExternalManager(Node job, bool managed_by_gate) {
  if (!managed_by_gate) return {};
  const std::string_view name = job.Get("spec").Get("managedBy").String();
  return name == kThisController ? std::string_view() : name;
}

}  // namespace kcm::pod::job
