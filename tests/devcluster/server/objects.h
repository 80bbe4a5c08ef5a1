// SPDX-License-Identifier: Apache-2.0
// Where several tests of the server keep objects, and how they write JSON.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace kcm::devcluster::test {

inline const std::string kMaps = "/api/v1/namespaces/default/configmaps";
inline const std::string kWidgets = "/apis/example.com/v1/namespaces/default/widgets";

inline nlohmann::json J(const char* text) { return nlohmann::json::parse(text); }

}  // namespace kcm::devcluster::test
