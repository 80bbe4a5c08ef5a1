// SPDX-License-Identifier: Apache-2.0
// What wakes statefulset-controller, and how a reconcile begins and ends.
#include "plugins/pod/statefulset/controller.h"

#include <chrono>

#include "kcm/rules/label_selector.h"
#include "kcm/rules/owner_reference.h"
#include "plugins/pod/ownership/wakes.h"
#include "plugins/pod/resources.h"
#include "plugins/pod/statefulset/declaration.h"
#include "plugins/pod/statefulset/identity.h"

namespace kcm::pod::statefulset {

using rules::Node;
using sdk::Outcome;

Controller::Controller(sdk::Context& context)
    : context_(context), sets_(context.cache(), kStatefulSets, kOwnWatch) {
  stale_skips_ = context.DefineMetric(
      {.name = "statefulset_controller_stale_sync_skips_total",
       .help = "Total number of StatefulSet syncs skipped due to a stale watch cache.",
       .labels = {"group", "resource"},
       .buckets = {}});
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
  std::string_view gone;
  if (change.type() == sdk::Change::Type::kDelete) gone = change.uid();
  if (change.type() == sdk::Change::Type::kUpdate) {
    // Deleted and made anew while the watch was down: the old one's records must not hold up the
    // new one.
    const std::string_view old_uid = change.old_object().Path("metadata.uid").String();
    if (old_uid != change.uid()) gone = old_uid;
  }
  if (!gone.empty()) {
    barrier_.Forget(key, gone);
    chosen_.Forget(gone);
    deletions_.Forget(gone);
  }
  context_.queue().Add(key);
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
  if (const std::optional<std::string> stale = StaleResource(run.key())) {
    return Outcome::Retry(
        MakeError(Code::kConflict,
                  "the cache of " + *stale + " does not show the controller's own writes yet"));
  }
  std::optional<sdk::WholeRef> set = context_.cache().Get(kOwnWatch, run.key());
  if (!set) return Outcome::Done();
  Result<rules::LabelSelector> selector =
      rules::LabelSelector::FromObject(set->Root().Path("spec.selector"));
  if (!selector.ok()) {
    run.log().Error(selector.error().message, "Error converting StatefulSet selector");
    return Outcome::Done();
  }
  Reconciler reconciler(context_, run, features_, {barrier_, chosen_, deletions_}, std::move(*set),
                        std::move(*selector));
  if (const kcm::Status done = reconciler.Run(); !done.ok()) return Outcome::Retry(done.error());
  if (const auto after = reconciler.look_again()) return Outcome::RequeueAfter(*after);
  return Outcome::Done();
}

std::optional<std::string> Controller::StaleResource(std::string_view key) {
  const auto seen = [this](std::string_view resource) {
    const uint32_t watch = resource == kPods.resource                     ? kPodWatch.number
                           : resource == kPersistentVolumeClaims.resource ? kClaimWatch.number
                                                                          : kOwnWatch.number;
    const uint64_t version = context_.cache().ResourceVersion(watch);
    return version == 0 ? std::string() : std::to_string(version);
  };
  std::optional<std::string> stale = barrier_.Stale(key, seen);
  if (stale) {
    const bool own = *stale == kStatefulSets.resource;
    stale_skips_.Add({own ? kStatefulSets.group : kPods.group, *stale});
  }
  return stale;
}

}  // namespace kcm::pod::statefulset
