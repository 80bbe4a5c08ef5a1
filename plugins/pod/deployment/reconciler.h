// SPDX-License-Identifier: Apache-2.0
// Reconciler: one reconcile of one Deployment, in the order of spec/pod-workloads.md section 4. It
// observes and acts; what to do is decided by the pure functions beside it.
//
//   Reconciler reconciler(context, run, std::move(deployment), with_terminating, &written);
//   const Status done = reconciler.Run();
//   if (done.ok() && reconciler.look_again()) ...
//
// One thread, one use. Written objects replace those of the cache for the rest of the reconcile, so
// that a second write to the same object carries the version of the first.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"
#include "kcm/rules/time.h"
#include "kcm/rules/write_barrier.h"
#include "kcm/sdk/context.h"
#include "plugins/pod/deployment/body.h"
#include "plugins/pod/deployment/rollout.h"
#include "plugins/pod/deployment/scale.h"
#include "plugins/pod/deployment/status.h"

namespace kcm::pod::deployment {

class Reconciler {
 public:
  // `written`: told of writes of the Deployment itself.
  Reconciler(const sdk::Context& context, const sdk::Run& run, sdk::WholeRef deployment,
             bool with_terminating, rules::WriteBarrier* written);

  Status Run();
  // When the progress deadline is to be looked at again.
  std::optional<sdk::Duration> look_again() const { return look_again_; }

 private:
  enum class Creation { kForbidden, kAllowed };

  // reconciler.cc: the order of things, and what is read
  Status RefuseToSelectAll();
  Status Claim();
  Status OnlyReport();
  Status NotePause();
  Status Scale(bool* finished);
  Status ReadDeployment();
  void Replace(size_t set, sdk::WholeRef by);
  void Refresh();

  // new_replica_set.cc
  Status SyncNewReplicaSet(Creation creation);
  Status UpdateNewReplicaSet();
  Status CreateNewReplicaSet(int64_t revision);
  Status SettleCollision(const NewReplicaSet& fresh, const Error& error, bool* ours);
  Status NoteRevision(std::string_view revision, std::optional<Condition> progress);

  // strategies.cc
  Status RollingUpdate();
  Status ScaleDownOldSets(bool* scaled);
  Status Recreate();
  bool AnyOldPodRunning() const;
  Status CleanUpIfComplete();
  Status CleanUp();
  Status Rollback(int64_t target);

  // writes.cc
  Status Resize(size_t set, int64_t to, bool forced, bool* scaled);
  Status Report();         // plain status
  Status ReportRollout();  // with progress
  Status PutStatus(const DeploymentStatus& status);
  Status PutStatusOf(const sdk::Edit& edit);
  void Tell(sdk::EventType type, std::string_view reason, std::string_view message) const;

  DeploymentStatus CurrentStatus() const;

  const sdk::Context& context_;
  const sdk::Run& run_;
  const sdk::Client client_;
  const rules::WallTime now_;
  const bool with_terminating_;
  rules::WriteBarrier* const written_;
  sdk::WholeRef object_;
  std::vector<sdk::WholeRef> sets_;  // in the order of rollout_.sets
  Rollout rollout_;                  // borrows from object_ and sets_
  std::optional<sdk::Duration> look_again_;
};

}  // namespace kcm::pod::deployment
