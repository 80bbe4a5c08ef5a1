// SPDX-License-Identifier: Apache-2.0
// Which owner a change of owners says is gone (spec/pod-workloads.md 1.6.5 and 1.7.4; Triggers of
// 2, 6 and pod-batch.md 1.2). Pure.
//
//   if (const auto gone = GoneOwnerOf(change.type(), change.old_object(), change.object()))
//     Forget(change.Key(), gone->uid);
//
// What controllers remember goes by the owner's uid and is dropped here: one made anew under the
// same name inherits nothing. A reconcile of the one that is gone may be under way and remember
// more: it looks at its end (OwnerLookup::Has) and drops that too.
#pragma once
#include <optional>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/sdk/controller.h"

namespace kcm::pod {

struct GoneOwner {
  std::string_view uid;
  rules::Node last;  // as it was when it was last seen
};

// A deleted one. Or one that was deleted and made anew while the watch was down, which the watch
// shows as an update from one uid to another: the one before, whose deletion nothing else will
// tell. `was`: the state before, absent unless it is an update. The result borrows from both.
std::optional<GoneOwner> GoneOwnerOf(sdk::Change::Type type, rules::Node was, rules::Node now);

}  // namespace kcm::pod
