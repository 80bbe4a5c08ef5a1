// SPDX-License-Identifier: Apache-2.0
// Fleet: the nodes of the cluster and a DaemonSet's pods on them, and what each node needs
// (spec/pod-workloads.md 6.2). Pure.
//
//   Fleet fleet = FleetOf(pods);
//   for (node : nodes) fleet.nodes.emplace(name, placement.On(node));
//   for (const auto& [node, eligibility] : fleet.nodes) PlanNode(set, fleet, node, hash, now);
#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "kcm/rules/node.h"
#include "kcm/rules/time.h"
#include "plugins/pod/daemonset/placement.h"
#include "plugins/pod/daemonset/spec.h"

namespace kcm::pod::daemonset {

// Names are views of the objects.
struct Fleet {
  std::vector<rules::Node> pods = {};                            // all that the set has claimed
  std::map<std::string_view, Eligibility> nodes = {};            // that exist
  std::map<std::string_view, std::vector<size_t>> pods_on = {};  // places in `pods`, see below

  std::span<const size_t> PodsOn(std::string_view node) const;
  int64_t CountWanted() const;  // nodes that are to have a pod
};
// Pods by the node that they are on or made for, of each node in the order in which they are kept:
// bound ones first, then the oldest. Left out: pods of no node, and those that have ended and are
// being deleted.
Fleet FleetOf(std::vector<rules::Node> pods);

// What is to be done on a node. Places of pods, none of them being deleted.
struct NodePlan {
  bool create = false;
  std::vector<size_t> failed = {};     // are deleted when their back-off allows it
  std::vector<size_t> succeeded = {};  // are deleted
  std::vector<size_t> deleted = {};    // are deleted without a word
};
// REQUIRES: `node` is one of the fleet's.
NodePlan PlanNode(const Spec& set, const Fleet& fleet, std::string_view node, std::string_view hash,
                  rules::WallTime now);

// Pods that were made for a node that is gone and have not been bound. Bound ones are the pod
// garbage collector's.
std::vector<size_t> PodsOfLostNodes(const Fleet& fleet);

}  // namespace kcm::pod::daemonset
