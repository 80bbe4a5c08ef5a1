// SPDX-License-Identifier: Apache-2.0
// Finalizers in the spec of a namespace.
#include "plugins/namespace/namespace/finalizers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "kcm/rules/json_node.h"

namespace kcm::ns::namespaces {
namespace {

constexpr std::string_view kOwnFinalizer = "kubernetes";

}  // namespace

std::vector<std::string> ForeignFinalizers(rules::Node namespace_object) {
  std::vector<std::string> out;
  for (const rules::Node finalizer : namespace_object.Path("spec.finalizers").Items()) {
    if (finalizer.String() != kOwnFinalizer) out.emplace_back(finalizer.String());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool IsFinalized(rules::Node namespace_object) {
  const rules::Node have = namespace_object.Path("spec.finalizers");
  const std::vector<std::string> want = ForeignFinalizers(namespace_object);
  if (have.size() != want.size()) return false;
  for (size_t i = 0; i < want.size(); ++i) {
    if (have.At(i).String() != want[i]) return false;
  }
  return true;
}

void RemoveOwnFinalizer(sdk::Json& namespace_object) {
  const std::vector<std::string> foreign = ForeignFinalizers(rules::JsonNode(namespace_object));
  namespace_object["spec"] = {{"finalizers", foreign}};
  namespace_object.erase("status");
}

}  // namespace kcm::ns::namespaces
