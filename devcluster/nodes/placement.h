// SPDX-License-Identifier: Apache-2.0
// Placement: may this pod run on that node? Pure decisions of the simple scheduler, compiled once
// per pod.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "devcluster/nodes/objects.h"

namespace kcm::devcluster::nodes {

// Of preferred terms that weigh 100 together: what Dislike changes by.
inline constexpr double kFullPreference = 2;

// A node as the scheduler sees it, with what its pods have taken.
struct Room {
  NodeObject node;
  int64_t used_milli_cpu = 0, used_memory = 0, used_pods = 0;
  Amounts used_other;
  std::multiset<std::string> used_ports;  // as Pod::host_ports

  void Take(const Pod& pod);
  void Give(const Pod& pod);
  // How full it is, 0 to 1 per resource, added up: the scheduler prefers the least.
  double Load() const;
};

// Compiled constraints of one pod. Immutable; thread-safe.
class Placement {
 public:
  explicit Placement(const Pod& pod);
  ~Placement();
  Placement(Placement&&) noexcept;
  Placement& operator=(Placement&&) noexcept;

  // Empty when the pod fits, else why not, in the words of kube-scheduler ("node(s) had untolerated
  // taint {key: value}"). Several resources may be short: one reason each.
  std::vector<std::string> Against(const Room& room) const;
  // The part of Against that eviction of other pods can change.
  std::vector<std::string> ShortageOf(const Room& room) const;
  // The part that it can not change.
  std::string ForbiddenOn(const NodeObject& node) const;
  // How much less than other nodes this one is liked, for preferred node affinity (-2 to 0) and
  // taints that pods are to avoid (3 each).
  double Dislike(const NodeObject& node) const;
  // Whether the pod's nodeSelector and required node affinity accept the node.
  bool Selects(const NodeObject& node) const;
  // The nodes that the pod's required affinity names by metadata.name (daemon pods); empty: any may
  // do.
  const std::vector<std::string>& pinned() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable." from reasons and how
// often each was given.
std::string UnschedulableMessage(size_t nodes, const std::map<std::string, int>& reasons);

}  // namespace kcm::devcluster::nodes
