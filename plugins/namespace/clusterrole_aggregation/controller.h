// SPDX-License-Identifier: Apache-2.0
// clusterrole-aggregation-controller: fills `rules` of ClusterRoles that have an aggregationRule
// with the union of the rules of the roles that it selects (spec/namespace.md).
//
// informer -> queue -> worker -> sync: a change of any role (OnChange) puts the names of all
// aggregated roles into the queue; a worker takes a name, compares the wanted rules with those in
// the cache (Reconcile) and applies them only when they differ.
//
// Holds no state between two calls: what it needs is in the cache. Thread-safe, as each method
// only reads constants.
#pragma once
#include <span>

#include "kcm/rules/node.h"
#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"

namespace kcm::ns::clusterrole_aggregation {

class Controller {
 public:
  explicit Controller(const sdk::Context& context)
      : cache_(context.cache()), queue_(context.queue()) {}

  void OnChange(const sdk::Change& change) const;
  sdk::Outcome Reconcile(sdk::Run& run) const;

 private:
  sdk::Cache cache_;
  sdk::Queues queue_;
};

}  // namespace kcm::ns::clusterrole_aggregation
