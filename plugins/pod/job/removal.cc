// SPDX-License-Identifier: Apache-2.0
// Choice of the pods to remove.
#include "plugins/pod/job/removal.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "kcm/rules/pod.h"

namespace kcm::pod::job {
namespace {

using rules::Node;
using rules::WallTime;

// Later times first, no time first of all.
int64_t LaterFirst(std::optional<WallTime> t) {
  return t ? -t->time_since_epoch().count() : std::numeric_limits<int64_t>::min();
}

int PhaseRank(std::string_view phase) {
  return phase == "Running" ? 2 : phase == "Unknown" ? 1 : 0;
}

auto DeletionPreference(const JobPod& pod) {
  const Node root = pod.root;
  const int64_t ready_time = pod.ready ? LaterFirst(rules::PodReadySince(root)) : 0;
  return std::tuple(!rules::PodNodeName(root).empty(), PhaseRank(rules::PodPhase(root)), pod.ready,
                    ready_time, -rules::MaxContainerRestarts(root),
                    -rules::MaxSidecarRestarts(root),
                    LaterFirst(rules::TimeOf(root.Get("metadata").Get("creationTimestamp"))));
}

// Pods without a legal index, and of each index all but one; the others stay in `pods`.
std::vector<const JobPod*> TakeSuperfluous(std::vector<const JobPod*>& pods) {
  SortByDeletionPreference(pods);
  std::stable_sort(pods.begin(), pods.end(),
                   [](const JobPod* x, const JobPod* y) { return x->index < y->index; });
  std::vector<const JobPod*> out, left;
  for (size_t i = 0; i < pods.size(); ++i) {
    const bool repeated = i + 1 < pods.size() && pods[i + 1]->index == pods[i]->index;
    (pods[i]->countable && !repeated ? left : out).push_back(pods[i]);
  }
  pods = std::move(left);
  return out;
}

}  // namespace

int64_t WantedActive(const JobSpec& spec, int64_t active, int64_t succeeded) {
  // A work queue starts nothing new after the first success.
  if (!spec.completions) return succeeded > 0 ? active : spec.parallelism;
  return std::max<int64_t>(std::min(spec.parallelism, *spec.completions - succeeded), 0);
}

void SortByDeletionPreference(std::span<const JobPod*> pods) {
  std::stable_sort(pods.begin(), pods.end(), [](const JobPod* x, const JobPod* y) {
    return DeletionPreference(*x) < DeletionPreference(*y);
  });
}

std::vector<const JobPod*> PodsToRemove(const JobSpec& spec, std::vector<const JobPod*> active,
                                        int64_t wanted) {
  const size_t surplus =
      static_cast<size_t>(std::max<int64_t>(static_cast<int64_t>(active.size()) - wanted, 0));
  std::vector<const JobPod*> out;
  if (spec.indexed) out = TakeSuperfluous(active);
  if (out.size() < surplus) {
    SortByDeletionPreference(active);
    const auto end =
        active.begin() + static_cast<std::ptrdiff_t>(std::min(surplus - out.size(), active.size()));
    out.insert(out.end(), active.begin(), end);
  }
  if (out.size() > static_cast<size_t>(kBurst)) out.resize(static_cast<size_t>(kBurst));
  return out;
}

}  // namespace kcm::pod::job
