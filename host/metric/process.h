// SPDX-License-Identifier: Apache-2.0
// Metrics about the process and about the registry itself (spec/host.md 10.2).
#pragma once
#include "host/metric/registry.h"

namespace kcm::host::metric {

// process_*: read from /proc at each scrape; what can not be read is left out. `registry` outlives
// the process's scrapes.
void RegisterProcessMetrics(Registry& registry);

// registered_metrics_total, disabled_metrics_total, hidden_metrics_total.
void RegisterRegistryMetrics(Registry& registry);

}  // namespace kcm::host::metric
