// SPDX-License-Identifier: Apache-2.0
// job-controller: runs the pods of Jobs until they complete or fail, and counts each finished pod
// exactly once (spec/pod-batch.md section 1).
#pragma once
#include <string>
#include <string_view>

#include "kcm/rules/label_selector.h"
#include "kcm/rules/result.h"
#include "kcm/sdk/context.h"
#include "kcm/sdk/controller.h"
#include "plugins/pod/job/features.h"
#include "plugins/pod/job/memory.h"
#include "plugins/pod/job/metrics.h"
#include "plugins/pod/ownership/own_writes.h"
#include "plugins/pod/ownership/owner_lookup.h"

namespace kcm::pod::job {

// Thread-safe as the SDK calls it: one key is with one worker, events come beside that.
class Controller {
 public:
  explicit Controller(sdk::Context& context);

  void OnChange(const sdk::Change& change);
  sdk::Outcome Reconcile(sdk::Run& run);
  std::string SaveState() const { return memory_.Save(); }
  void LoadState(std::string_view state) { memory_.Load(state); }

 private:
  // triggers.cc: what wakes it
  void OnJobChange(const sdk::Change& change);
  void OnJobUpdate(const sdk::Change& change);
  void OnPodChange(const sdk::Change& change);
  void OnLivingPod(const sdk::Change& change);
  enum class Deletion { kAsked, kFinal };
  void OnPodDeletion(const sdk::Change& change, Deletion deletion);
  void LookAfterPodsOf(std::string_view ns, rules::Node job) const;
  void LookAfterOrphan(const sdk::Change& change) const;

  sdk::Outcome ReconcileJob(sdk::Run& run);
  void Forget(std::string_view key, std::string_view uid);

  // orphans.cc: the orphan queue
  sdk::Outcome ReconcileOrphans(sdk::Run& run);
  Status ReleaseOrphan(const sdk::Run& run, const sdk::ObjectRef& pod, const Features& features);
  bool IsOrphan(const sdk::ObjectRef& pod, const Features& features) const;

  sdk::Context& context_;
  const OwnerLookup jobs_;
  const Metrics metrics_;
  Memory memory_;
  OwnWrites own_writes_;
};

}  // namespace kcm::pod::job
