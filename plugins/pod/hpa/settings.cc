// SPDX-License-Identifier: Apache-2.0
// Reads the flags.
#include "plugins/pod/hpa/settings.h"

#include <chrono>
#include <stdexcept>

#include "kcm/rules/go_duration.h"
#include "plugins/pod/hpa/declaration.h"

namespace kcm::pod::hpa {

Settings Settings::Of(const sdk::Config& config) {
  using std::chrono::minutes;
  using std::chrono::seconds;
  Settings out;
  out.sync_period = config.DurationOf(kSyncPeriodFlag, seconds(15));
  out.downscale_stabilization = config.DurationOf(kDownscaleStabilizationFlag, minutes(5));
  out.cpu_initialization = config.DurationOf(kCpuInitializationFlag, minutes(5));
  out.initial_readiness_delay = config.DurationOf(kInitialReadinessDelayFlag, seconds(30));
  out.tolerance = config.Real(kToleranceFlag, 0.1);
  out.scale_to_zero = config.Gate("HPAScaleToZero");
  out.configurable_tolerance = config.Gate("HPAConfigurableTolerance");
  out.pod_level_resources = config.Gate("PodLevelResources");
  if (out.sync_period <= sdk::Duration(0)) {
    throw std::runtime_error("--" + std::string(kSyncPeriodFlag) +
                             " must be greater than 0, but "
                             "got " +
                             rules::FormatDuration(out.sync_period));
  }
  return out;
}

}  // namespace kcm::pod::hpa
