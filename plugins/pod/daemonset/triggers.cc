// SPDX-License-Identifier: Apache-2.0
// What wakes daemonset-controller (spec/pod-workloads.md section 6, Triggers).
#include <chrono>
#include <set>

#include "kcm/rules/equality.h"
#include "kcm/rules/owner_reference.h"
#include "plugins/pod/daemonset/controller.h"
#include "plugins/pod/daemonset/declaration.h"
#include "plugins/pod/daemonset/placement.h"
#include "plugins/pod/ownership/gone_owner.h"
#include "plugins/pod/ownership/wakes.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::daemonset {
namespace {

using rules::Node;

// After minReadySeconds, that the whole seconds of the API do not make it too early.
constexpr std::chrono::seconds kReadyMargin{1};

bool SameOrBothEmpty(Node x, Node y) {
  return (x.empty() && y.empty()) || rules::DeepEqual(x, y, rules::NullRule::kNullIsAbsent);
}

}  // namespace

void Controller::OnChange(const sdk::Change& change) {
  if (change.watch() == kOwnWatch.number) {
    OnOwnChange(change);
  } else if (change.watch() == kPodWatch.number) {
    OnPodChange(change);
  } else if (change.watch() == kNodeWatch.number) {
    OnNodeChange(change);
  } else {
    OnRevisionChange(change);
  }
}

void Controller::OnOwnChange(const sdk::Change& change) {
  const std::string key = change.Key();
  if (const auto gone = GoneOwnerOf(change.type(), change.old_object(), change.object()))
    memory_.Forget(key, gone->uid);
  context_.queue().Add(key);
}

void Controller::OnPodChange(const sdk::Change& change) {
  const Node pod = change.object();
  const Wakes wakes = WakesOf(change.type(), change.old_object(), pod, DeletingUpdate::kIsDeletion);
  for (size_t i = 0; i < wakes.count; ++i) {
    const OwnerWake& wake = wakes.owners[i];
    const std::optional<sdk::WholeRef> owner = sets_.Resolve(change.ns(), wake.reference);
    if (!owner) continue;
    const std::string key = owner->Key();
    if (wake.created) memory_.expectations.CreationObserved(owner->Uid());
    if (wake.deleted) memory_.expectations.DeletionObserved(owner->Uid());
    context_.queue().Add(key);
    const std::chrono::seconds min_ready(owner->Root().Path("spec.minReadySeconds").Int());
    if (wake.became_ready && min_ready.count() > 0)
      context_.queue().AddAfter(key, min_ready + kReadyMargin);
  }
  if (!wakes.orphan) return;
  for (const sdk::WholeRef& set : sets_.Matching(change.ns(), pod)) context_.queue().Add(set.Key());
}

// Pods of a node that is gone are the pod garbage collector's.
void Controller::OnNodeChange(const sdk::Change& change) {
  if (change.type() == sdk::Change::Type::kDelete) return;
  if (change.type() == sdk::Change::Type::kUpdate) {
    const Node was = change.old_object(), node = change.object();
    if (SameOrBothEmpty(was.Path("metadata.labels"), node.Path("metadata.labels")) &&
        SameOrBothEmpty(was.Path("spec.taints"), node.Path("spec.taints")))
      return;
  }
  context_.queue().Add(change.name(), kNodeQueue);
}

void Controller::OnRevisionChange(const sdk::Change& change) {
  const Node revision = change.object();
  const Wakes wakes =
      WakesOf(change.type(), change.old_object(), revision, DeletingUpdate::kIsUpdate);
  for (size_t i = 0; i < wakes.count; ++i) {
    if (wakes.owners[i].created) continue;  // of the set's own making
    if (const auto owner = sets_.Resolve(change.ns(), wakes.owners[i].reference))
      context_.queue().Add(owner->Key());
  }
  if (!wakes.orphan) return;
  for (const sdk::WholeRef& set : sets_.Matching(change.ns(), revision))
    context_.queue().Add(set.Key());
}

// Which DaemonSets a changed node concerns.
sdk::Outcome Controller::ReconcileNode(sdk::Run& run) {
  const std::string_view name = run.key();
  const sdk::Cache cache = context_.cache();
  const std::optional<sdk::ObjectRef> node = cache.Get(kNodeWatch, name);
  if (!node) return sdk::Outcome::Done();
  std::set<std::string, std::less<>> with_pod;  // by namespace and name, whatever its uid
  for (const sdk::ObjectRef& pod : cache.List(kPodWatch, {.index = kByNode, .index_value = name})) {
    const Node owner = rules::ControllerOf(pod.Root());
    if (owner.Get("kind").String() != kDaemonSets.kind) continue;
    with_pod.insert(std::string(pod.Namespace()) + "/" + std::string(owner.Get("name").String()));
  }
  for (const sdk::WholeRef& set : cache.List(kOwnWatch)) {
    const std::string key = set.Key();
    const bool has_pod = with_pod.contains(key);
    const Eligibility here =
        Placement(set.Root().Path("spec.template"), comparison_).On(node->Root());
    const bool misscheduled = set.Root().Path("status.numberMisscheduled").Int() > 0;
    if ((here.should_run && !has_pod) || (has_pod && (!here.should_continue || misscheduled)))
      context_.queue().Add(key);
  }
  return sdk::Outcome::Done();
}

}  // namespace kcm::pod::daemonset
