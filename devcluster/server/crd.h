// SPDX-License-Identifier: Apache-2.0
// Custom resources: a stored CustomResourceDefinition makes the server serve its kinds
// (spec/apiserver B1). The annotation `sim/without-verbs: deletecollection` takes verbs away.
// Objects are JSON only.
#pragma once
#include <memory>
#include <string>

#include "devcluster/server/api_services.h"
#include "devcluster/server/core.h"

namespace kcm::devcluster {

// Thread-safe.
class CustomKinds {
 public:
  explicit CustomKinds(State* state) : state_(state), groups_(state) {}
  // Once, over a store that outlived its server: serves the stored CRDs and APIServices, and
  // finishes what an end at the wrong moment left undone: status of a new CRD, objects of a removed
  // one.
  void ServeStored();
  // After a CRD was stored (created or changed): serves what it declares and writes its status
  // conditions.
  void Serve(const std::string& crd);
  // After a CRD was removed: its kinds and all their objects are gone.
  void Drop(const std::string& crd);
  // Groups of aggregated API servers.
  ApiServices& groups() { return groups_; }

 private:
  State* state_;
  ApiServices groups_;
};

}  // namespace kcm::devcluster
