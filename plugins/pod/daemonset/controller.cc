// SPDX-License-Identifier: Apache-2.0
// How a reconcile begins and ends.
#include "plugins/pod/daemonset/controller.h"

#include "kcm/rules/label_selector.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/daemonset/declaration.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::daemonset {

using sdk::Outcome;

Controller::Controller(sdk::Context& context)
    : context_(context),
      sets_(context.cache(), kDaemonSets, kOwnWatch),
      comparison_(context.config().Gate("TaintTolerationComparisonOperators")
                      ? rules::ComparisonOperators::kOn
                      : rules::ComparisonOperators::kOff) {
  stale_skips_ = context.DefineMetric(
      {.name = "daemonset_controller_stale_sync_skips_total",
       .help = "Total number of DaemonSet syncs skipped due to a stale watch cache.",
       .labels = {"group", "resource"},
       .buckets = {}});
}

Outcome Controller::Reconcile(sdk::Run& run) {
  return run.queue_number() == kNodeQueue ? ReconcileNode(run) : ReconcileSet(run);
}

Outcome Controller::ReconcileSet(sdk::Run& run) {
  if (const std::optional<std::string> stale = StaleResource(run.key())) {
    return Outcome::Retry(
        MakeError(Code::kConflict,
                  "the cache of " + *stale + " does not show the controller's own writes yet"));
  }
  std::optional<sdk::WholeRef> set = context_.cache().Get(kOwnWatch, run.key());
  if (!set) {
    memory_.expectations.Forget(run.key());
    return Outcome::Done();
  }
  Result<rules::LabelSelector> selector =
      rules::LabelSelector::FromObject(set->Root().Path("spec.selector"));
  if (!selector.ok()) {
    Error error = selector.error();
    error.message = "daemonset " + set->Key() + " has an invalid label selector: " + error.message;
    return Outcome::Retry(std::move(error));
  }
  if (selector->SelectsEverything()) {
    context_.events().Record(
        *set, kDaemonSets, sdk::EventType::kWarning, "SelectingAll",
        "This daemon set is selecting all pods. A non-empty selector is required.");
    return Outcome::Done();
  }
  if (rules::HasDeletionTimestamp(set->Root())) return Outcome::Done();
  Reconciler reconciler(context_, run, memory_, std::move(*set), std::move(*selector), comparison_);
  if (const kcm::Status done = reconciler.Run(); !done.ok()) return Outcome::Retry(done.error());
  if (const auto after = reconciler.look_again()) return Outcome::RequeueAfter(*after);
  return Outcome::Done();
}

std::optional<std::string> Controller::StaleResource(std::string_view key) {
  const auto seen = [this](std::string_view resource) {
    const uint32_t watch = resource == kPods.resource ? kPodWatch.number : kOwnWatch.number;
    const uint64_t version = context_.cache().ResourceVersion(watch);
    return version == 0 ? std::string() : std::to_string(version);
  };
  std::optional<std::string> stale = memory_.barrier.Stale(key, seen);
  if (stale) stale_skips_.Add({*stale == kPods.resource ? kPods.group : kDaemonSets.group, *stale});
  return stale;
}

}  // namespace kcm::pod::daemonset
