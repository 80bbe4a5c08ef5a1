// SPDX-License-Identifier: Apache-2.0
// Which label values metrics may show: --allow-metric-labels and its manifest (spec/host.md 1.3).
#pragma once
#include <string>
#include <vector>

#include "host/config/options.h"

namespace kcm::host::config {

// `pairs` are ("metric,label", "v1,v2"); the manifest is a YAML map of the same. The flag wins over
// the manifest. Entries with a malformed key are passed over (validation reports them). Error: the
// manifest can not be read, with its path.
Result<std::vector<MetricsOptions::LabelValues>> AllowedMetricLabels(
    const StringPairs& pairs, const std::string& manifest_path);

}  // namespace kcm::host::config
