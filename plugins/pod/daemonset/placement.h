// SPDX-License-Identifier: Apache-2.0
// Placement: which nodes a DaemonSet's pods belong on (spec/pod-workloads.md 6.1). Pure.
//
//   const Placement placement(set.Template(), rules::ComparisonOperators::kOff);
//   if (placement.On(node).should_run) ...
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "kcm/rules/node.h"
#include "kcm/rules/node_affinity.h"
#include "kcm/rules/taint.h"

namespace kcm::pod::daemonset {

struct Eligibility {
  bool should_run = false;       // the node is to have a pod
  bool should_continue = false;  // a pod that is there stays
  friend bool operator==(const Eligibility&, const Eligibility&) = default;
};

// Thread-safe. Borrows the template.
class Placement {
 public:
  Placement(rules::Node pod_template, rules::ComparisonOperators comparison);
  ~Placement();

  // Of the node its name, labels and taints count, nothing else: neither its conditions nor whether
  // it is cordoned.
  Eligibility On(rules::Node node) const;

 private:
  const std::string_view node_name_;  // the only node; empty: any
  const rules::NodeAffinity affinity_;
  const std::unique_ptr<const nlohmann::json> tolerations_;  // the pods' own
  const rules::ComparisonOperators comparison_;
};

// Gives the spec of a pod the tolerations that every pod of a DaemonSet has.
void AddDaemonTolerations(nlohmann::json& pod_spec);

// The node that a pod is on or, before it is bound, is made for; empty for neither. Valid as long
// as the pod.
std::string_view TargetNodeOf(rules::Node pod);
// Makes it the only node that the scheduler may bind the pod to.
void SetTargetNode(nlohmann::json& pod_spec, std::string_view node);

}  // namespace kcm::pod::daemonset
