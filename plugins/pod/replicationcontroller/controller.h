// SPDX-License-Identifier: Apache-2.0
// replicationcontroller-controller: the engine of ReplicaSets for v1 ReplicationControllers
// (spec/pod-workloads.md section 3).
#pragma once
#include "plugins/pod/replicaset/controller.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::replicationcontroller {

// A plain map as selector; no terminatingReplicas, its own writes are not waited for, no
// co-location rank.
inline constexpr replicaset::Flavour kFlavour{.resource = kReplicationControllers,
                                              .selector = SelectorForm::kMap};

class Controller : public replicaset::Controller {
 public:
  explicit Controller(sdk::Context& context) : replicaset::Controller(context, kFlavour) {}
};

}  // namespace kcm::pod::replicationcontroller
