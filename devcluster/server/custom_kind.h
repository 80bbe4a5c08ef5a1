// SPDX-License-Identifier: Apache-2.0
// One served version of a CustomResourceDefinition as a kind: schema, subresources, columns.
#pragma once
#include <memory>

#include "devcluster/api/strategy.h"
#include "devcluster/kinds/custom_schema.h"

namespace kcm::devcluster {

// Every kind with `custom` set is one.
struct CustomKind : ResourceKind {
  std::shared_ptr<const kinds::CustomSchema> schema;  // nullptr: the version has none
  bool terminating = false;                           // the CRD goes: no new objects
};
inline bool IsTerminating(const ResourceKind& kind) {
  return kind.custom && static_cast<const CustomKind&>(kind).terminating;
}

// `version`: an entry of spec.versions of `crd`. `registry` has the rules of metadata; it outlives
// the kind.
std::shared_ptr<ResourceKind> MakeCustomKind(const KindRegistry& registry, const Json& crd,
                                             const Json& version);

}  // namespace kcm::devcluster
