// SPDX-License-Identifier: Apache-2.0
// Members of JSON that came from elsewhere. Private to host/client.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace kcm::host::client {

// The text of a member; "" when `object` is none, or the member is absent or not a string.
inline std::string TextOf(const nlohmann::json& object, const char* name) {
  const auto it = object.is_object() ? object.find(name) : object.end();
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace kcm::host::client
