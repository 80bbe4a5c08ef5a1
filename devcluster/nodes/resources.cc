// SPDX-License-Identifier: Apache-2.0
// Reads resource amounts.
#include "devcluster/nodes/resources.h"

#include "kcm/rules/quantity.h"

namespace kcm::devcluster::nodes {

int64_t MilliCpu(std::string_view quantity) {
  if (quantity.empty()) return 0;
  const auto q = rules::Quantity::Parse(quantity);
  return q.ok() ? q->MilliValue() : 0;
}

int64_t Bytes(std::string_view quantity) {
  if (quantity.empty()) return 0;
  const auto q = rules::Quantity::Parse(quantity);
  return q.ok() ? q->Value() : 0;
}

}  // namespace kcm::devcluster::nodes
