// SPDX-License-Identifier: Apache-2.0
// From changes of dependants to owners.
#include "plugins/pod/ownership/wakes.h"

#include "kcm/rules/equality.h"
#include "kcm/rules/owner_reference.h"
#include "kcm/rules/pod.h"

namespace kcm::pod {
namespace {

using rules::Node;

Node Labels(Node object) { return object.Get("metadata").Get("labels"); }

bool LabelsDiffer(Node x, Node y) {
  const Node a = Labels(x), b = Labels(y);
  return a.size() != b.size() || (!a.empty() && !rules::DeepEqual(a, b));
}

void AddOwner(Wakes& wakes, const OwnerWake& wake) {
  if (wake.reference.Has()) wakes.owners[wakes.count++] = wake;
}

Wakes OfUpdate(Node was, Node now, DeletingUpdate deleting) {
  Wakes wakes;
  if (was.Path("metadata.resourceVersion").String() ==
      now.Path("metadata.resourceVersion").String()) {
    return wakes;  // a resync
  }
  const bool labels_differ = LabelsDiffer(was, now);
  const Node old_owner = rules::ControllerOf(was), owner = rules::ControllerOf(now);
  if (deleting == DeletingUpdate::kIsDeletion && rules::HasDeletionTimestamp(now)) {
    AddOwner(wakes, {.reference = owner, .deleted = true});
    if (labels_differ) AddOwner(wakes, {.reference = old_owner, .deleted = true});
    return wakes;
  }
  const bool owner_differs = old_owner.Has() != owner.Has() ||
                             (owner.Has() && !rules::SameOwnerReference(old_owner, owner));
  if (owner_differs) AddOwner(wakes, {.reference = old_owner});
  if (owner.Has()) {
    const bool became_ready = !rules::IsPodReady(was) && rules::IsPodReady(now);
    AddOwner(wakes, {.reference = owner, .became_ready = became_ready});
  } else {
    wakes.orphan = (labels_differ || owner_differs) && !Labels(now).empty();
  }
  return wakes;
}

}  // namespace

Wakes WakesOf(sdk::Change::Type type, Node was, Node now, DeletingUpdate deleting) {
  if (type == sdk::Change::Type::kUpdate) return OfUpdate(was, now, deleting);
  Wakes wakes;
  const Node owner = rules::ControllerOf(now);
  // Added while already being deleted: its deletion was seen before its creation.
  if (type == sdk::Change::Type::kDelete || rules::HasDeletionTimestamp(now)) {
    AddOwner(wakes, {.reference = owner, .deleted = true});
  } else if (owner.Has()) {
    AddOwner(wakes, {.reference = owner, .created = true});
  } else {
    wakes.orphan = !Labels(now).empty();
  }
  return wakes;
}

}  // namespace kcm::pod
