// SPDX-License-Identifier: Apache-2.0
// What wakes statefulset-controller, and how a reconcile begins and ends.
#include "plugins/pod/statefulset/controller.h"

#include <chrono>

#include "kcm/rules/label_selector.h"
#include "kcm/rules/owner_reference.h"
#include "plugins/pod/ownership/gone_owner.h"
#include "plugins/pod/ownership/wakes.h"
#include "plugins/pod/resources.h"
#include "plugins/pod/statefulset/declaration.h"
#include "plugins/pod/statefulset/identity.h"

namespace kcm::pod::statefulset {

using rules::Node;
using sdk::Outcome;

namespace {

constexpr OwnWrites::Skips kSkips{
    .name = "statefulset_controller_stale_sync_skips_total",
    .help = "Total number of StatefulSet syncs skipped due to a stale watch cache."};
constexpr OwnWrites::Shown kShown[] = {{kPods, kPodWatch.number},
                                       {kPersistentVolumeClaims, kClaimWatch.number},
                                       {kStatefulSets, kOwnWatch.number}};

}  // namespace

Controller::Controller(sdk::Context& context)
    : context_(context),
      sets_(context.cache(), kStatefulSets, kOwnWatch),
      own_writes_(context, kSkips, kShown) {
  features_.semantic_revisions = context.config().Gate("StatefulSetSemanticRevisionComparison");
  features_.max_unavailable = context.config().Gate("MaxUnavailableStatefulSet");
  if (!features_.max_unavailable) return;
  const std::vector<std::string_view> labels = {"statefulset_namespace", "statefulset_name",
                                                "pod_management_policy"};
  features_.max_unavailable_metric = context.DefineMetric(
      {.type = KCM_METRIC_GAUGE,
       .name = "statefulset_controller_statefulset_max_unavailable",
       .help = "Maximum number of unavailable pods allowed during StatefulSet rolling updates",
       .labels = labels,
       .buckets = {}});
  features_.unavailable_metric =
      context.DefineMetric({.type = KCM_METRIC_GAUGE,
                            .name = "statefulset_controller_statefulset_unavailable_replicas",
                            .help = "Current number of unavailable pods in StatefulSet",
                            .labels = labels,
                            .buckets = {}});
}

// ---- what wakes it ----

void Controller::OnChange(const sdk::Change& change) {
  if (change.watch() == kOwnWatch.number) {
    OnOwnChange(change);
  } else if (change.watch() == kPodWatch.number) {
    OnPodChange(change);
  } else if (change.watch() == kClaimWatch.number) {
    OnClaimChange(change);
  }
}

void Controller::OnOwnChange(const sdk::Change& change) {
  const std::string key = change.Key();
  if (const auto gone = GoneOwnerOf(change.type(), change.old_object(), change.object()))
    Forget(key, gone->uid);
  context_.queue().Add(key);
}

void Controller::Forget(std::string_view key, std::string_view uid) {
  own_writes_.Forget(key, uid);
  chosen_.Forget(uid);
  deletions_.Forget(uid);
}

void Controller::OnPodChange(const sdk::Change& change) {
  const Node pod = change.object();
  const Wakes wakes = WakesOf(change.type(), change.old_object(), pod, DeletingUpdate::kIsUpdate);
  for (size_t i = 0; i < wakes.count; ++i) {
    const OwnerWake& wake = wakes.owners[i];
    const std::optional<sdk::WholeRef> owner = sets_.Resolve(change.ns(), wake.reference);
    if (!owner) continue;
    const std::string key = owner->Key();
    context_.queue().Add(key);
    // Its availability is a matter of time alone from now on.
    const std::chrono::seconds min_ready(owner->Root().Path("spec.minReadySeconds").Int());
    if (wake.became_ready && min_ready.count() > 0) context_.queue().AddAfter(key, min_ready);
  }
  if (!wakes.orphan) return;
  for (const sdk::WholeRef& set : sets_.Matching(change.ns(), pod)) context_.queue().Add(set.Key());
}

// Claims are only looked at, but for one: a pod may be waiting until the claim of its predecessor
// is gone, and nothing else would tell.
void Controller::OnClaimChange(const sdk::Change& change) {
  if (change.type() != sdk::Change::Type::kDelete) return;
  const Node owner = rules::ControllerOf(change.object());
  if (owner.Get("kind").String() != kPods.kind) return;
  const std::string_view set = ParsePodName(owner.Get("name").String()).parent;
  if (set.empty()) return;
  const std::string key = std::string(change.ns()) + "/" + std::string(set);
  if (context_.cache().Get(kOwnWatch, key)) context_.queue().Add(key);
}

// ---- what it does ----

Outcome Controller::Reconcile(sdk::Run& run) {
  if (const auto stale = own_writes_.NotShownYet(run.key())) return Outcome::Retry(*stale);
  std::optional<sdk::WholeRef> set = context_.cache().Get(kOwnWatch, run.key());
  if (!set) return Outcome::Done();
  const std::string uid(set->Uid());
  Result<rules::LabelSelector> selector =
      rules::LabelSelector::FromObject(set->Root().Path("spec.selector"));
  if (!selector.ok()) {
    run.log().Error(selector.error().message, "Error converting StatefulSet selector");
    return Outcome::Done();
  }
  Reconciler reconciler(context_, run, features_, {own_writes_, chosen_, deletions_},
                        std::move(*set), std::move(*selector));
  const kcm::Status done = reconciler.Run();
  if (!sets_.Has(run.key(), uid)) Forget(run.key(), uid);
  if (!done.ok()) return Outcome::Retry(done.error());
  if (const auto after = reconciler.look_again()) return Outcome::RequeueAfter(*after);
  return Outcome::Done();
}

}  // namespace kcm::pod::statefulset
