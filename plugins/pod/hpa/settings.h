// SPDX-License-Identifier: Apache-2.0
// Settings: flags and feature gates of the controller (spec/pod-batch.md 4.10). Fixed while it
// runs.
#pragma once
#include "kcm/sdk/context.h"

namespace kcm::pod::hpa {

struct Settings {
  sdk::Duration sync_period{0};
  sdk::Duration downscale_stabilization{0};
  sdk::Duration cpu_initialization{0};
  sdk::Duration initial_readiness_delay{0};
  double tolerance = 0;
  bool scale_to_zero = false;           // HPAScaleToZero
  bool configurable_tolerance = false;  // HPAConfigurableTolerance
  bool pod_level_resources = false;     // PodLevelResources

  // Throws std::runtime_error, which refuses the build, for a sync period that is not above 0.
  static Settings Of(const sdk::Config& config);
};

}  // namespace kcm::pod::hpa
