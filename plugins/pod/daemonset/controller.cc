// SPDX-License-Identifier: Apache-2.0
// How a reconcile begins and ends.
#include "plugins/pod/daemonset/controller.h"

#include "kcm/rules/label_selector.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/daemonset/declaration.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::daemonset {

using sdk::Outcome;

namespace {

constexpr OwnWrites::Skips kSkips{
    .name = "daemonset_controller_stale_sync_skips_total",
    .help = "Total number of DaemonSet syncs skipped due to a stale watch cache."};
constexpr OwnWrites::Shown kShown[] = {{kPods, kPodWatch.number}, {kDaemonSets, kOwnWatch.number}};

}  // namespace

Memory::Memory(const sdk::Context& context) : own_writes(context, kSkips, kShown) {}

void Memory::Forget(std::string_view key, std::string_view uid) {
  expectations.Forget(uid);
  own_writes.Forget(key, uid);
}

Controller::Controller(sdk::Context& context)
    : context_(context),
      sets_(context.cache(), kDaemonSets, kOwnWatch),
      comparison_(context.config().Gate("TaintTolerationComparisonOperators")
                      ? rules::ComparisonOperators::kOn
                      : rules::ComparisonOperators::kOff),
      memory_(context) {}

Outcome Controller::Reconcile(sdk::Run& run) {
  return run.queue_number() == kNodeQueue ? ReconcileNode(run) : ReconcileSet(run);
}

Outcome Controller::ReconcileSet(sdk::Run& run) {
  if (const auto stale = memory_.own_writes.NotShownYet(run.key())) return Outcome::Retry(*stale);
  std::optional<sdk::WholeRef> set = context_.cache().Get(kOwnWatch, run.key());
  if (!set) return Outcome::Done();
  const std::string uid(set->Uid());
  Outcome outcome = Act(run, std::move(*set));
  if (!sets_.Has(run.key(), uid)) memory_.Forget(run.key(), uid);
  return outcome;
}

Outcome Controller::Act(sdk::Run& run, sdk::WholeRef set) {
  Result<rules::LabelSelector> selector =
      rules::LabelSelector::FromObject(set.Root().Path("spec.selector"));
  if (!selector.ok()) {
    Error error = selector.error();
    error.message = "daemonset " + set.Key() + " has an invalid label selector: " + error.message;
    return Outcome::Retry(std::move(error));
  }
  if (selector->SelectsEverything()) {
    context_.events().Record(
        set, kDaemonSets, sdk::EventType::kWarning, "SelectingAll",
        "This daemon set is selecting all pods. A non-empty selector is required.");
    return Outcome::Done();
  }
  if (rules::HasDeletionTimestamp(set.Root())) return Outcome::Done();
  Reconciler reconciler(context_, run, memory_, std::move(set), std::move(*selector), comparison_);
  if (const kcm::Status done = reconciler.Run(); !done.ok()) return Outcome::Retry(done.error());
  if (const auto after = reconciler.look_again()) return Outcome::RequeueAfter(*after);
  return Outcome::Done();
}

}  // namespace kcm::pod::daemonset
