// SPDX-License-Identifier: Apache-2.0
// Gates and server versions.
#include "plugins/pod/job/features.h"

#include <string>

#include "plugins/pod/server_features.h"

namespace kcm::pod::job {
namespace {

constexpr int kFirstMinorWithPodReplacementPolicy = 29;
constexpr int kFirstMinorWithSuccessPolicy = 31;
constexpr int kFirstMinorWithDelayedCondition = 31;

}  // namespace

Features FeaturesOf(const std::function<bool(std::string_view)>& gate,
                    std::string_view feature_gates, int server_minor) {
  const auto since = [&](std::string_view name, int minor) {
    return gate(name) && (server_minor >= minor || IsTurnedOn(feature_gates, name));
  };
  const bool replacement = since("JobPodReplacementPolicy", kFirstMinorWithPodReplacementPolicy);
  const bool managed_by = gate("JobManagedBy");
  return {.backoff_limit_per_index = gate("JobBackoffLimitPerIndex"),
          .pod_replacement_policy = replacement,
          .managed_by = managed_by,
          .success_policy = since("JobSuccessPolicy", kFirstMinorWithSuccessPolicy),
          .delayed_terminal_condition =
              server_minor >= kFirstMinorWithDelayedCondition && (replacement || managed_by),
          .clears_start_time = gate("MutableSchedulingDirectivesForSuspendedJobs"),
          .reads_own_writes = gate("StaleControllerConsistencyJob")};
}

Result<Features> FeaturesOf(const sdk::Context& context) {
  const Result<int> minor = context.discovery().ServerMinor();
  if (!minor.ok()) return minor.error();
  const std::string gates = context.config().Flag("feature-gates").value_or("");
  const sdk::Config config = context.config();
  return FeaturesOf([&](std::string_view name) { return config.Gate(name); }, gates, *minor);
}

}  // namespace kcm::pod::job
