// SPDX-License-Identifier: Apache-2.0
// Compiles and checks a pod's constraints.
#include "devcluster/nodes/placement.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "kcm/rules/json_node.h"
#include "kcm/rules/label_selector.h"

namespace kcm::devcluster::nodes {
namespace {

using rules::JsonNode;
using rules::Node;
using rules::SelectorOperator;
using rules::SelectorRequirement;

std::optional<SelectorOperator> OperatorOf(std::string_view name) {
  if (name == "In") return SelectorOperator::kIn;
  if (name == "NotIn") return SelectorOperator::kNotIn;
  if (name == "Exists") return SelectorOperator::kExists;
  if (name == "DoesNotExist") return SelectorOperator::kDoesNotExist;
  if (name == "Gt") return SelectorOperator::kGreaterThan;
  if (name == "Lt") return SelectorOperator::kLessThan;
  return std::nullopt;
}

std::vector<SelectorRequirement> Requirements(Node expressions) {
  std::vector<SelectorRequirement> out;
  for (const Node e : expressions.Items()) {
    const auto op = OperatorOf(e.Get("operator").String());
    if (!op) continue;  // the API server refuses others
    SelectorRequirement r;
    r.key = std::string(e.Get("key").String());
    r.op = *op;
    for (const Node v : e.Get("values").Items()) r.values.emplace_back(v.String());
    std::sort(r.values.begin(), r.values.end());
    out.push_back(std::move(r));
  }
  return out;
}

// One term of required node affinity: all must hold.
struct Term {
  std::vector<SelectorRequirement> labels, fields;

  bool Matches(const NodeObject& node) const {
    if (labels.empty() && fields.empty()) return false;  // an empty term selects nothing
    const auto label = [&](const SelectorRequirement& r) {
      const auto it = node.labels.find(r.key);
      return r.Matches(it == node.labels.end() ? std::nullopt
                                               : std::optional<std::string_view>(it->second));
    };
    const auto field = [&](const SelectorRequirement& r) {
      return r.key == "metadata.name" && r.Matches(node.name);
    };
    return std::all_of(labels.begin(), labels.end(), label) &&
           std::all_of(fields.begin(), fields.end(), field);
  }
};

// Names that every term demands through metadata.name; empty when one term leaves the name open.
std::vector<std::string> Pinned(const std::vector<Term>& terms) {
  std::vector<std::string> out;
  for (const Term& t : terms) {
    const auto it = std::find_if(t.fields.begin(), t.fields.end(), [](const SelectorRequirement& r) {
      return r.key == "metadata.name" && r.op == SelectorOperator::kIn;
    });
    if (it == t.fields.end()) return {};
    out.insert(out.end(), it->values.begin(), it->values.end());
  }
  return out;
}

bool Tolerates(Node toleration, Node taint) {
  const std::string_view effect = toleration.Get("effect").String();
  const std::string_view key = toleration.Get("key").String();
  if (!effect.empty() && effect != taint.Get("effect").String()) return false;
  if (!key.empty() && key != taint.Get("key").String()) return false;
  if (toleration.Get("operator").String() == "Exists") return true;
  return !key.empty() && toleration.Get("value").String() == taint.Get("value").String();
}
bool IsTolerated(Node tolerations, Node taint) {
  for (const Node t : tolerations.Items()) {
    if (Tolerates(t, taint)) return true;
  }
  return false;
}

constexpr char kUnschedulableTaint[] = "node.kubernetes.io/unschedulable";

}  // namespace

void Room::Take(const Pod& pod) {
  used_milli_cpu += pod.milli_cpu;
  used_memory += pod.memory;
  ++used_pods;
}
void Room::Give(const Pod& pod) {
  used_milli_cpu -= pod.milli_cpu;
  used_memory -= pod.memory;
  --used_pods;
}
double Room::Load() const {
  const auto part = [](int64_t used, int64_t all) {
    return all > 0 ? static_cast<double>(used) / static_cast<double>(all) : 1.0;
  };
  return part(used_pods, node.pods) + part(used_milli_cpu, node.milli_cpu) +
         part(used_memory, node.memory);
}

struct Placement::Impl {
  Json scheduling;  // keeps what `tolerations` reads
  Node tolerations;
  Strings selector;
  bool has_affinity = false;
  std::vector<Term> terms;  // one must hold
  std::vector<std::string> pinned;
  int64_t milli_cpu = 0, memory = 0;

  bool MatchesNode(const NodeObject& node) const {
    for (const auto& [key, value] : selector) {
      const auto it = node.labels.find(key);
      if (it == node.labels.end() || it->second != value) return false;
    }
    return !has_affinity || std::any_of(terms.begin(), terms.end(),
                                        [&](const Term& t) { return t.Matches(node); });
  }
  std::optional<std::string> UntoleratedTaint(const NodeObject& node) const;
  bool ToleratesUnschedulable() const;
};

std::optional<std::string> Placement::Impl::UntoleratedTaint(const NodeObject& node) const {
  if (node.taints == nullptr) return std::nullopt;
  for (const Node taint : JsonNode(*node.taints).Items()) {
    const std::string_view effect = taint.Get("effect").String();
    if (effect != "NoSchedule" && effect != "NoExecute") continue;
    if (IsTolerated(tolerations, taint)) continue;
    return "node(s) had untolerated taint {" + std::string(taint.Get("key").String()) + ": " +
           std::string(taint.Get("value").String()) + "}";
  }
  return std::nullopt;
}

bool Placement::Impl::ToleratesUnschedulable() const {
  const nlohmann::json taint = {{"key", kUnschedulableTaint}, {"effect", "NoSchedule"}};
  return IsTolerated(tolerations, JsonNode(taint));
}

Placement::Placement(const Pod& pod) : impl_(std::make_unique<Impl>()) {
  impl_->milli_cpu = pod.milli_cpu;
  impl_->memory = pod.memory;
  impl_->scheduling = pod.scheduling;
  if (pod.scheduling == nullptr) return;
  const Node in = JsonNode(*pod.scheduling);
  impl_->tolerations = in.Get("tolerations");
  for (const auto& [key, value] : in.Get("nodeSelector").Entries()) {
    impl_->selector.emplace(key, value.String());
  }
  const Node required = in.Path("nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution");
  if (!required.Has()) return;
  impl_->has_affinity = true;
  for (const Node t : required.Get("nodeSelectorTerms").Items()) {
    impl_->terms.push_back({Requirements(t.Get("matchExpressions")), Requirements(t.Get("matchFields"))});
  }
  impl_->pinned = Pinned(impl_->terms);
}

Placement::~Placement() = default;
Placement::Placement(Placement&&) noexcept = default;
Placement& Placement::operator=(Placement&&) noexcept = default;

const std::vector<std::string>& Placement::pinned() const { return impl_->pinned; }

std::vector<std::string> Placement::Against(const Room& room) const {
  const NodeObject& node = room.node;
  if (node.unschedulable && !impl_->ToleratesUnschedulable()) return {"node(s) were unschedulable"};
  if (!impl_->MatchesNode(node)) return {"node(s) didn't match Pod's node affinity/selector"};
  if (auto taint = impl_->UntoleratedTaint(node)) return {std::move(*taint)};
  std::vector<std::string> why;
  if (room.used_pods + 1 > node.pods) why.emplace_back("Too many pods");
  if (impl_->milli_cpu > 0 && room.used_milli_cpu + impl_->milli_cpu > node.milli_cpu) {
    why.emplace_back("Insufficient cpu");
  }
  if (impl_->memory > 0 && room.used_memory + impl_->memory > node.memory) {
    why.emplace_back("Insufficient memory");
  }
  return why;
}

std::string UnschedulableMessage(size_t nodes, const std::map<std::string, int>& reasons) {
  std::string text;
  for (const auto& [reason, count] : reasons) {
    if (!text.empty()) text += ", ";
    if (count > 0) text += std::to_string(count) + " ";
    text += reason;
  }
  return "0/" + std::to_string(nodes) + " nodes are available: " + text + ".";
}

}  // namespace kcm::devcluster::nodes
