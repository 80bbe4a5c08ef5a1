// SPDX-License-Identifier: Apache-2.0
// Reconciler: one reconcile of one Job, in the order of spec/pod-batch.md 1.4 and 1.10. It observes
// and acts; what to do is decided by the pure functions beside it.
//
//   Reconciler reconciler({context, memory, own_writes, metrics, features}, run, std::move(job));
//   const Status done = reconciler.Run();
//
// One thread, one use. Status writes are chained: each is based on the answer of the one before.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/result.h"
#include "kcm/rules/time.h"
#include "kcm/sdk/context.h"
#include "plugins/pod/job/features.h"
#include "plugins/pod/job/indexes.h"
#include "plugins/pod/job/memory.h"
#include "plugins/pod/job/metrics.h"
#include "plugins/pod/job/pods.h"
#include "plugins/pod/job/spec.h"
#include "plugins/pod/job/tracking.h"
#include "plugins/pod/job/verdict.h"
#include "plugins/pod/ownership/own_writes.h"
#include "plugins/pod/pod_control/pod_control.h"

namespace kcm::pod::job {

// Events of a Job's pods within this time cause one reconcile.
inline constexpr std::chrono::seconds kBatchPeriod{1};

// What outlives a reconcile.
struct Tools {
  const sdk::Context& context;
  Memory& memory;
  OwnWrites& own_writes;
  const Metrics& metrics;
  const Features& features;
};

class Reconciler {
 public:
  Reconciler(const Tools& tools, const sdk::Run& run, sdk::WholeRef job);

  Status Run();
  // What was done with pods: the label of the metrics.
  std::string_view action() const { return action_; }

 private:
  // reconciler.cc: the order of things, and what is read
  Status ReadPods();
  void CountPods();
  BackOffRecord NewBackOff() const;
  void NoteStart();
  void Decide();
  std::optional<Error> StopPods();
  std::optional<Error> LookAfterPods();
  void NoteSuspension();

  // pod_management.cc: how many pods there are to be
  std::optional<Error> ManagePods();
  std::optional<Error> Remove(const std::vector<const JobPod*>& pods);
  std::optional<Error> Create(int64_t count);
  Created Post(const std::vector<int64_t>& indexes, int64_t count);
  std::vector<const JobPod*> ActivePods() const;
  void NoteRemoved(const std::vector<const JobPod*>& pods, const Memory::Uids& still_there);
  void LookAgainAfter(sdk::Duration delay) const;

  // finish.cc: counting, and the end
  Status TrackAndFinish();
  Status PutStatus(const char* purpose);
  // Removes the finalizer of each; `failed` is given each one that may still have it.
  std::optional<Error> Release(const std::vector<const JobPod*>& pods,
                               const std::function<void(const JobPod&, const Error&)>& failed);
  void AnnounceEnd() const;

  std::string_view uid() const { return uid_; }
  void Tell(sdk::EventType type, std::string_view reason, std::string_view message) const;
  void Wrote(const sdk::Resource& resource, std::string_view version) const;
  const Indexes* indexes() const { return indexes_ ? &*indexes_ : nullptr; }

  const Tools tools_;
  const sdk::Run& run_;
  const sdk::Client client_;
  const rules::WallTime now_;
  const sdk::WholeRef job_;  // as it was read: spec_, pods_ and messages borrow from it
  const std::string uid_;
  const bool deleting_;
  const JobSpec spec_;
  sdk::Edit edit_;       // the status as it is to be
  CountedPods counted_;  // of the status as it is written
  bool write_pending_ = false;

  bool satisfied_ = false;  // what was created and deleted before is seen
  std::vector<sdk::ObjectRef> refs_;
  std::vector<JobPod> pods_;  // borrows from refs_
  int64_t active_ = 0, ready_ = 0, terminating_ = 0;
  int64_t succeeded_ = 0, failed_ = 0;
  BackOffRecord back_off_;
  std::optional<Indexes> indexes_;
  Verdict verdict_;
  std::string_view action_ = kReconciling;
};

}  // namespace kcm::pod::job
