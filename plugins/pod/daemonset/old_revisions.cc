// SPDX-License-Identifier: Apache-2.0
// Cutting a history.
#include "plugins/pod/daemonset/old_revisions.h"

#include "plugins/pod/daemonset/spec.h"

namespace kcm::pod::daemonset {

std::vector<size_t> OldRevisionsToDelete(std::span<const rules::Node> old,
                                         const std::set<std::string_view>& hashes_in_use,
                                         int64_t limit) {
  std::vector<size_t> gone;
  const int64_t excess = static_cast<int64_t>(old.size()) - limit;
  for (size_t i = 0; i < old.size() && static_cast<int64_t>(gone.size()) < excess; ++i) {
    if (!hashes_in_use.contains(HashOf(old[i]))) gone.push_back(i);
  }
  return gone;
}

}  // namespace kcm::pod::daemonset
