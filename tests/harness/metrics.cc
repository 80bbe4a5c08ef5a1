// SPDX-License-Identifier: Apache-2.0
// Reading the host's metrics without its endpoint.
#include "harness/impl.h"

namespace kcm::harness {

std::optional<double> Cluster::Metric(const std::string& line) {
  const std::string text = host_->MetricsText();
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = text.find('\n', at);
    const std::string row = text.substr(at, end - at);
    if (row.starts_with(line + " ")) return std::stod(row.substr(line.size() + 1));
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace kcm::harness
