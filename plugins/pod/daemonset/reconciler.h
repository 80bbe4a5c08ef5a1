// SPDX-License-Identifier: Apache-2.0
// Reconciler: one reconcile of one DaemonSet, in the order of spec/pod-workloads.md section 6:
// history, pods of the nodes, rolling update, status. It observes and acts; what to do is decided
// by the pure functions beside it.
//
// One thread, one use.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/expectations.h"
#include "kcm/rules/label_selector.h"
#include "kcm/rules/result.h"
#include "kcm/rules/taint.h"
#include "kcm/rules/time.h"
#include "kcm/sdk/context.h"
#include "plugins/pod/daemonset/failed_pods.h"
#include "plugins/pod/daemonset/fleet.h"
#include "plugins/pod/daemonset/spec.h"
#include "plugins/pod/ownership/own_writes.h"
#include "plugins/pod/revisions/history.h"

namespace kcm::pod::daemonset {

// What outlives a reconcile, by the DaemonSet's uid; thread-safe. Lost with a restart: then the
// caches are fresh.
struct Memory {
  explicit Memory(const sdk::Context& context);
  // The DaemonSet is gone. Back-offs of its nodes expire by themselves.
  void Forget(std::string_view key, std::string_view uid);

  rules::Expectations expectations;
  OwnWrites own_writes;
  FailedPodBackOff failed_pods;
};

class Reconciler {
 public:
  Reconciler(const sdk::Context& context, const sdk::Run& run, Memory& memory, sdk::WholeRef set,
             rules::LabelSelector selector, rules::ComparisonOperators comparison);

  Status Run();
  // When a pod becomes available by time alone.
  std::optional<sdk::Duration> look_again() const { return look_again_; }

 private:
  // Whether the status tells that this generation has been acted upon.
  enum class Acted : uint8_t { kNo, kYes };

  // reconciler.cc: the order of things, and the end of it
  Status ClaimPods();
  void ArrangeFleet();
  Status Act();
  Status Report(Acted acted);

  // revisions.cc
  Status ChooseRevision();
  Status LabelRevisions();
  Status CreateRevision(int64_t number);
  Status RaiseCollisionCount();
  Status KeepOne(const std::vector<size_t>& fitting);
  Status RelabelPods(std::string_view hash);
  Status CleanUpHistory();

  // pods.cc
  Status Manage();
  void ReplaceFailed(const std::string& node, const std::vector<size_t>& failed,
                     std::vector<size_t>& deleted);
  Status RollUpdate();
  Status Execute(std::vector<size_t> deleted, std::vector<std::string_view> created);

  void Wrote(const sdk::Resource& resource, std::string_view version) const;
  void Tell(sdk::EventType type, std::string_view reason, std::string_view message) const;

  const sdk::Context& context_;
  const sdk::Run& run_;
  const sdk::Client client_;
  Memory& memory_;
  const rules::WallTime now_;
  const sdk::WholeRef object_;
  const rules::LabelSelector selector_;
  const rules::ComparisonOperators comparison_;
  const Spec set_;  // borrows from object_

  History history_;
  std::set<std::string> fitting_;     // names of the revisions of the present template
  std::string hash_;                  // of the one that counts
  std::vector<sdk::ObjectRef> pods_;  // claimed, as they were at the start
  sdk::ObjectList<sdk::ObjectRef> nodes_;
  Fleet fleet_;          // borrows from pods_ and nodes_
  bool issued_ = false;  // pods are being created or deleted
  std::optional<sdk::Duration> look_again_;
};

}  // namespace kcm::pod::daemonset
