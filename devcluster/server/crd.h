// SPDX-License-Identifier: Apache-2.0
// Custom resources: a stored CustomResourceDefinition makes the server serve its kinds
// (spec/apiserver B1). The annotation `sim/without-verbs: deletecollection` takes verbs away.
// Objects are JSON only.
#pragma once
#include <memory>
#include <mutex>
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
  // After a CRD was stored (created or changed): serves what it declares once its names are its own
  // in the group, and writes its status.
  void Serve(const std::string& crd);
  // After a CRD was removed: its kinds and all their objects are gone.
  void Drop(const std::string& crd);
  // Whether objects of the CRD exist. Its deletion then waits for theirs, held by kCleanup.
  bool HasObjects(const std::string& crd) const;
  // Of a CRD that is being deleted: deletes its objects, those with finalizers as far as that goes,
  // and lets go of the CRD with the last of them. To be called after every write of an object.
  void CleanUp(const std::string& crd);
  static constexpr const char* kCleanup = "customresourcecleanup.apiextensions.k8s.io";
  // Groups of aggregated API servers.
  ApiServices& groups() { return groups_; }

 private:
  void ServeWaiting(const std::string& group);
  void RegisterGroup(const std::string& group);

  State* state_;
  std::mutex names_mutex_;  // two CRDs do not take the same name at once
  ApiServices groups_;
};

}  // namespace kcm::devcluster
