// SPDX-License-Identifier: Apache-2.0
// Reconciler: one reconcile of one StatefulSet, in the order of spec/pod-workloads.md section 5:
// revisions, pods, status, history. It observes and acts; what to do is decided by the pure
// functions beside it.
//
// One thread, one use.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kcm/rules/label_selector.h"
#include "kcm/rules/result.h"
#include "kcm/rules/time.h"
#include "kcm/sdk/context.h"
#include "plugins/pod/ownership/own_writes.h"
#include "plugins/pod/revisions/history.h"
#include "plugins/pod/statefulset/chosen_revisions.h"
#include "plugins/pod/statefulset/claim_owners.h"
#include "plugins/pod/statefulset/issued_deletions.h"
#include "plugins/pod/statefulset/slots.h"
#include "plugins/pod/statefulset/spec.h"
#include "plugins/pod/statefulset/status.h"

namespace kcm::pod::statefulset {

// Most pods that are created or changed at once; the source of the rule is SlowStart's header.
constexpr int64_t kMostAtOnce = 500;

// What feature gates turn on.
struct Features {
  bool semantic_revisions = true;  // a server's new defaults are no new revision
  bool max_unavailable = false;
  sdk::Metric max_unavailable_metric = {}, unavailable_metric = {};  // with max_unavailable
};

// What outlives a reconcile.
struct Memory {
  OwnWrites& own_writes;
  ChosenRevisions& chosen;
  IssuedDeletions& deletions;
};

class Reconciler {
 public:
  Reconciler(const sdk::Context& context, const sdk::Run& run, const Features& features,
             Memory memory, sdk::WholeRef set, rules::LabelSelector selector);
  ~Reconciler();

  Status Run();
  // When a pod becomes available by time alone.
  std::optional<sdk::Duration> look_again() const { return look_again_; }

 private:
  // A pod that is being made.
  struct Creation {
    std::string name;
    int64_t ordinal = 0;
    std::vector<Error> errors = {};  // of its claims: then it is not made
    bool posted = false;             // the server has answered
    bool exists = false;             // the cache does not show it yet
    std::string uid = {};
  };
  // Whether the rest of the reconcile has to wait.
  enum class Flow : uint8_t { kGoOn, kStop };
  // What is done to a pod, and the reasons of the events that tell of it.
  struct PodVerb {
    std::string_view verb, succeeded, failed;
  };
  static constexpr PodVerb kCreate{"Create", "SuccessfulCreate", "FailedCreate"};
  static constexpr PodVerb kUpdate{"Update", "SuccessfulUpdate", "FailedUpdate"};
  static constexpr PodVerb kDelete{"Delete", "SuccessfulDelete", "FailedDelete"};

  // reconciler.cc: the order of things, and the end of it
  Status ClaimPods();
  Status UpdatePods();
  Status WriteStatus();
  Status TruncateHistory();
  void LookAgainWhenAvailable();

  // revisions.cc
  Status ChooseRevisions();
  bool IsNewestKnownToFit(std::string_view data) const;
  Result<size_t> ChooseUpdateRevision(const std::string& data);
  Result<size_t> CreateRevision();

  // replicas.cc: what a slot, a condemned pod, an outdated pod needs
  Result<Flow> FillSlots();
  Result<Flow> FillSlots(int64_t first, int64_t count);
  Result<Flow> ScaleDown();
  Status RollUpdate();

  // pods.cc
  Status CreatePods(const std::vector<int64_t>& slots);
  void PostPods(std::vector<Creation>& creations, const std::vector<int64_t>& slots);
  Result<std::string> BodyOf(int64_t slot);
  Status DeletePods(const std::vector<size_t>& wanted);
  std::vector<size_t> NotYetDeleted(const std::vector<size_t>& places);
  Status MakeConsistent(size_t place);
  Status PutPod(size_t place);

  // claims.cc
  std::optional<sdk::WholeRef> FindClaim(const std::string& name) const;
  bool IsAnyClaimOnItsWayOut(int64_t ordinal) const;
  void CreateClaims(std::vector<Creation>& creations);
  Status CreateMissingClaims(size_t place);
  bool ClaimOwnersFit(size_t place) const;
  Status FixClaimOwners(const ClaimUser& pod, int64_t ordinal);
  Status FixClaimOwnersOrTell(size_t place);  // a failure is one of the pod's update
  ClaimUser UserOf(size_t place) const;

  int64_t OrdinalOf(size_t place) const;
  void Wrote(const sdk::Resource& resource, const sdk::WholeRef& answer) const;
  void Tell(sdk::EventType type, std::string_view reason, std::string_view message) const;
  void TellPod(const PodVerb& verb, std::string_view pod, const Status& outcome) const;
  void TellClaim(std::string_view claim, std::string_view pod, const Status& outcome) const;

  const sdk::Context& context_;
  const sdk::Run& run_;
  const sdk::Client client_;
  const Features& features_;
  const Memory memory_;
  const rules::WallTime now_;
  const sdk::WholeRef object_;
  const rules::LabelSelector selector_;
  const Spec set_;  // borrows from object_

  History history_;
  size_t current_ = 0, update_ = 0;   // places in history_
  std::vector<sdk::ObjectRef> pods_;  // claimed, as they were at the start
  std::vector<rules::Node> nodes_;    // their roots
  Slots slots_;
  std::set<size_t> deleted_;                     // places of pods deleted in this reconcile
  std::map<std::string, sdk::WholeRef> claims_;  // written in this reconcile, by name
  std::unique_ptr<nlohmann::json> pod_of_current_, pod_of_update_;  // made when first needed
  int64_t collision_count_ = 0;
  SetStatus status_;
  std::optional<sdk::Duration> look_again_;
};

}  // namespace kcm::pod::statefulset
