// SPDX-License-Identifier: Apache-2.0
// Which old revisions of a DaemonSet go (spec/pod-workloads.md 6.4.6). Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"

namespace kcm::pod::daemonset {

// Places in `old`, lowest first: as many as there are beyond `limit`, without those whose hash a
// pod carries. `old`: in the order of a history, without those of the present template. Revisions
// in use count towards the limit, unlike those of a StatefulSet.
std::vector<size_t> OldRevisionsToDelete(std::span<const rules::Node> old,
                                         const std::set<std::string_view>& hashes_in_use,
                                         int64_t limit);

}  // namespace kcm::pod::daemonset
