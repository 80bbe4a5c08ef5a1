// SPDX-License-Identifier: Apache-2.0
// The metrics of job-controller (spec/pod-batch.md 1.16).
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string_view>

#include "kcm/sdk/context.h"
#include "plugins/pod/job/failure_policy.h"
#include "plugins/pod/job/spec.h"
#include "plugins/pod/job/status.h"
#include "plugins/pod/job/verdict.h"

namespace kcm::pod::job {

// What a sync did with pods: the label `action`.
inline constexpr std::string_view kReconciling = "reconciling";  // they were left alone
inline constexpr std::string_view kTracking = "tracking";
inline constexpr std::string_view kPodsCreated = "pods_created";
inline constexpr std::string_view kPodsDeleted = "pods_deleted";

// Copies share the host's metrics. Thread-safe.
class Metrics {
 public:
  // Registers them; throws what DefineMetric throws.
  explicit Metrics(const sdk::Context& context);

  void Synced(bool indexed, bool ok, std::string_view action,
              std::chrono::nanoseconds duration) const;
  void Finished(const JobSpec& spec, const Verdict& verdict) const;
  // What one status write added to the counters.
  void Counted(const JobSpec& spec, const CountedPods& before, const CountedPods& after) const;
  void Created(std::string_view reason, int64_t succeeded, int64_t failed) const;
  void FailuresHandled(const std::map<FailureAction, int64_t>& handled) const;
  // A terminal pod got (or came with) the tracking finalizer, or lost it.
  void TrackedTerminalPod(bool was, bool is) const;
  void ExternallyManaged(std::string_view manager) const;

 private:
  sdk::Metric duration_, syncs_, jobs_finished_, pods_finished_, failures_handled_, tracked_,
      indexes_finished_, creations_, external_;
};

// The label `reason` of a creation.
std::string_view CreationReason(const JobSpec& spec, int64_t failed, int64_t terminating);

}  // namespace kcm::pod::job
