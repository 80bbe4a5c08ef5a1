// SPDX-License-Identifier: Apache-2.0
// Paths of the kinds that tests use.
#pragma once
#include <string>
#include <string_view>

namespace kcm::harness {

struct KnownResource {
  std::string_view plural, kind, api_version;
  bool namespaced;
};
// By plural or kind; nullptr: not in the table.
const KnownResource* FindResource(std::string_view plural_or_kind);

}  // namespace kcm::harness
