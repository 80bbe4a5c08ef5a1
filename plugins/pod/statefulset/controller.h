// SPDX-License-Identifier: Apache-2.0
// statefulset-controller: pods with stable names and claims, created, updated and removed in order
// (spec/pod-workloads.md section 5).
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"
#include "plugins/pod/ownership/owner_lookup.h"
#include "plugins/pod/statefulset/chosen_revisions.h"
#include "plugins/pod/statefulset/issued_deletions.h"
#include "plugins/pod/statefulset/reconciler.h"

namespace kcm::pod::statefulset {

// Thread-safe as the SDK calls it: one key is with one worker, events come beside that.
class Controller {
 public:
  explicit Controller(sdk::Context& context);

  void OnChange(const sdk::Change& change);
  sdk::Outcome Reconcile(sdk::Run& run);

 private:
  void OnOwnChange(const sdk::Change& change);
  void OnPodChange(const sdk::Change& change);
  void OnClaimChange(const sdk::Change& change);
  void Forget(std::string_view key, std::string_view uid);

  sdk::Context& context_;
  const OwnerLookup sets_;
  Features features_;
  OwnWrites own_writes_;       // lost with a restart: then the caches are fresh
  ChosenRevisions chosen_;     // likewise; see there
  IssuedDeletions deletions_;  // likewise
};

}  // namespace kcm::pod::statefulset
