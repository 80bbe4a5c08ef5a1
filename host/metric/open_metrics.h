// SPDX-License-Identifier: Apache-2.0
// OpenMetrics 1.0 text, which prometheus-cpp does not write.
#pragma once
#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace kcm::host::metric {

// Ends with "# EOF". A counter whose name does not end in _total is of type unknown, as the format
// demands. Help texts are expected with backslash and newline escaped already.
std::string OpenMetricsText(const std::vector<prometheus::MetricFamily>& families);

}  // namespace kcm::host::metric
