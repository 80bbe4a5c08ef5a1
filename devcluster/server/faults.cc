// SPDX-License-Identifier: Apache-2.0
// Faults for tests (faults.h).
#include "devcluster/server/faults.h"

namespace kcm::devcluster {

void Faults::Add(const Server::Fault& fault) {
  Entry e{fault, std::regex(fault.path_regex.empty() ? ".*" : fault.path_regex), fault.times};
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(e));
}

void Faults::Clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

std::optional<Server::Fault> Faults::Match(std::string_view method, const std::string& target,
                                           bool watch) {
  const std::lock_guard lock(mutex_);
  for (Entry& e : entries_) {
    const bool for_watches = e.fault.kind == Server::Fault::Kind::kWatchClose ||
                             e.fault.kind == Server::Fault::Kind::kWatchGone ||
                             e.fault.kind == Server::Fault::Kind::kWatchCut;
    if (e.left == 0 || (for_watches && !watch)) continue;
    if (!e.fault.method.empty() && e.fault.method != method) continue;
    if (!std::regex_search(target, e.path)) continue;
    if (e.left > 0) --e.left;
    return e.fault;
  }
  return std::nullopt;
}

}  // namespace kcm::devcluster
