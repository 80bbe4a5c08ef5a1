// SPDX-License-Identifier: Apache-2.0
// replicaset-controller: keeps spec.replicas active pods per ReplicaSet and reports their counts
// (spec/pod-workloads.md section 2). The same engine serves ReplicationControllers (section 3),
// told apart by a Flavour.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/expectations.h"
#include "kcm/rules/label_selector.h"
#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"
#include "plugins/pod/ownership/claim.h"
#include "plugins/pod/ownership/own_writes.h"
#include "plugins/pod/ownership/owner_lookup.h"
#include "plugins/pod/replicaset/pods.h"
#include "plugins/pod/replicaset/status.h"

namespace kcm::pod::replicaset {

// How the two kinds differ.
struct Flavour {
  sdk::Resource resource;
  SelectorForm selector = SelectorForm::kLabelSelector;
  bool reports_terminating = false;
  bool reads_own_writes = false;  // (1.7)
  bool has_related_pods = false;  // siblings of one Deployment share nodes (1.9 step 5)
};

// Thread-safe as the SDK calls it: one key is with one worker, events come beside that.
class Controller {
 public:
  explicit Controller(sdk::Context& context);
  Controller(sdk::Context& context, const Flavour& flavour);

  void OnChange(const sdk::Change& change);
  sdk::Outcome Reconcile(sdk::Run& run);

 private:
  struct Sync;  // what one reconcile works on

  void OnOwnChange(const sdk::Change& change);
  void OnPodChange(const sdk::Change& change);
  void Forget(std::string_view key, std::string_view uid);
  void Wrote(const Sync& sync, const sdk::Resource& resource, std::string_view version);

  sdk::Outcome Act(Sync& sync);
  Status ClaimPods(Sync& sync);
  std::optional<Error> ManageReplicas(Sync& sync);
  std::optional<Error> Create(Sync& sync, int64_t count);
  std::optional<Error> Delete(Sync& sync, int64_t count);
  std::vector<sdk::ObjectRef> RelatedPods(const sdk::WholeRef& owner) const;
  Status WriteStatus(Sync& sync, const Counts& counts, const FailureChange& failure);
  sdk::Outcome AwaitAvailability(const Sync& sync, const Counts& counts) const;

  sdk::Context& context_;
  const Flavour flavour_;
  const OwnerLookup owners_;
  sdk::Metric age_ratio_;
  rules::Expectations expectations_;     // by uid; lost with a restart: then the caches are fresh
  std::optional<OwnWrites> own_writes_;  // likewise
};

}  // namespace kcm::pod::replicaset
