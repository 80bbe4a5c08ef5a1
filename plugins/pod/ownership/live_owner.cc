// SPDX-License-Identifier: Apache-2.0
// Asking for the live owner.
#include "plugins/pod/ownership/live_owner.h"

#include <string>

#include "kcm/rules/pod.h"

namespace kcm::pod {

Status CheckLiveOwner(const sdk::Client& client, const sdk::Resource& resource, rules::Node owner) {
  const std::string_view ns = owner.Path("metadata.namespace").String(),
                         name = owner.Path("metadata.name").String(),
                         uid = owner.Path("metadata.uid").String();
  const Result<sdk::WholeRef> live = client.Get(resource, ns, name);
  if (!live.ok()) return live.error();
  const std::string who = std::string(ns) + "/" + std::string(name);
  if (live->Uid() != uid) {
    return MakeError(Code::kConflict, "original " + std::string(resource.kind) + " " + who +
                                          " is gone: got uid " + std::string(live->Uid()) +
                                          ", wanted " + std::string(uid));
  }
  if (rules::HasDeletionTimestamp(live->Root())) {
    return MakeError(Code::kConflict,
                     who + " has just been deleted at " +
                         std::string(live->Root().Path("metadata.deletionTimestamp").String()));
  }
  return Ok();
}

}  // namespace kcm::pod
