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
#include "kcm/rules/write_barrier.h"
#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"
#include "plugins/pod/ownership/claim.h"
#include "plugins/pod/replicaset/pods.h"
#include "plugins/pod/replicaset/status.h"

namespace kcm::pod::replicaset {

// How the two kinds differ.
struct Flavour {
  sdk::Resource resource;
  bool map_selector = false;  // spec.selector is a plain map
  bool reports_terminating = false;
  bool has_barrier = false;       // read-your-writes (1.7)
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
  void WakeMatching(std::string_view ns, rules::Node pod);
  std::optional<sdk::WholeRef> Resolve(std::string_view ns, rules::Node reference) const;
  Result<rules::LabelSelector> SelectorOf(rules::Node owner) const;

  std::optional<std::string> StaleResource(std::string_view key);
  Status ClaimPods(Sync& sync);
  std::optional<Error> ManageReplicas(Sync& sync);
  std::optional<Error> Create(Sync& sync, int64_t count);
  std::optional<Error> Delete(Sync& sync, int64_t count);
  std::vector<sdk::ObjectRef> RelatedPods(const sdk::WholeRef& owner) const;
  Status WriteStatus(Sync& sync, const Counts& counts, const FailureChange& failure);
  sdk::Outcome AwaitAvailability(const Sync& sync, const Counts& counts) const;

  sdk::Context& context_;
  const Flavour flavour_;
  sdk::Metric age_ratio_, stale_skips_;
  rules::Expectations expectations_;  // lost with a restart: then the caches are fresh
  rules::WriteBarrier barrier_;       // likewise
};

}  // namespace kcm::pod::replicaset
