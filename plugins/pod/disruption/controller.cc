// SPDX-License-Identifier: Apache-2.0
// What wakes disruption-controller and what it does, in the order of spec/pod-batch.md 5.2 to 5.6.
#include "plugins/pod/disruption/controller.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kcm/rules/error_class.h"
#include "kcm/rules/label_selector.h"
#include "kcm/rules/label_selector_text.h"
#include "plugins/pod/disruption/declaration.h"
#include "plugins/pod/disruption/scale_sum.h"
#include "plugins/pod/disruption/stale_target.h"
#include "plugins/pod/resources.h"

namespace kcm::pod::disruption {

using rules::Node;
using rules::WallTime;
using sdk::EventType;
using sdk::Outcome;

namespace {

// An absent selector selects nothing, an empty one everything.
Result<rules::LabelSelector> SelectorOf(const sdk::WholeRef& budget) {
  return rules::LabelSelector::FromObject(budget.Root().Path("spec.selector"));
}

std::string UnmanagedText(const sdk::WholeRef& budget) {
  return "Pods selected by this PodDisruptionBudget (selector: " +
         rules::LabelSelectorText(budget.Root().Path("spec.selector")) +
         ") were found to be unmanaged. As a result, the status of the PDB cannot be calculated "
         "correctly, which may result in undefined behavior. To account for these pods please set "
         "\".spec.minAvailable\" field of the PDB to an integer value.";
}

}  // namespace

// All pods of a budget, in whatever phase.
struct Controller::MatchingPods {
  std::vector<sdk::ObjectRef> refs;
  std::vector<Node> roots;  // borrow from refs
};

// ---- what wakes it ----

void Controller::OnChange(const sdk::Change& change) const {
  if (change.watch() == kPodWatch.number) {
    OnPodChange(change);
  } else {
    context_.queue().Add(change.Key(), kBudgetQueue);
  }
}

// All budgets of the pod are looked at: which of several counts is not for this controller to say.
void Controller::OnPodChange(const sdk::Change& change) const {
  const Node labels = change.object().Path("metadata.labels");
  std::vector<std::string> names;
  for (const sdk::WholeRef& budget : context_.cache().List(kBudgetWatch, {.ns = change.ns()})) {
    const Result<rules::LabelSelector> selector = SelectorOf(budget);
    if (!selector.ok() || !selector->Matches(labels)) continue;
    context_.queue().Add(budget.Key(), kBudgetQueue);
    names.emplace_back(budget.Name());
  }
  if (names.size() > 1) {
    context_.events().Record(
        change.Share(), kPods, EventType::kWarning, "MultiplePodDisruptionBudgets",
        "Pod \"" + std::string(change.ns()) + "\"/\"" + std::string(change.name()) +
            "\" matches multiple PodDisruptionBudgets.  Chose \"" + names[0] + "\" arbitrarily.");
  }
  if (change.type() == sdk::Change::Type::kDelete) return;
  if (const auto stale = TargetIsStaleIn(change.object(), context_.clock().Now()))
    context_.queue().AddAfter(change.Key(), *stale, kStaleQueue);
}

// ---- what it does ----

Outcome Controller::Reconcile(sdk::Run& run) const {
  switch (run.queue_number()) {
    case kBudgetQueue:
      return ReconcileBudget(run);
    case kRecheckQueue:
      context_.queue().AddRateLimited(run.key(), kBudgetQueue);
      return Outcome::Done();
    default:
      return ReconcileStaleTarget(run);
  }
}

Outcome Controller::ReconcileBudget(const sdk::Run& run) const {
  const std::optional<sdk::WholeRef> budget = context_.cache().Get(kBudgetWatch, run.key());
  if (!budget) return Outcome::Done();
  const Status synced = Sync(run, *budget);
  if (synced.ok()) return Outcome::Done();
  // Somebody was faster, an eviction maybe: to be counted anew, not to be forbidden.
  if (rules::IsConflict(synced.error()) || rules::IsShuttingDown(synced.error()))
    return Outcome::Retry(synced.error());
  run.log().Error(synced.error().message, "Failed to sync PDB",
                  {{"podDisruptionBudget", run.key()}});
  // Once it says so nothing is to be gained before something changes.
  return Outcome::Of(FailSafe(run, *budget, synced.error()));
}

Status Controller::Sync(const sdk::Run& run, const sdk::WholeRef& budget) const {
  Result<MatchingPods> pods = PodsOf(budget);
  if (!pods.ok()) {
    Tell(budget, EventType::kWarning, "NoPods", "Failed to get pods: " + pods.error().message);
    return pods.error();
  }
  if (pods->roots.empty()) Tell(budget, EventType::kNormal, "NoPods", "No matching pods found");

  const Result<Expected> expected = CountExpected(run, budget, *pods);
  if (!expected.ok()) {
    if (!rules::IsShuttingDown(expected.error())) {
      Tell(budget, EventType::kWarning, "CalculateExpectedPodCountFailed",
           "Failed to calculate the number of expected pods: " + expected.error().message);
    }
    return expected.error();
  }
  const WallTime now = context_.clock().Now();
  BudgetStatus status{.healthy = 0,
                      .expected = *expected,
                      .disrupted = DisruptedPodsOf(budget.Root(), pods->roots, now)};
  status.healthy = CountHealthy(pods->roots, status.disrupted, now);
  for (const size_t place : status.disrupted.not_deleted) {
    // The namespace twice, as the reference says it.
    const std::string ns(budget.Namespace());
    context_.events().Record(
        pods->refs[place], kPods, EventType::kWarning, "NotDeleted",
        "Pod was expected by PDB " + ns + "/" + ns + " to be deleted but it wasn't");
  }
  if (!IsUpToDate(budget.Root(), status)) {
    sdk::Edit edit(budget);
    ApplyStatus(edit.json(), status, now);
    const Result<sdk::WholeRef> answer = run.client().UpdateStatus(kPodDisruptionBudgets, edit);
    if (!answer.ok()) return answer.error();
  }
  if (status.disrupted.recheck) {
    context_.queue().AddAfter(run.key(), rules::Elapsed(now, *status.disrupted.recheck),
                              kRecheckQueue);
  }
  return Ok();
}

Result<Controller::MatchingPods> Controller::PodsOf(const sdk::WholeRef& budget) const {
  const Result<rules::LabelSelector> selector = SelectorOf(budget);
  if (!selector.ok()) return selector.error();
  MatchingPods out;
  if (selector->SelectsNothing()) return out;
  sdk::ObjectList<sdk::ObjectRef> all =
      context_.cache().List(kPodWatch, {.ns = budget.Namespace()});
  for (sdk::ObjectRef& pod : all.items())
    if (selector->Matches(pod.Root().Path("metadata.labels"))) out.refs.push_back(std::move(pod));
  for (const sdk::ObjectRef& pod : out.refs) out.roots.push_back(pod.Root());
  return out;
}

Result<Expected> Controller::CountExpected(const sdk::Run& run, const sdk::WholeRef& budget,
                                           const MatchingPods& pods) const {
  if (!CountsControllers(budget.Root()))
    return ExpectedOf(budget.Root(), static_cast<int64_t>(pods.roots.size()));
  ScaleSum sum(context_.cache(), run);
  for (const Node pod : pods.roots)
    if (const Status added = sum.Add(pod); !added.ok()) return added.error();
  const Result<Expected> expected = ExpectedOf(budget.Root(), sum.replicas());
  if (expected.ok() && sum.has_unmanaged())
    Tell(budget, EventType::kWarning, "UnmanagedPods", UnmanagedText(budget));
  return expected;
}

Status Controller::FailSafe(const sdk::Run& run, const sdk::WholeRef& budget,
                            const Error& error) const {
  sdk::Edit edit(budget);
  if (!ApplyFailure(edit.json(), error.message, context_.clock().Now())) return Ok();
  const Result<sdk::WholeRef> answer = run.client().UpdateStatus(kPodDisruptionBudgets, edit);
  return answer.ok() ? Ok() : Status(answer.error());
}

// ---- pods that stayed ----

Outcome Controller::ReconcileStaleTarget(const sdk::Run& run) const {
  const std::optional<sdk::ObjectRef> pod = context_.cache().Get(kPodWatch, run.key());
  if (!pod) return Outcome::Done();
  const WallTime now = context_.clock().Now();
  const auto stale = TargetIsStaleIn(pod->Root(), now);
  if (!stale) return Outcome::Done();
  if (stale->count() > 0) return Outcome::RequeueAfter(*stale);
  const Result<sdk::WholeRef> answer =
      run.client().PatchObject(kPods, run.ns(), run.name(), sdk::Patch::kStrategic,
                               TakeBackPatch(pod->Root(), now), {.subresource = "status"});
  if (!answer.ok()) return Outcome::Retry(answer.error());
  run.log().Info(2, "Reset stale DisruptionTarget condition to False", {{"pod", run.key()}});
  return Outcome::Done();
}

void Controller::Tell(const sdk::WholeRef& budget, EventType type, std::string_view reason,
                      std::string_view message) const {
  context_.events().Record(budget, kPodDisruptionBudgets, type, reason, message);
}

}  // namespace kcm::pod::disruption
