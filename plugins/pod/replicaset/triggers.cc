// SPDX-License-Identifier: Apache-2.0
// From pod changes to owners.
#include "plugins/pod/replicaset/triggers.h"

#include "kcm/rules/equality.h"
#include "kcm/rules/owner_reference.h"
#include "kcm/rules/pod.h"

namespace kcm::pod::replicaset {
namespace {

using rules::Node;

Node Labels(Node pod) { return pod.Get("metadata").Get("labels"); }

bool LabelsDiffer(Node x, Node y) {
  const Node a = Labels(x), b = Labels(y);
  return a.size() != b.size() || (!a.empty() && !rules::DeepEqual(a, b));
}

void AddDeleted(PodWakes& wakes, Node pod) {
  const Node controller = rules::ControllerOf(pod);
  if (controller.Has()) wakes.owners[wakes.count++] = {.reference = controller, .deleted = true};
}

PodWakes OfUpdate(Node was, Node now) {
  PodWakes wakes;
  if (was.Path("metadata.resourceVersion").String() ==
      now.Path("metadata.resourceVersion").String())
    return wakes;
  const bool labels_differ = LabelsDiffer(was, now);
  if (rules::HasDeletionTimestamp(now)) {
    AddDeleted(wakes, now);
    if (labels_differ) AddDeleted(wakes, was);
    return wakes;
  }
  const Node old_owner = rules::ControllerOf(was), owner = rules::ControllerOf(now);
  const bool owner_differs = old_owner.Has() != owner.Has() ||
                             (owner.Has() && !rules::SameOwnerReference(old_owner, owner));
  if (owner_differs && old_owner.Has()) wakes.owners[wakes.count++] = {.reference = old_owner};
  if (owner.Has()) {
    wakes.owners[wakes.count++] = {
        .reference = owner, .became_ready = !rules::IsPodReady(was) && rules::IsPodReady(now)};
  } else {
    wakes.orphan = (labels_differ || owner_differs) && !Labels(now).empty();
  }
  return wakes;
}

}  // namespace

PodWakes WakesOf(ChangeType type, Node was, Node now) {
  if (type == ChangeType::kUpdated) return OfUpdate(was, now);
  PodWakes wakes;
  // Added while already being deleted: its deletion was seen before its creation.
  if (type == ChangeType::kDeleted || rules::HasDeletionTimestamp(now)) {
    AddDeleted(wakes, now);
    return wakes;
  }
  const Node owner = rules::ControllerOf(now);
  if (owner.Has()) {
    wakes.owners[wakes.count++] = {.reference = owner, .created = true};
  } else {
    wakes.orphan = !Labels(now).empty();
  }
  return wakes;
}

}  // namespace kcm::pod::replicaset
