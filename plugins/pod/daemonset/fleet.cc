// SPDX-License-Identifier: Apache-2.0
// What each node needs.
#include "plugins/pod/daemonset/fleet.h"

#include <algorithm>
#include <optional>

#include "kcm/rules/pod.h"

namespace kcm::pod::daemonset {
namespace {

using rules::Node;

bool IsKeptBefore(Node x, Node y) {
  const bool x_bound = !rules::PodNodeName(x).empty(), y_bound = !rules::PodNodeName(y).empty();
  if (x_bound != y_bound) return x_bound;
  const Node mx = x.Get("metadata"), my = y.Get("metadata");
  const auto created_x = rules::TimeOf(mx.Get("creationTimestamp"));
  const auto created_y = rules::TimeOf(my.Get("creationTimestamp"));
  if (created_x != created_y) return created_x < created_y;
  return mx.Get("name").String() < my.Get("name").String();
}

// Of the pods that run, one new and one old may stay, the old one until the new one can take over.
void PruneSurge(const Spec& set, const Fleet& fleet, std::span<const size_t> running,
                std::string_view hash, rules::WallTime now, NodePlan& plan) {
  std::optional<size_t> newest_template, older_template;
  for (const size_t place : running) {
    std::optional<size_t>& kept =
        HashOf(fleet.pods[place]) == hash ? newest_template : older_template;
    if (kept) {
      plan.deleted.push_back(place);
    } else {
      kept = place;
    }
  }
  if (!newest_template || !older_template) return;
  const bool replaced =
      rules::IsPodAvailable(fleet.pods[*newest_template], set.min_ready_seconds, now);
  if (replaced || !rules::IsPodReady(fleet.pods[*older_template]))
    plan.deleted.push_back(*older_template);
}

}  // namespace

std::span<const size_t> Fleet::PodsOn(std::string_view node) const {
  const auto found = pods_on.find(node);
  return found == pods_on.end() ? std::span<const size_t>() : std::span(found->second);
}

int64_t Fleet::CountWanted() const {
  return std::count_if(nodes.begin(), nodes.end(),
                       [](const auto& node) { return node.second.should_run; });
}

Fleet FleetOf(std::vector<Node> pods) {
  Fleet fleet{.pods = std::move(pods)};
  for (size_t i = 0; i < fleet.pods.size(); ++i) {
    const Node pod = fleet.pods[i];
    if (rules::IsPodTerminal(pod) && rules::HasDeletionTimestamp(pod)) continue;
    const std::string_view node = TargetNodeOf(pod);
    if (!node.empty()) fleet.pods_on[node].push_back(i);
  }
  for (auto& [node, places] : fleet.pods_on) {
    std::sort(places.begin(), places.end(),
              [&](size_t x, size_t y) { return IsKeptBefore(fleet.pods[x], fleet.pods[y]); });
  }
  return fleet;
}

NodePlan PlanNode(const Spec& set, const Fleet& fleet, std::string_view node, std::string_view hash,
                  rules::WallTime now) {
  NodePlan plan;
  const Eligibility eligibility = fleet.nodes.at(node);
  const std::span<const size_t> here = fleet.PodsOn(node);
  if (eligibility.should_run && here.empty()) {
    plan.create = true;
    return plan;
  }
  std::vector<size_t> running;
  for (const size_t place : here) {
    const Node pod = fleet.pods[place];
    if (rules::HasDeletionTimestamp(pod)) continue;
    const std::string_view phase = rules::PodPhase(pod);
    if (!eligibility.should_continue) {
      plan.deleted.push_back(place);
    } else if (phase == "Failed") {
      plan.failed.push_back(place);
    } else if (phase == "Succeeded") {
      plan.succeeded.push_back(place);
    } else {
      running.push_back(place);
    }
  }
  if (!eligibility.should_continue) return plan;
  if (!AllowsSurge(set)) {
    // A pod that is still ending holds its node: nothing is created beside it.
    if (running.size() > 1) plan.deleted.assign(running.begin() + 1, running.end());
  } else if (running.empty()) {
    plan.create = eligibility.should_run;
  } else {
    PruneSurge(set, fleet, running, hash, now, plan);
  }
  return plan;
}

std::vector<size_t> PodsOfLostNodes(const Fleet& fleet) {
  std::vector<size_t> lost;
  for (const auto& [node, places] : fleet.pods_on) {
    if (fleet.nodes.contains(node)) continue;
    for (const size_t place : places) {
      const Node pod = fleet.pods[place];
      if (rules::PodNodeName(pod).empty() && !rules::HasDeletionTimestamp(pod))
        lost.push_back(place);
    }
  }
  return lost;
}

}  // namespace kcm::pod::daemonset
