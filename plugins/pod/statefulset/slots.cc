// SPDX-License-Identifier: Apache-2.0
// Decisions about slots.
#include "plugins/pod/statefulset/slots.h"

#include <algorithm>

#include "kcm/rules/controller_revision.h"
#include "kcm/rules/pod.h"
#include "plugins/pod/statefulset/identity.h"

namespace kcm::pod::statefulset {

using rules::Node;
using rules::WallTime;

namespace {

std::string_view PodNameOf(Node pod) { return pod.Path("metadata.name").String(); }
int64_t OrdinalOf(Node pod) { return ParsePodName(PodNameOf(pod)).ordinal; }

bool IsOutdated(const UpdateView& view, size_t place) {
  return RevisionOf(view.pods[place]) != view.update_revision;
}
bool IsTerminating(const UpdateView& view, size_t place) {
  return rules::HasDeletionTimestamp(view.pods[place]) || view.deleted.contains(place);
}
bool IsInService(const UpdateView& view, size_t place) {
  return !IsTerminating(view, place) && !IsUnavailable(view.set, view.pods[place], view.now);
}

}  // namespace

std::optional<size_t> Slots::At(int64_t slot) const {
  const auto it = pods.find(slot);
  return it == pods.end() ? std::nullopt : std::optional(it->second);
}

Slots Arrange(const Spec& set, std::span<const Node> pods) {
  Slots out{.count = set.replicas};
  for (size_t i = 0; i < pods.size(); ++i) {
    const int64_t ordinal = OrdinalOf(pods[i]);
    if (ordinal < 0) continue;
    if (!set.InRange(ordinal)) {
      out.condemned.push_back(i);
    } else if (PodNameOf(pods[i]) == PodName(set.name, ordinal)) {
      out.pods[ordinal - set.start] = i;
    }
  }
  std::stable_sort(out.condemned.begin(), out.condemned.end(),
                   [&](size_t x, size_t y) { return OrdinalOf(pods[x]) > OrdinalOf(pods[y]); });
  return out;
}

std::string_view RevisionOf(Node pod) {
  return pod.Path("metadata.labels").Get(rules::kPodRevisionLabel).String();
}

bool IsRunningAndReady(Node pod) {
  return rules::PodPhase(pod) == "Running" && rules::IsPodReady(pod);
}

bool IsUnavailable(const Spec& set, Node pod, WallTime now) {
  return rules::HasDeletionTimestamp(pod) ||
         !rules::IsPodAvailable(pod, set.min_ready_seconds, now);
}

bool IsMadeFromCurrent(const Spec& set, int64_t slot) {
  if (set.has_partition) return slot < set.partition;
  return set.rolls && slot < set.current_replicas;
}

SlotNeed NeedOf(const Spec& set, Node pod, WallTime now) {
  if (!pod.Has()) return SlotNeed::kCreate;
  const bool deleting = rules::HasDeletionTimestamp(pod);
  if (rules::IsPodTerminal(pod)) return deleting ? SlotNeed::kWait : SlotNeed::kReplace;
  if (rules::PodPhase(pod) == "Pending") return SlotNeed::kClaims;
  if (set.monotonic && (!IsRunningAndReady(pod) || IsUnavailable(set, pod, now)))
    return SlotNeed::kWait;
  return SlotNeed::kKeepConsistent;
}

std::optional<size_t> FirstUnavailable(const Spec& set, const Slots& slots,
                                       std::span<const Node> pods, WallTime now) {
  int64_t next = 0;
  for (const auto& [slot, place] : slots.pods) {
    if (slot != next) return std::nullopt;  // an empty one
    if (IsUnavailable(set, pods[place], now)) return place;
    ++next;
  }
  if (next < slots.count) return std::nullopt;
  for (size_t i = slots.condemned.size(); i-- > 0;) {
    if (IsUnavailable(set, pods[slots.condemned[i]], now)) return slots.condemned[i];
  }
  return std::nullopt;
}

ScaleDownStep StepFor(const Spec& set, Node condemned, bool is_first_unavailable, WallTime now) {
  if (rules::HasDeletionTimestamp(condemned))
    return set.monotonic ? ScaleDownStep::kStop : ScaleDownStep::kSkip;
  const bool healthy = IsRunningAndReady(condemned) && !IsUnavailable(set, condemned, now);
  if (set.monotonic && !healthy && !is_first_unavailable) return ScaleDownStep::kStop;
  return ScaleDownStep::kDelete;
}

int64_t UnavailableSlots(const UpdateView& view) {
  int64_t in_service = 0;
  for (const auto& [slot, place] : view.slots.pods) {
    if (IsInService(view, place)) ++in_service;
  }
  return view.slots.count - in_service;
}

std::optional<size_t> NextToUpdate(const UpdateView& view) {
  // Slots without a pod come before all others below them: they are awaited.
  int64_t slot = view.slots.count - 1;
  for (auto it = view.slots.pods.rbegin(); slot >= view.set.partition; ++it, --slot) {
    if (it == view.slots.pods.rend() || it->first != slot) return std::nullopt;
    const size_t place = it->second;
    if (IsOutdated(view, place) && !IsTerminating(view, place)) return place;
    if (!IsInService(view, place)) return std::nullopt;
  }
  return std::nullopt;
}

std::vector<size_t> NextToUpdate(const UpdateView& view, int64_t max_unavailable) {
  int64_t budget = max_unavailable - UnavailableSlots(view);
  std::vector<size_t> out;
  for (auto it = view.slots.pods.rbegin(); it != view.slots.pods.rend() && budget > 0; ++it) {
    if (it->first < view.set.partition) break;
    if (!IsOutdated(view, it->second) || IsTerminating(view, it->second)) continue;
    out.push_back(it->second);
    --budget;
  }
  return out;
}

}  // namespace kcm::pod::statefulset
