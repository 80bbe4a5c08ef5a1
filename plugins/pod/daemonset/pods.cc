// SPDX-License-Identifier: Apache-2.0
// Writes of pods: what each node needs, what the rolling update replaces
// (spec/pod-workloads.md 6.2, 6.3).
#include <algorithm>

#include "plugins/pod/daemonset/pod_body.h"
#include "plugins/pod/daemonset/reconciler.h"
#include "plugins/pod/daemonset/rolling_update.h"
#include "plugins/pod/ownership/claim.h"
#include "plugins/pod/pod_control/pod_control.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::daemonset {
namespace {

// At most this many creates and as many deletes at once; the rest follows when the watch has shown
// them.
constexpr size_t kBurst = 250;

template <class T>
void Append(std::vector<T>& out, const std::vector<T>& more) {
  out.insert(out.end(), more.begin(), more.end());
}

}  // namespace

Status Reconciler::Manage() {
  std::vector<size_t> deleted;
  std::vector<std::string_view> created;
  for (const auto& [node, eligibility] : fleet_.nodes) {
    const NodePlan plan = PlanNode(set_, fleet_, node, hash_, now_);
    if (plan.create) created.push_back(node);
    Append(deleted, plan.deleted);
    const std::string name(node);
    ReplaceFailed(name, plan.failed, deleted);
    for (const size_t place : plan.succeeded) {
      Tell(sdk::EventType::kNormal, "SucceededDaemonPod",
           "Found succeeded daemon pod " + pods_[place].Key() + " on node " + name +
               ", will try to delete it");
      deleted.push_back(place);
    }
  }
  Append(deleted, PodsOfLostNodes(fleet_));
  return Execute(std::move(deleted), std::move(created));
}

void Reconciler::ReplaceFailed(const std::string& node, const std::vector<size_t>& failed,
                               std::vector<size_t>& deleted) {
  const std::string key = FailedPodKey(set_.uid, set_.observed_generation, node);
  for (const size_t place : failed) {
    if (const auto wait = memory_.failed_pods.Hold(key, context_.clock().Monotonic())) {
      context_.queue().AddAfter(run_.key(), *wait);
      continue;
    }
    Tell(sdk::EventType::kWarning, "FailedDaemonPod",
         "Found failed daemon pod " + pods_[place].Key() + " on node " + node +
             ", will try to kill it");
    deleted.push_back(place);
  }
}

Status Reconciler::RollUpdate() {
  Result<RollingPlan> plan = PlanRollingUpdate(set_, fleet_, hash_, now_);
  if (!plan.ok()) return plan.error();
  return Execute(std::move(plan->deleted), std::move(plan->created));
}

Status Reconciler::Execute(std::vector<size_t> deleted, std::vector<std::string_view> created) {
  if (deleted.empty() && created.empty()) return Ok();
  issued_ = true;
  deleted.resize(std::min(deleted.size(), kBurst));
  created.resize(std::min(created.size(), kBurst));
  const auto creations = static_cast<int64_t>(created.size());
  memory_.expectations.Expect(
      set_.uid, {.creations = creations, .deletions = static_cast<int64_t>(deleted.size())},
      context_.clock().Monotonic());
  run_.log().Info(2, "Creating and deleting daemon pods",
                  {{"creating", created.size()}, {"deleting", deleted.size()}});

  const PodOwner owner{object_, kDaemonSets, context_.events()};
  std::vector<Error> errors;
  if (creations > 0) {
    PodBodies bodies(set_, hash_);
    const auto body = [&](int64_t number) {
      return bodies.For(created[static_cast<size_t>(number)]);
    };
    const auto wrote = [this](std::string_view version) { Wrote(kPods, version); };
    const Created made = CreatePods(client_, owner, body, creations, wrote);
    // The failed ones and those that slow start left out will never be seen.
    if (const int64_t missing = creations - made.succeeded; missing > 0)
      memory_.expectations.CreationObserved(set_.uid, missing);
    if (made.error) errors.push_back(*made.error);
  }
  std::vector<std::string> names;
  for (const size_t place : deleted) names.emplace_back(pods_[place].Name());
  const std::optional<Error> failure = DeletePods(client_, owner, names, [this](std::string_view) {
    memory_.expectations.DeletionObserved(set_.uid);
  });
  if (failure) errors.push_back(*failure);
  return errors.empty() ? Ok() : Status(Aggregate(errors));
}

}  // namespace kcm::pod::daemonset
