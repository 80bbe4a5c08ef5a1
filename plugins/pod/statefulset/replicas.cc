// SPDX-License-Identifier: Apache-2.0
// Filling slots, scaling down, updating: in that order, each only when the one before does not have
// to wait (spec/pod-workloads.md 5.3, 5.4).
#include <nlohmann/json.hpp>

#include "kcm/rules/error_class.h"
#include "kcm/rules/int_or_percent.h"
#include "kcm/rules/pod.h"
#include "kcm/rules/slow_start.h"
#include "plugins/pod/ownership/claim.h"
#include "plugins/pod/statefulset/identity.h"
#include "plugins/pod/statefulset/reconciler.h"

namespace kcm::pod::statefulset {

using rules::Node;

// One slot after the other, or all of them in growing batches.
Result<Reconciler::Flow> Reconciler::FillSlots() {
  if (set_.monotonic) {
    for (int64_t slot = 0; slot < slots_.count; ++slot) {
      const Result<Flow> filled = FillSlots(slot, 1);
      if (!filled.ok() || *filled == Flow::kStop) return filled;
    }
    return Flow::kGoOn;
  }
  rules::SlowStart batches(slots_.count, kMostAtOnce);
  int64_t first = 0;
  while (const int64_t count = batches.Next()) {
    if (const Result<Flow> filled = FillSlots(first, count); !filled.ok()) return filled;
    first += count;
  }
  return Flow::kGoOn;
}

Result<Reconciler::Flow> Reconciler::FillSlots(int64_t first, int64_t count) {
  std::vector<int64_t> empty;
  std::vector<Error> errors;
  Flow flow = Flow::kGoOn;
  for (int64_t slot = first; slot < first + count; ++slot) {
    const std::optional<size_t> place = slots_.At(slot);
    Status done = Ok();
    switch (NeedOf(set_, place ? nodes_[*place] : Node(), now_)) {
      case SlotNeed::kCreate:
        // A claim of the pod's predecessor would go under the new one.
        if (!IsAnyClaimOnItsWayOut(set_.start + slot)) empty.push_back(slot);
        flow = Flow::kStop;
        break;
      case SlotNeed::kReplace:
        done = DeletePods({*place});
        flow = Flow::kStop;
        break;
      case SlotNeed::kWait:
        flow = Flow::kStop;
        break;
      case SlotNeed::kClaims:
        done = CreateMissingClaims(*place);
        if (done.ok()) done = FixClaimOwnersOrTell(*place);
        if (set_.monotonic) {
          flow = Flow::kStop;
        } else if (done.ok()) {
          done = MakeConsistent(*place);
        }
        break;
      case SlotNeed::kKeepConsistent:
        done = MakeConsistent(*place);
        break;
    }
    if (done.ok()) continue;
    if (rules::IsShuttingDown(done.error())) return done.error();
    errors.push_back(done.error());
  }
  if (!empty.empty()) {
    if (const Status created = CreatePods(empty); !created.ok()) errors.push_back(created.error());
  }
  if (!errors.empty()) return Aggregate(errors);
  return set_.monotonic ? flow : Flow::kGoOn;
}

Result<Reconciler::Flow> Reconciler::ScaleDown() {
  // Before the pod goes: a claim that is to go with it must name it while it is there.
  for (const size_t place : slots_.condemned) {
    if (ClaimOwnersFit(place)) continue;
    if (const Status fixed = FixClaimOwners(UserOf(place), OrdinalOf(place)); !fixed.ok())
      return fixed.error();
  }
  const std::optional<size_t> awaited = FirstUnavailable(set_, slots_, nodes_, now_);
  std::vector<size_t> going;
  for (const size_t place : slots_.condemned) {
    const ScaleDownStep step = StepFor(set_, nodes_[place], awaited == place, now_);
    if (step == ScaleDownStep::kStop) return Flow::kStop;
    if (step == ScaleDownStep::kSkip) continue;
    if (set_.monotonic) {
      const Status gone = DeletePods({place});
      return gone.ok() ? Result<Flow>(Flow::kStop) : gone.error();
    }
    going.push_back(place);
  }
  if (const Status gone = DeletePods(going); !gone.ok()) return gone.error();
  return Flow::kGoOn;
}

Status Reconciler::RollUpdate() {
  const UpdateView view{set_, slots_, nodes_, deleted_, history_.name(update_), now_};
  std::vector<size_t> going;
  if (features_.max_unavailable) {
    const Result<int64_t> most =
        rules::StatefulSetMaxUnavailable(set_.max_unavailable, set_.replicas);
    if (!most.ok()) return most.error();
    const std::string_view policy = set_.monotonic ? "OrderedReady" : "Parallel";
    features_.max_unavailable_metric.Set(static_cast<double>(*most), {set_.ns, set_.name, policy});
    features_.unavailable_metric.Set(static_cast<double>(UnavailableSlots(view)),
                                     {set_.ns, set_.name, policy});
    going = NextToUpdate(view, *most);
  } else if (const std::optional<size_t> next = NextToUpdate(view)) {
    going.push_back(*next);
  }
  const Status gone = DeletePods(going);
  for (const size_t place : going) {
    if (deleted_.contains(place) && status_.current > 0) --status_.current;
  }
  return gone;
}

}  // namespace kcm::pod::statefulset
