// SPDX-License-Identifier: Apache-2.0
// The end of the revision history.
#include "plugins/pod/deployment/cleanup.h"

#include <limits>
#include <optional>

#include "kcm/rules/pod.h"
#include "plugins/pod/deployment/revision.h"

namespace kcm::pod::deployment {
namespace {

constexpr int64_t kDefaultHistoryLimit = 10;
constexpr int64_t kKeepAll = std::numeric_limits<int32_t>::max();

struct Candidate {
  size_t place;
  std::optional<int64_t> revision;
};

// Lower revision first where both can be read; else the age, which is the order they come in.
bool GoesBefore(const Candidate& x, const Candidate& y) {
  return x.revision && y.revision && *x.revision < *y.revision;
}

bool IsEmptyAndObserved(const ReplicaSet& s) {
  return s.replicas == 0 && s.status_replicas == 0 &&
         s.root.Path("metadata.generation").Int() <= s.root.Path("status.observedGeneration").Int();
}

}  // namespace

std::vector<size_t> SetsToDelete(const Rollout& rollout) {
  const int64_t limit =
      rollout.deployment.root.Path("spec.revisionHistoryLimit").Int(kDefaultHistoryLimit);
  if (limit == kKeepAll) return {};
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < rollout.sets.size(); ++i) {
    if (!rollout.IsOld(i) || rules::HasDeletionTimestamp(rollout.sets[i].root)) continue;
    // Insertion: the comparison is no strict order, since some revisions can not be read.
    size_t at = candidates.size();
    const Candidate c{i, RevisionOf(rollout.sets[i].root)};
    while (at > 0 && GoesBefore(c, candidates[at - 1])) --at;
    candidates.insert(candidates.begin() + static_cast<std::ptrdiff_t>(at), c);
  }
  std::vector<size_t> out;
  const int64_t excess = static_cast<int64_t>(candidates.size()) - limit;
  for (int64_t i = 0; i < excess; ++i) {
    const size_t place = candidates[static_cast<size_t>(i)].place;
    if (IsEmptyAndObserved(rollout.sets[place])) out.push_back(place);
  }
  return out;
}

}  // namespace kcm::pod::deployment
