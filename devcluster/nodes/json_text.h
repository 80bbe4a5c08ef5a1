// SPDX-License-Identifier: Apache-2.0
// Texts of JSON documents and in them.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "kcm/rules/json_node.h"

namespace kcm::devcluster::nodes {

// The body of a request. Bytes that are no UTF-8 are replaced, never refused.
inline std::string Dump(const nlohmann::json& j) {
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
// Empty when absent or no text.
inline std::string TextOf(rules::Node n) { return std::string(n.String()); }

}  // namespace kcm::devcluster::nodes
