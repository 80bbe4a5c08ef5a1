// SPDX-License-Identifier: Apache-2.0
// deployment-controller: rolls a pod template out through ReplicaSets (spec/pod-workloads.md
// section 4).
//
// It keeps no state of its own: everything is in the objects.
#pragma once
#include <optional>
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"

namespace kcm::pod::deployment {

// Thread-safe as the SDK calls it.
class Controller {
 public:
  explicit Controller(sdk::Context& context) : context_(context) {}

  void OnChange(const sdk::Change& change);
  sdk::Outcome Reconcile(sdk::Run& run);

 private:
  void OnReplicaSetChange(const sdk::Change& change);
  void OnPodGone(const sdk::Change& change);
  void WakeMatching(std::string_view ns, rules::Node replica_set);
  std::optional<sdk::WholeRef> Resolve(std::string_view ns, rules::Node reference) const;
  bool HasAnyPod(const sdk::WholeRef& deployment) const;

  sdk::Context& context_;
};

}  // namespace kcm::pod::deployment
