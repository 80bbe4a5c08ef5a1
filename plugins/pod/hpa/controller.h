// SPDX-License-Identifier: Apache-2.0
// horizontal-pod-autoscaler-controller: once a sync period computes from metrics how many replicas
// a target should have and writes that to its scale (spec/pod-batch.md section 4).
#pragma once
#include <string>
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"
#include "plugins/pod/hpa/reconciler.h"

namespace kcm::pod::hpa {

class Controller {
 public:
  explicit Controller(sdk::Context& context) : shared_(context) {}
  void OnChange(const sdk::Change& change);
  sdk::Outcome Reconcile(sdk::Run& run);
  std::string SaveState() const { return shared_.histories.Save(); }
  void LoadState(std::string_view state) { shared_.histories.Load(state); }

 private:
  Shared shared_;
};

}  // namespace kcm::pod::hpa
