// SPDX-License-Identifier: Apache-2.0
// daemonset-controller: one pod of a DaemonSet on every node that is eligible, replaced node by
// node when the template changes (spec/pod-workloads.md section 6).
#pragma once
#include "kcm/rules/taint.h"
#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"
#include "plugins/pod/daemonset/reconciler.h"
#include "plugins/pod/ownership/owner_lookup.h"

namespace kcm::pod::daemonset {

// Thread-safe as the SDK calls it: one key is with one worker, events come beside that.
class Controller {
 public:
  explicit Controller(sdk::Context& context);

  void OnChange(const sdk::Change& change);
  sdk::Outcome Reconcile(sdk::Run& run);

 private:
  // triggers.cc
  void OnOwnChange(const sdk::Change& change);
  void OnPodChange(const sdk::Change& change);
  void OnNodeChange(const sdk::Change& change);
  void OnRevisionChange(const sdk::Change& change);
  sdk::Outcome ReconcileNode(sdk::Run& run);

  sdk::Outcome ReconcileSet(sdk::Run& run);
  sdk::Outcome Act(sdk::Run& run, sdk::WholeRef set);

  sdk::Context& context_;
  const OwnerLookup sets_;
  const rules::ComparisonOperators comparison_;
  Memory memory_;
};

}  // namespace kcm::pod::daemonset
