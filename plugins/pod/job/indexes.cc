// SPDX-License-Identifier: Apache-2.0
// Bookkeeping of Indexed Jobs.
#include "plugins/pod/job/indexes.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "kcm/rules/decimal_int64.h"
#include "plugins/pod/job/back_off.h"
#include "plugins/pod/job/failure_policy.h"

namespace kcm::pod::job {
namespace {

using rules::IndexSet;
using rules::Node;
using rules::WallTime;

int64_t FailureAnnotation(Node pod, std::string_view name) {
  const std::optional<int64_t> count =
      rules::ParseInt64(pod.Get("metadata").Get("annotations").Get(name).String());
  if (!count || *count < 0 || *count > std::numeric_limits<int32_t>::max()) return 0;
  return *count;
}

bool FailsItsIndex(const JobSpec& spec, const JobPod& pod) {
  if (!pod.failed) return false;
  const FailureMatch match = MatchFailurePolicy(spec, pod.root);
  if (match.action == FailureAction::kFailIndex) return true;
  return match.Counts() && FailuresOn(pod.root).counted >= *spec.backoff_limit_per_index;
}

int64_t Total(IndexFailures failures) { return failures.counted + failures.ignored; }

// Of two failed pods of an index, whether the later one of the list says more about it.
bool Supersedes(const JobPod& later, const JobPod& earlier) {
  const auto weight = [](const JobPod& pod) {
    return std::tuple(Total(FailuresOn(pod.root)), FinishTime(pod.root));
  };
  return weight(later) >= weight(earlier);
}

void FindDelayed(Indexes& indexes, std::span<const JobPod> pods) {
  std::set<int64_t> active;
  for (const JobPod& pod : pods)
    if (pod.active) active.insert(pod.index);
  for (const JobPod& pod : pods) {
    if (!pod.tracked || !pod.countable || !pod.failed) continue;
    if (indexes.succeeded.Has(pod.index) || indexes.failed->Has(pod.index) ||
        active.contains(pod.index))
      continue;
    const auto [it, first] = indexes.delayed.emplace(pod.index, &pod);
    if (!first && Supersedes(pod, *it->second)) it->second = &pod;
  }
}

std::chrono::nanoseconds RemainingOfIndex(const Indexes& indexes, int64_t index, WallTime now) {
  const auto it = indexes.delayed.find(index);
  if (it == indexes.delayed.end()) return std::chrono::nanoseconds(0);
  const Node pod = it->second->root;
  return RemainingBackOff(Total(FailuresOn(pod)) + 1, FinishTime(pod), now);
}

}  // namespace

IndexFailures FailuresOn(Node pod) {
  return {.counted = FailureAnnotation(pod, kIndexFailureCount),
          .ignored = FailureAnnotation(pod, kIndexIgnoredFailureCount)};
}

IndexFailures FailuresAfter(const JobSpec& spec, const JobPod* failed) {
  if (failed == nullptr) return {};
  IndexFailures out = FailuresOn(failed->root);
  ++(MatchFailurePolicy(spec, failed->root).Counts() ? out.counted : out.ignored);
  return out;
}

Indexes IndexesOf(const JobSpec& spec, Node status, std::span<const JobPod> pods) {
  const int64_t bound = spec.IndexBound();
  Indexes out{.previous = IndexSet::Parse(status.Get("completedIndexes").String(), bound)};
  out.succeeded = out.previous;
  for (const JobPod& pod : pods)
    if (pod.succeeded && pod.has_finalizer && pod.countable) out.succeeded.Add(pod.index);
  if (!spec.PerIndex()) return out;
  out.failed = IndexSet::Parse(status.Get("failedIndexes").String(), bound);
  for (const JobPod& pod : pods) {
    if (pod.has_finalizer && pod.countable && FailsItsIndex(spec, pod)) out.failed->Add(pod.index);
  }
  FindDelayed(out, pods);
  return out;
}

bool IsDelayed(const Indexes& indexes, const JobPod& pod) {
  const auto it = indexes.delayed.find(pod.index);
  return it != indexes.delayed.end() && it->second->uid == pod.uid;
}

IndexPlan PlanIndexes(const JobSpec& spec, const Indexes& indexes, std::span<const JobPod> pods,
                      int64_t count, WallTime now) {
  IndexSet taken = indexes.succeeded;
  if (indexes.failed) taken.Add(*indexes.failed);
  for (const JobPod& pod : pods)
    if (pod.active || (pod.terminating && spec.only_replace_failed)) taken.Add(pod.index);

  IndexPlan out;
  for (const int64_t index : taken.Missing(count, spec.IndexBound())) {
    const std::chrono::nanoseconds wait = RemainingOfIndex(indexes, index, now);
    if (wait.count() <= 0) {
      out.create.push_back(index);
    } else if (out.wait.count() == 0 || wait < out.wait) {
      out.wait = wait;
    }
  }
  return out;
}

std::optional<std::string> MatchSuccessPolicy(const JobSpec& spec, const IndexSet& succeeded) {
  if (succeeded.empty()) return std::nullopt;
  size_t place = 0;
  for (const Node rule : spec.success_policy.Get("rules").Items()) {
    const size_t number = place++;
    const Node wanted = rule.Get("succeededIndexes"), count = rule.Get("succeededCount");
    bool met = false;
    if (wanted.Has()) {
      const IndexSet required = IndexSet::Parse(wanted.String(), spec.IndexBound());
      const int64_t common = required.CountCommon(succeeded);
      met = !required.empty() &&
            (common == required.size() || (count.Has() && common >= count.Int()));
    } else {
      met = count.Has() && succeeded.size() >= count.Int();
    }
    if (met) return "Matched rules at index " + std::to_string(number);
  }
  return std::nullopt;
}

}  // namespace kcm::pod::job
