// SPDX-License-Identifier: Apache-2.0
// Replacing pods node by node.
#include "plugins/pod/daemonset/rolling_update.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "kcm/rules/pod.h"

namespace kcm::pod::daemonset {
namespace {

using rules::Node;

// The pods of a node that are not being deleted.
struct OnNode {
  std::optional<size_t> fresh = {}, old = {};
  bool excess = false;  // more than one of a kind
};

class RollingUpdate {
 public:
  RollingUpdate(const Spec& set, const Fleet& fleet, std::string_view hash, rules::WallTime now)
      : set_(set), fleet_(fleet), hash_(hash), now_(now) {}

  RollingPlan Replace(int64_t max_unavailable);
  Result<RollingPlan> Surge(int64_t max_surge);

 private:
  std::set<std::string_view> Nodes() const;
  OnNode Look(std::string_view node) const;
  bool IsAvailable(size_t place) const {
    return rules::IsPodAvailable(fleet_.pods[place], set_.min_ready_seconds, now_);
  }

  const Spec& set_;
  const Fleet& fleet_;
  const std::string_view hash_;
  const rules::WallTime now_;
};

// Those with pods, and those that are to have one.
std::set<std::string_view> RollingUpdate::Nodes() const {
  std::set<std::string_view> names;
  for (const auto& [node, places] : fleet_.pods_on) names.insert(node);
  for (const auto& [node, eligibility] : fleet_.nodes)
    if (eligibility.should_run) names.insert(node);
  return names;
}

OnNode RollingUpdate::Look(std::string_view node) const {
  OnNode found;
  for (const size_t place : fleet_.PodsOn(node)) {
    const Node pod = fleet_.pods[place];
    if (rules::HasDeletionTimestamp(pod)) continue;
    std::optional<size_t>& kind = IsUpdated(set_, pod, hash_) ? found.fresh : found.old;
    if (kind) found.excess = true;
    kind = place;
  }
  return found;
}

template <class T>
void AppendUpTo(std::vector<T>& out, const std::vector<T>& from, int64_t most) {
  const auto count = std::clamp<int64_t>(most, 0, static_cast<int64_t>(from.size()));
  out.insert(out.end(), from.begin(), from.begin() + count);
}

// Without surge: an old pod goes, and the node gets its new one when it is gone.
RollingPlan RollingUpdate::Replace(int64_t max_unavailable) {
  RollingPlan plan;
  std::vector<size_t> candidates;
  int64_t unavailable = 0;
  for (const std::string_view node : Nodes()) {
    const OnNode here = Look(node);
    if (here.excess || here.fresh.has_value() == here.old.has_value()) {
      ++unavailable;  // about to be put right by the next reconciles
    } else if (here.fresh) {
      if (!IsAvailable(*here.fresh)) ++unavailable;
    } else if (IsAvailable(*here.old)) {
      candidates.push_back(*here.old);
    } else {
      ++unavailable;
      plan.deleted.push_back(*here.old);  // nothing is lost with it
    }
  }
  AppendUpTo(plan.deleted, candidates, max_unavailable - unavailable);
  return plan;
}

// With surge: a new pod comes beside the old one, which goes when the new one is available.
Result<RollingPlan> RollingUpdate::Surge(int64_t max_surge) {
  RollingPlan plan;
  std::vector<std::string_view> candidates;
  std::vector<size_t> misplaced;
  int64_t surge = 0, available = 0;
  for (const std::string_view node : Nodes()) {
    const OnNode here = Look(node);
    if (here.excess) {
      ++surge;
      continue;
    }
    if (!here.old) {
      if (here.fresh && IsAvailable(*here.fresh)) ++available;
      continue;
    }
    const bool old_available = IsAvailable(*here.old);
    if (old_available) ++available;
    if (here.fresh) {
      if (IsAvailable(*here.fresh)) {
        plan.deleted.push_back(*here.old);
      } else {
        ++surge;
      }
      continue;
    }
    const auto known = fleet_.nodes.find(node);
    if (known == fleet_.nodes.end()) {
      return MakeError(Code::kNotFound, "couldn't get node for nodeName \"" + std::string(node) +
                                            "\": the cache of nodes does not have it");
    }
    if (!known->second.should_run) {
      (old_available ? misplaced : plan.deleted).push_back(*here.old);
    } else {
      (old_available ? candidates : plan.created).push_back(node);
    }
  }
  // Where pods no longer belong they stay until as many are available elsewhere.
  AppendUpTo(plan.deleted, misplaced, available - fleet_.CountWanted());
  AppendUpTo(plan.created, candidates, max_surge - surge);
  return plan;
}

}  // namespace

Result<RollingPlan> PlanRollingUpdate(const Spec& set, const Fleet& fleet, std::string_view hash,
                                      rules::WallTime now) {
  const Result<rules::RollingLimits> limits = LimitsOf(set, fleet.CountWanted());
  if (!limits.ok()) return limits.error();
  RollingUpdate update(set, fleet, hash, now);
  if (limits->surge == 0) return update.Replace(limits->unavailable);
  return update.Surge(limits->surge);
}

}  // namespace kcm::pod::daemonset
