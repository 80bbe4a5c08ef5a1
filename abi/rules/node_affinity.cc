// SPDX-License-Identifier: Apache-2.0
// Compiling node selector terms.
#include "kcm/rules/node_affinity.h"

#include <utility>

namespace kcm::rules {
namespace {

std::optional<SelectorOperator> NodeOperatorNamed(std::string_view name) {
  if (name == "In") return SelectorOperator::kIn;
  if (name == "NotIn") return SelectorOperator::kNotIn;
  if (name == "Exists") return SelectorOperator::kExists;
  if (name == "DoesNotExist") return SelectorOperator::kDoesNotExist;
  if (name == "Gt") return SelectorOperator::kGreaterThan;
  if (name == "Lt") return SelectorOperator::kLessThan;
  return std::nullopt;
}

std::vector<std::string> ValuesOf(Node expression) {
  std::vector<std::string> values;
  for (const Node v : expression.Get("values").Items()) values.emplace_back(v.String());
  return values;
}

}  // namespace

std::optional<NodeSelectorTerms::Term> NodeSelectorTerms::CompileTerm(Node term) {
  const Node expressions = term.Get("matchExpressions");
  const Node fields = term.Get("matchFields");
  if (expressions.empty() && fields.empty()) return std::nullopt;
  Term compiled;
  std::vector<SelectorRequirement> requirements;
  for (const Node e : expressions.Items()) {
    const std::optional<SelectorOperator> op = NodeOperatorNamed(e.Get("operator").String());
    if (!op) return std::nullopt;
    Result<SelectorRequirement> r = MakeRequirement(e.Get("key").String(), *op, ValuesOf(e));
    if (!r.ok()) return std::nullopt;
    requirements.push_back(std::move(*r));
  }
  compiled.labels = LabelSelector::FromRequirements(std::move(requirements));
  for (const Node f : fields.Items()) {
    const std::string_view name = f.Get("operator").String();
    std::vector<std::string> values = ValuesOf(f);
    if ((name != "In" && name != "NotIn") || values.size() != 1) return std::nullopt;
    // Values of fields are object names, not label values: longer, with dots.
    compiled.fields.push_back({std::string(f.Get("key").String()),
                               name == "In" ? SelectorOperator::kIn : SelectorOperator::kNotIn,
                               std::move(values)});
  }
  return compiled;
}

NodeSelectorTerms::NodeSelectorTerms(Node node_selector) {
  for (const Node term : node_selector.Get("nodeSelectorTerms").Items()) {
    if (std::optional<Term> compiled = CompileTerm(term)) terms_.push_back(std::move(*compiled));
  }
}

bool NodeSelectorTerms::Matches(Node node) const {
  const Node metadata = node.Get("metadata");
  const auto fields_match = [&](const Term& term) {
    for (const SelectorRequirement& r : term.fields) {
      // A field that nodes do not offer reads as empty.
      const bool is_name = r.key == "metadata.name";
      if (!r.Matches(is_name ? metadata.Get("name").String() : std::string_view())) return false;
    }
    return true;
  };
  for (const Term& term : terms_) {
    if (fields_match(term) && term.labels.Matches(metadata.Get("labels"))) return true;
  }
  return false;
}

NodeAffinity NodeAffinity::OfPodSpec(Node pod_spec) {
  NodeAffinity affinity;
  affinity.selector_ = LabelSelector::FromMap(pod_spec.Get("nodeSelector"));
  const Node required = pod_spec.Get("affinity")
                            .Get("nodeAffinity")
                            .Get("requiredDuringSchedulingIgnoredDuringExecution");
  if (required.Has()) affinity.required_.emplace(required);
  return affinity;
}

bool NodeAffinity::Matches(Node node) const {
  if (!selector_.Matches(node.Get("metadata").Get("labels"))) return false;
  return !required_ || required_->Matches(node);
}

}  // namespace kcm::rules
