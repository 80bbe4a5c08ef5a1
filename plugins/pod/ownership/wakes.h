// SPDX-License-Identifier: Apache-2.0
// What a change of a dependant (pod, ReplicaSet) means to the workloads around it
// (spec/pod-workloads.md 1.6; Triggers of 2 to 5). Pure.
//
//   const Wakes wakes = WakesOf(change.type(), change.old_object(), change.object(),
//   DeletingUpdate::kIsDeletion); for (size_t i = 0; i < wakes.count; ++i) ...   // resolve
//   wakes.owners[i].reference, add its key if (wakes.orphan) ...                          // add
//   every workload whose selector matches
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "kcm/rules/node.h"
#include "kcm/sdk/controller.h"

namespace kcm::pod {

// One controller reference that the change concerns. It still has to be resolved.
struct OwnerWake {
  rules::Node reference;
  bool created = false;       // a creation has been observed
  bool deleted = false;       // a deletion has been observed
  bool became_ready = false;  // a pod: also look after minReadySeconds
};

struct Wakes {
  std::array<OwnerWake, 2> owners{};
  size_t count = 0;
  bool orphan = false;  // every workload whose selector matches its labels, of which it has some
};

// An update that shows a deletionTimestamp: the deletion for those that keep expectations, one
// change among others for the rest.
enum class DeletingUpdate : uint8_t { kIsDeletion, kIsUpdate };

// `was`: the state before, absent unless it is an update. The result borrows from both.
Wakes WakesOf(sdk::Change::Type type, rules::Node was, rules::Node now, DeletingUpdate deleting);

}  // namespace kcm::pod
