// SPDX-License-Identifier: Apache-2.0
// Neighbours: what the pods that already have a node mean for one that looks for a node: pod
// affinity, anti-affinity of both sides, topology spread constraints. Pure.
//
//   Neighbours neighbours(pod, placement, placed, nodes);
//   for (node : nodes) if (neighbours.Against(node).empty()) Consider(node);
//
// Simplified: the namespaceSelector of an affinity term sees the name of a namespace only (label
// kubernetes.io/metadata.name).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "devcluster/nodes/objects.h"
#include "devcluster/nodes/placement.h"

namespace kcm::devcluster::nodes {

struct PlacedPod {
  const Pod* pod;
  const NodeObject* node;
};

// Whether this pod has constraints that other pods matter for. (Others may have one against it.)
bool MindsNeighbours(const Pod& pod);

// Whether one of these constraints looks at pods of other namespaces.
bool MindsOtherNamespaces(const Pod& pod);

// Compiled for one decision. Immutable; thread-safe.
class Neighbours {
 public:
  // `placed`: the pods on nodes that may matter: those of its namespace when MindsNeighbours, of
  // all when MindsOtherNamespaces, and in any case those with anti-affinity of their own. `nodes`:
  // all there are, for the domains of spread constraints; may be empty unless MindsNeighbours.
  Neighbours(const Pod& pod, const Placement& placement, const std::vector<PlacedPod>& placed,
             const std::vector<const NodeObject*>& nodes);
  ~Neighbours();
  Neighbours(Neighbours&&) noexcept;
  Neighbours& operator=(Neighbours&&) noexcept;

  // Empty when the neighbours allow the node, else why not, in the words of kube-scheduler.
  std::string Against(const NodeObject& node) const;
  // How much less than others the node is liked, for preferred (anti-)affinity (each -2 to 2 in
  // all) and ScheduleAnyway constraints (0 to 2 each).
  double Dislike(const NodeObject& node) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kcm::devcluster::nodes
