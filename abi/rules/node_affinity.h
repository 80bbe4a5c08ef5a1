// SPDX-License-Identifier: Apache-2.0
// Node selectors and required node affinity (spec/pod-workloads.md 1.16). Preferred affinity is the
// scheduler's business.
//
//   const NodeAffinity affinity = NodeAffinity::OfPodSpec(ds.Path("spec.template.spec"));
//   for (node : nodes) if (affinity.Matches(node)) ...
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "kcm/rules/label_selector.h"
#include "kcm/rules/node.h"

namespace kcm::rules {

// A core/v1 NodeSelector {nodeSelectorTerms}: terms are ORed. A term that can not be parsed or is
// empty matches nothing. Immutable; a value type; thread-safe.
class NodeSelectorTerms {
 public:
  explicit NodeSelectorTerms(Node node_selector);
  // `node`: a core/v1 Node object (labels and name are read).
  bool Matches(Node node) const;

 private:
  struct Term {
    LabelSelector labels = LabelSelector::Everything();
    std::vector<SelectorRequirement> fields;  // In and NotIn with one value
  };
  static std::optional<Term> CompileTerm(Node term);

  std::vector<Term> terms_;
};

// spec.nodeSelector and spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution
// of a pod, both of which must match. Immutable; a value type; thread-safe.
class NodeAffinity {
 public:
  static NodeAffinity OfPodSpec(Node pod_spec);
  bool Matches(Node node) const;

 private:
  LabelSelector selector_ = LabelSelector::Everything();
  std::optional<NodeSelectorTerms> required_;
};

}  // namespace kcm::rules
