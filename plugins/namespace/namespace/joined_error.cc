// SPDX-License-Identifier: Apache-2.0
// Joins errors.
#include "plugins/namespace/namespace/joined_error.h"

#include <set>
#include <string>
#include <string_view>

namespace kcm::ns::namespaces {

Error JoinedError(const std::vector<Error>& errors) {
  Error out = errors.front();
  std::set<std::string_view> seen;
  std::string text;
  for (const Error& e : errors) {
    if (!seen.insert(e.message).second) continue;
    text.append(text.empty() ? "" : ", ").append(e.message);
  }
  out.message = seen.size() == 1 ? std::move(text) : "[" + text + "]";
  return out;
}

}  // namespace kcm::ns::namespaces
