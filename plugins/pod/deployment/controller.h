// SPDX-License-Identifier: Apache-2.0
// deployment-controller: rolls a pod template out through ReplicaSets (spec/pod-workloads.md
// section 4).
//
// It keeps no state of its own, everything is in the objects; but a Deployment whose own last write
// the cache does not show yet is put off (docs/decisions/0011).
#pragma once
#include "kcm/rules/write_barrier.h"
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
  bool ShowsOwnWrites(std::string_view key);

  sdk::Context& context_;
  const OwnerLookup deployments_, replica_sets_;
  rules::WriteBarrier written_;
};

}  // namespace kcm::pod::deployment
