// SPDX-License-Identifier: Apache-2.0
// deployment-controller: rolls a pod template out through ReplicaSets (spec/pod-workloads.md
// section 4).
//
// It keeps no state of its own: everything is in the objects.
#pragma once
#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"
#include "plugins/pod/ownership/owner_lookup.h"

namespace kcm::pod::deployment {

// Thread-safe as the SDK calls it.
class Controller {
 public:
  explicit Controller(sdk::Context& context);

  void OnChange(const sdk::Change& change);
  sdk::Outcome Reconcile(sdk::Run& run);

 private:
  void OnReplicaSetChange(const sdk::Change& change);
  void OnPodGone(const sdk::Change& change);
  bool HasAnyPod(const sdk::WholeRef& deployment) const;

  sdk::Context& context_;
  const OwnerLookup deployments_, replica_sets_;
};

}  // namespace kcm::pod::deployment
