// SPDX-License-Identifier: Apache-2.0
// Amounts of cpu and memory as the integers that scheduling adds up.
#pragma once
#include <cstdint>
#include <string_view>

namespace kcm::devcluster::nodes {

// "250m" is 250, "2" is 2000. 0 for anything that is not a quantity.
int64_t MilliCpu(std::string_view quantity);
// "64Gi" in bytes; also plain counts ("500" pods). 0 for anything that is not a quantity.
int64_t Bytes(std::string_view quantity);

}  // namespace kcm::devcluster::nodes
