// SPDX-License-Identifier: Apache-2.0
// Custom resources: a stored CustomResourceDefinition makes the server serve its kinds
// (spec/apiserver B1). Schemas are accepted and not enforced; objects are JSON only.
#pragma once
#include <memory>
#include <string>

#include "devcluster/server/core.h"

namespace kcm::devcluster {

// Thread-safe.
class CustomKinds {
 public:
  explicit CustomKinds(State* state) : state_(state) {}
  // After a CRD was stored (created or changed): serves what it declares and writes its status
  // conditions.
  void Serve(const std::string& crd);
  // After a CRD was removed: its kinds and all their objects are gone.
  void Drop(const std::string& crd);

 private:
  State* state_;
};

}  // namespace kcm::devcluster
