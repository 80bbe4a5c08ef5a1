// SPDX-License-Identifier: Apache-2.0
// Which pod has which slot, which are too many, and what each of them needs (spec/pod-workloads.md
// 5.2 to 5.4). Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"
#include "plugins/pod/statefulset/spec.h"

namespace kcm::pod::statefulset {

// Pods are named by their place in the list they were arranged from. Slots that have no pod take no
// memory: spec.replicas may be any number.
struct Slots {
  int64_t count = 0;  // slots 0 to count - 1 have ordinals start to start + count - 1
  std::map<int64_t, size_t> pods = {};  // by slot
  std::vector<size_t> condemned = {};   // highest ordinal first

  std::optional<size_t> At(int64_t slot) const;
};
// A pod whose name has no ordinal, or that stands for an ordinal under another spelling, has no
// place.
Slots Arrange(const Spec& set, std::span<const rules::Node> pods);

// controller-revision-hash: the name of the revision that made the pod.
std::string_view RevisionOf(rules::Node pod);
bool IsRunningAndReady(rules::Node pod);
// Not available for minReadySeconds, or being deleted.
bool IsUnavailable(const Spec& set, rules::Node pod, rules::WallTime now);
// Whether a pod made for this slot is of the current revision rather than the update revision.
bool IsMadeFromCurrent(const Spec& set, int64_t slot);

enum class SlotNeed : uint8_t {
  kCreate,         // nobody is there
  kReplace,        // ended: to be deleted, made anew once it is gone
  kWait,           // nothing can be done for it now
  kClaims,         // waits for its claims perhaps; ordered: and the set waits for it
  kKeepConsistent  // identity, storage and claims are to be as the set says
};
// `pod` absent: nobody is there.
SlotNeed NeedOf(const Spec& set, rules::Node pod, rules::WallTime now);

// The first that is not available: a slot's, else the condemned one of the lowest ordinal; nullopt
// also when that slot is empty.
std::optional<size_t> FirstUnavailable(const Spec& set, const Slots& slots,
                                       std::span<const rules::Node> pods, rules::WallTime now);

enum class ScaleDownStep : uint8_t { kDelete, kSkip, kStop };
// `is_first_unavailable`: it is what everybody waits for.
ScaleDownStep StepFor(const Spec& set, rules::Node condemned, bool is_first_unavailable,
                      rules::WallTime now);

// What an update looks at. A pod that was deleted in this reconcile is neither available nor to be
// deleted.
struct UpdateView {
  const Spec& set;
  const Slots& slots;
  std::span<const rules::Node> pods;
  const std::set<size_t>& deleted;  // places
  std::string_view update_revision;
  rules::WallTime now;
};
// Slots without an available pod.
int64_t UnavailableSlots(const UpdateView& view);
// Pods to delete for an update, highest slot first.
// One at a time: nullopt when there is none or one has to be awaited.
std::optional<size_t> NextToUpdate(const UpdateView& view);
// Up to `max_unavailable` out of service at once, healthy or not.
std::vector<size_t> NextToUpdate(const UpdateView& view, int64_t max_unavailable);

}  // namespace kcm::pod::statefulset
