// SPDX-License-Identifier: Apache-2.0
// Metrics of job-controller.
#include "plugins/pod/job/metrics.h"

namespace kcm::pod::job {
namespace {

std::string_view Mode(bool indexed) { return indexed ? "Indexed" : "NonIndexed"; }

sdk::MetricDescription CounterOf(std::string_view name, std::string_view help,
                                 std::vector<std::string_view> labels) {
  return {.name = name, .help = help, .labels = std::move(labels)};
}

// 4 ms, doubled 14 times.
std::vector<double> DurationBuckets() {
  std::vector<double> out;
  for (double bucket = 0.004; out.size() < 15; bucket *= 2) out.push_back(bucket);
  return out;
}

int64_t IndexCount(std::string_view intervals, const JobSpec& spec) {
  return rules::IndexSet::Parse(intervals, spec.IndexBound()).size();
}

}  // namespace

Metrics::Metrics(const sdk::Context& context)
    : duration_(context.DefineMetric({.type = KCM_METRIC_HISTOGRAM,
                                      .name = "job_controller_job_sync_duration_seconds",
                                      .help = "Time that one sync of a Job took.",
                                      .stability = "STABLE",
                                      .labels = {"completion_mode", "result", "action"},
                                      .buckets = DurationBuckets()})),
      syncs_(context.DefineMetric({.name = "job_controller_job_syncs_total",
                                   .help = "Syncs of Jobs.",
                                   .stability = "STABLE",
                                   .labels = {"completion_mode", "result", "action"}})),
      jobs_finished_(context.DefineMetric({.name = "job_controller_jobs_finished_total",
                                           .help = "Jobs that finished.",
                                           .stability = "STABLE",
                                           .labels = {"completion_mode", "result", "reason"}})),
      pods_finished_(context.DefineMetric(
          {.name = "job_controller_job_pods_finished_total",
           .help = "Finished pods that are counted in the status of their Job.",
           .stability = "STABLE",
           .labels = {"completion_mode", "result"}})),
      failures_handled_(context.DefineMetric(
          CounterOf("job_controller_pod_failures_handled_by_failure_policy_total",
                    "Failed pods that a rule of a pod failure policy applied to, by its action.",
                    {"action"}))),
      tracked_(context.DefineMetric(CounterOf(
          "job_controller_terminated_pods_tracking_finalizer_total",
          "Terminal pods that got or lost the finalizer batch.kubernetes.io/job-tracking.",
          {"event"}))),
      indexes_finished_(context.DefineMetric(
          CounterOf("job_controller_job_finished_indexes_total",
                    "Indexes of Indexed Jobs that finished, by result and kind of back-off limit.",
                    {"status", "backoffLimit"}))),
      creations_(context.DefineMetric(CounterOf(
          "job_controller_job_pods_creation_total",
          "Pods that were created, or failed to be, by the reason for it.", {"reason", "status"}))),
      external_(context.DefineMetric(CounterOf("job_controller_jobs_by_external_controller_total",
                                               "Jobs that another controller manages.",
                                               {"controller_name"}))) {}

void Metrics::Synced(bool indexed, bool ok, std::string_view action,
                     std::chrono::nanoseconds duration) const {
  const std::string_view result = ok ? "success" : "error";
  duration_.Observe(std::chrono::duration<double>(duration).count(),
                    {Mode(indexed), result, action});
  syncs_.Add({Mode(indexed), result, action});
}

void Metrics::Finished(const JobSpec& spec, const Verdict& verdict) const {
  jobs_finished_.Add(
      {Mode(spec.indexed), verdict.IsFailure() ? "failed" : "succeeded", verdict.reason});
}

void Metrics::Counted(const JobSpec& spec, const CountedPods& before,
                      const CountedPods& after) const {
  // Succeeded indexes that completions has been lowered beneath count neither before nor after.
  const int64_t succeeded = spec.indexed ? IndexCount(after.completed_indexes, spec) -
                                               IndexCount(before.completed_indexes, spec)
                                         : after.succeeded - before.succeeded;
  const int64_t failed = after.failed - before.failed;
  const auto add = [&](const char* result, int64_t count) {
    if (count > 0) pods_finished_.Add({Mode(spec.indexed), result}, static_cast<double>(count));
  };
  add("succeeded", succeeded);
  add("failed", failed);
  if (!spec.indexed) return;
  const std::string_view limit = spec.PerIndex() ? "perIndex" : "global";
  if (succeeded > 0) indexes_finished_.Add({"succeeded", limit}, static_cast<double>(succeeded));
  const int64_t failed_indexes =
      IndexCount(after.failed_indexes, spec) - IndexCount(before.failed_indexes, spec);
  if (failed_indexes > 0)
    indexes_finished_.Add({"failed", limit}, static_cast<double>(failed_indexes));
}

void Metrics::Created(std::string_view reason, int64_t succeeded, int64_t failed) const {
  if (succeeded > 0) creations_.Add({reason, "succeeded"}, static_cast<double>(succeeded));
  if (failed > 0) creations_.Add({reason, "failed"}, static_cast<double>(failed));
}

void Metrics::FailuresHandled(const std::map<FailureAction, int64_t>& handled) const {
  for (const auto& [action, count] : handled)
    failures_handled_.Add({ActionName(action)}, static_cast<double>(count));
}

void Metrics::TrackedTerminalPod(bool was, bool is) const {
  if (was != is) tracked_.Add({is ? "add" : "delete"});
}

void Metrics::ExternallyManaged(std::string_view manager) const { external_.Add({manager}); }

std::string_view CreationReason(const JobSpec& spec, int64_t failed, int64_t terminating) {
  if (failed > 0 && spec.replacement_policy_failed) return "recreate_failed";
  return failed > 0 || terminating > 0 ? "recreate_terminating_or_failed" : "new";
}

}  // namespace kcm::pod::job
