// SPDX-License-Identifier: Apache-2.0
// disruption-controller: keeps the status of PodDisruptionBudgets, from which the eviction endpoint
// takes how many pods may go, and takes back the condition DisruptionTarget of pods that stayed
// (spec/pod-batch.md section 5).
#pragma once
#include <string_view>

#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"
#include "plugins/pod/disruption/budget.h"

namespace kcm::pod::disruption {

class Controller {
 public:
  explicit Controller(sdk::Context& context) : context_(context) {}
  void OnChange(const sdk::Change& change) const;
  sdk::Outcome Reconcile(sdk::Run& run) const;

 private:
  struct MatchingPods;

  void OnPodChange(const sdk::Change& change) const;
  sdk::Outcome ReconcileBudget(const sdk::Run& run) const;
  // What is allowed now, written down. Any error but a conflict is one to fail safe on.
  Status Sync(const sdk::Run& run, const sdk::WholeRef& budget) const;
  Result<MatchingPods> PodsOf(const sdk::WholeRef& budget) const;
  Result<Expected> CountExpected(const sdk::Run& run, const sdk::WholeRef& budget,
                                 const MatchingPods& pods) const;
  Status FailSafe(const sdk::Run& run, const sdk::WholeRef& budget, const Error& error) const;
  sdk::Outcome ReconcileStaleTarget(const sdk::Run& run) const;

  void Tell(const sdk::WholeRef& budget, sdk::EventType type, std::string_view reason,
            std::string_view message) const;

  sdk::Context& context_;
};

}  // namespace kcm::pod::disruption
