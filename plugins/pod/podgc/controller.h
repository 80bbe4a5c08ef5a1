// SPDX-License-Identifier: Apache-2.0
// pod-garbage-collector-controller: force-deletes pods that nobody else will delete
// (spec/pod-batch.md section 6).
#pragma once
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"
#include "plugins/pod/podgc/candidates.h"

namespace kcm::pod::podgc {

class Controller {
 public:
  explicit Controller(sdk::Context& context);
  void OnChange(const sdk::Change&) {}
  // The quarantine of a node is over: the next run looks at it.
  sdk::Outcome Reconcile(sdk::Run& run);
  kcm::Status OnTask(uint32_t task, sdk::Run& run);

 private:
  struct Snapshot;
  // Why pods are deleted: the metrics' label, and what their status says.
  struct Reason {
    std::string_view name;
    Disruption disruption = Disruption::kNone;
  };
  using Pods = std::vector<const sdk::ObjectRef*>;

  Pods SurplusPods(const Snapshot& snapshot) const;
  Pods OrphanedPods(const sdk::Run& run, const Snapshot& snapshot);
  // Nodes of the snapshot's pods whose quarantine is over and that the server does not know.
  std::set<std::string, std::less<>> GoneNodes(const sdk::Run& run, const Snapshot& snapshot);

  void DeleteOneByOne(const sdk::Run& run, const Pods& pods, const Reason& reason) const;
  void DeleteTogether(const sdk::Run& run, const Pods& pods, const Reason& reason) const;
  // Makes a pod that still runs Failed. True when it may be deleted.
  bool MarkFailed(const sdk::Run& run, const sdk::ObjectRef& pod, const Reason& reason) const;
  void Count(const sdk::Run& run, const sdk::ObjectRef& pod, const Reason& reason,
             const Status& deleted) const;

  sdk::Context& context_;
  sdk::Metric deletions_, errors_;
  std::mutex mutex_;
  // Nodes whose quarantine is over; guarded by mutex_. A name lost with this process or build goes
  // through another quarantine.
  std::set<std::string, std::less<>> due_;
};

}  // namespace kcm::pod::podgc
