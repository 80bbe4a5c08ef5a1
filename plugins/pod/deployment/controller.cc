// SPDX-License-Identifier: Apache-2.0
// What wakes deployment-controller, and how a reconcile ends.
#include "plugins/pod/deployment/controller.h"

#include <string>

#include "kcm/rules/error_class.h"
#include "kcm/rules/owner_reference.h"
#include "plugins/pod/deployment/declaration.h"
#include "plugins/pod/deployment/reconciler.h"
#include "plugins/pod/ownership/wakes.h"
#include "plugins/pod/resources.h"
#include "plugins/pod/server_features.h"

namespace kcm::pod::deployment {

using rules::Node;
using sdk::Outcome;

Controller::Controller(sdk::Context& context)
    : context_(context),
      deployments_(context.cache(), kDeployments, kDeploymentWatch),
      replica_sets_(context.cache(), kReplicaSets, kReplicaSetWatch) {}

void Controller::OnChange(const sdk::Change& change) {
  if (change.watch() == kDeploymentWatch.number) {
    context_.queue().Add(change.Key());
  } else if (change.watch() == kReplicaSetWatch.number) {
    OnReplicaSetChange(change);
  } else if (change.type() == sdk::Change::Type::kDelete) {
    OnPodGone(change);
  }
}

void Controller::OnReplicaSetChange(const sdk::Change& change) {
  const Node set = change.object();
  const Wakes wakes = WakesOf(change.type(), change.old_object(), set, DeletingUpdate::kIsUpdate);
  for (size_t i = 0; i < wakes.count; ++i) {
    if (const auto owner = deployments_.Resolve(change.ns(), wakes.owners[i].reference))
      context_.queue().Add(owner->Key());
  }
  if (!wakes.orphan) return;
  for (const sdk::WholeRef& deployment : deployments_.Matching(change.ns(), set))
    context_.queue().Add(deployment.Key());
}

// A Recreate rollout waits for the last pod to go; nothing else depends on single pods.
void Controller::OnPodGone(const sdk::Change& change) {
  const std::optional<sdk::WholeRef> set =
      replica_sets_.Resolve(change.ns(), rules::ControllerOf(change.object()));
  if (!set) return;
  const std::optional<sdk::WholeRef> owner =
      deployments_.Resolve(change.ns(), rules::ControllerOf(set->Root()));
  if (!owner || owner->Root().Path("spec.strategy.type").String() != "Recreate") return;
  if (!HasAnyPod(*owner)) context_.queue().Add(owner->Key());
}

bool Controller::HasAnyPod(const sdk::WholeRef& deployment) const {
  const sdk::Cache cache = context_.cache();
  for (const sdk::WholeRef& set :
       cache.List(kReplicaSetWatch, {.index = kByController, .index_value = deployment.Uid()})) {
    if (!cache.List(kPodWatch, {.index = kByController, .index_value = set.Uid()}).empty())
      return true;
  }
  return false;
}

bool Controller::ShowsOwnWrites(std::string_view key) {
  const sdk::Cache cache = context_.cache();
  return !written_.Stale(key, [&](std::string_view) {
    const uint64_t version = cache.ResourceVersion(kDeploymentWatch.number);
    return version == 0 ? std::string() : std::to_string(version);
  });
}

Outcome Controller::Reconcile(sdk::Run& run) {
  if (!ShowsOwnWrites(run.key()))
    return Outcome::Retry(
        MakeError(Code::kConflict, "the cache does not show the controller's own writes yet"));
  std::optional<sdk::WholeRef> deployment = context_.cache().Get(kDeploymentWatch, run.key());
  if (!deployment) {
    written_.Forget(run.key(), "");
    return Outcome::Done();
  }
  const Result<bool> with_terminating = TerminatingReplicasServed(context_);
  if (!with_terminating.ok()) return Outcome::Retry(with_terminating.error());
  Reconciler reconciler(context_, run, std::move(*deployment), *with_terminating, &written_);
  const Status done = reconciler.Run();
  if (!done.ok()) {
    // The namespace is going away and the Deployment with it: trying again helps nobody.
    if (rules::IsNamespaceTerminating(done.error())) return Outcome::Done();
    return Outcome::Retry(done.error());
  }
  if (const auto after = reconciler.look_again()) return Outcome::RequeueAfter(*after);
  return Outcome::Done();
}

}  // namespace kcm::pod::deployment
