// SPDX-License-Identifier: Apache-2.0
// Compiles and checks inter-pod constraints.
#include "devcluster/nodes/neighbours.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "kcm/rules/json_node.h"
#include "kcm/rules/label_selector.h"
#include "kcm/rules/taint.h"

namespace kcm::devcluster::nodes {
namespace {

using nlohmann::json;
using rules::JsonNode;
using rules::LabelSelector;
using rules::Node;

constexpr char kRequired[] = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr char kPreferred[] = "preferredDuringSchedulingIgnoredDuringExecution";

// Topology domains: values of a node label, by its key.
using Domains = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;

std::optional<std::string> LabelOf(const NodeObject& node, const std::string& key) {
  const Node label = JsonNode(*node.identity).Get("metadata").Get("labels").Get(key);
  if (!label.IsString()) return std::nullopt;
  return std::string(label.String());
}
bool In(const NodeObject& node, const std::string& key, const Domains& domains) {
  const auto values = domains.find(key);
  if (values == domains.end()) return false;
  const auto label = LabelOf(node, key);
  return label && values->second.contains(*label);
}
bool InAny(const NodeObject& node, const Domains& domains) {
  return std::any_of(domains.begin(), domains.end(),
                     [&](const auto& d) { return In(node, d.first, domains); });
}

std::optional<std::string_view> Find(const Strings& labels, std::string_view key) {
  const auto it = labels.find(key);
  if (it == labels.end()) return std::nullopt;
  return std::string_view(it->second);
}

// `labelSelector` of `from`, with the keys of matchLabelKeys added as the pod itself has them. What
// can not be parsed selects nothing.
LabelSelector SelectorOf(Node from, const Strings& own_labels) {
  const auto selector = LabelSelector::FromObject(from.Get("labelSelector"));
  if (!selector.ok() || selector->SelectsNothing()) return LabelSelector::Nothing();
  std::vector<rules::SelectorRequirement> all = selector->requirements();
  const auto add = [&](const char* list, rules::SelectorOperator op) {
    for (const Node key : from.Get(list).Items()) {
      const auto value = Find(own_labels, key.String());
      if (!value) continue;
      auto r = rules::MakeRequirement(key.String(), op, {std::string(*value)});
      if (r.ok()) all.push_back(std::move(*r));
    }
  };
  add("matchLabelKeys", rules::SelectorOperator::kIn);
  add("mismatchLabelKeys", rules::SelectorOperator::kNotIn);
  return LabelSelector::FromRequirements(std::move(all));
}

// A term of pod affinity or anti-affinity.
struct Term {
  LabelSelector selector = LabelSelector::Nothing();
  std::set<std::string, std::less<>> namespaces;
  LabelSelector namespace_selector = LabelSelector::Nothing();
  std::string key;
  double weight = 0;

  bool Accepts(const Pod& other) const {
    const auto label = [&other](std::string_view name) -> std::optional<std::string_view> {
      if (name != "kubernetes.io/metadata.name") return std::nullopt;
      return std::string_view(other.ns);
    };
    return (namespaces.contains(other.ns) || namespace_selector.MatchesWith(label)) &&
           Matches(selector, other.labels);
  }
};

Term TermOf(Node term, const Pod& owner, double weight = 0) {
  Term out;
  out.selector = SelectorOf(term, owner.labels);
  for (const Node ns : term.Get("namespaces").Items()) out.namespaces.emplace(ns.String());
  const Node by_label = term.Get("namespaceSelector");
  if (by_label.Has()) {
    const auto selector = LabelSelector::FromObject(by_label);
    if (selector.ok()) out.namespace_selector = *selector;
  } else if (out.namespaces.empty()) {
    out.namespaces.insert(owner.ns);
  }
  out.key = std::string(term.Get("topologyKey").String());
  out.weight = weight;
  return out;
}

std::vector<Term> RequiredTerms(Node affinity, const Pod& owner) {
  std::vector<Term> out;
  for (const Node term : affinity.Get(kRequired).Items()) out.push_back(TermOf(term, owner));
  return out;
}

// Weights below zero repel.
void PreferredTerms(Node affinity, const Pod& owner, double sign, std::vector<Term>* out) {
  for (const Node term : affinity.Get(kPreferred).Items()) {
    out->push_back(TermOf(term.Get("podAffinityTerm"), owner, sign * term.Get("weight").Real()));
  }
}

bool AllAccept(const std::vector<Term>& terms, const Pod& pod) {
  return std::all_of(terms.begin(), terms.end(), [&](const Term& t) { return t.Accepts(pod); });
}

struct Spread {
  std::string key;
  int64_t max_skew = 1, min_domains = 0;
  bool required = true;
  LabelSelector selector = LabelSelector::Nothing();
  bool honors_affinity = true, honors_taints = false;
  bool counts_itself = false;
  std::map<std::string, int64_t> pods;  // by value of the label; of nodes that count

  int64_t fewest = 0, most = 0;  // of `pods`

  void Finish() {
    fewest = pods.empty() || static_cast<int64_t>(pods.size()) < min_domains ? 0 : INT64_MAX;
    for (const auto& [domain, count] : pods) {
      fewest = std::min(fewest, count);
      most = std::max(most, count);
    }
  }
};

Spread SpreadOf(Node constraint, const Pod& pod) {
  Spread out;
  out.key = std::string(constraint.Get("topologyKey").String());
  out.max_skew = constraint.Get("maxSkew").Int(1);
  out.min_domains = constraint.Get("minDomains").Int();
  out.required = constraint.Get("whenUnsatisfiable").String() != "ScheduleAnyway";
  out.selector = SelectorOf(constraint, pod.labels);
  out.honors_affinity = constraint.Get("nodeAffinityPolicy").String() != "Ignore";
  out.honors_taints = constraint.Get("nodeTaintsPolicy").String() == "Honor";
  out.counts_itself = Matches(out.selector, pod.labels);
  return out;
}

Node SchedulingOf(const Pod& pod) {
  return pod.scheduling == nullptr ? Node() : JsonNode(*pod.scheduling);
}

bool Tolerated(const NodeObject& node, Node scheduling) {
  return node.taints == nullptr ||
         !rules::FindUntoleratedTaint(JsonNode(*node.taints), scheduling.Get("tolerations"),
                                      rules::kSchedulingEffects)
              .Has();
}

}  // namespace

bool MindsNeighbours(const Pod& pod) {
  const Node spec = SchedulingOf(pod);
  return spec.Path("affinity.podAffinity").Has() || spec.Path("affinity.podAntiAffinity").Has() ||
         !spec.Get("topologySpreadConstraints").empty();
}

bool MindsOtherNamespaces(const Pod& pod) {
  for (const char* side : {"podAffinity", "podAntiAffinity"}) {
    const Node affinity = SchedulingOf(pod).Get("affinity").Get(side);
    for (const char* list : {kRequired, kPreferred}) {
      for (const Node entry : affinity.Get(list).Items()) {
        const Node term = list == kPreferred ? entry.Get("podAffinityTerm") : entry;
        if (!term.Get("namespaces").empty() || term.Get("namespaceSelector").Has()) return true;
      }
    }
  }
  return false;
}

struct Neighbours::Impl {
  std::vector<Term> attracted;
  bool first_of_its_kind = false;  // nobody to be near to, and the pod itself would do
  Domains attractive;              // where a pod sits that all terms accept
  Domains repulsive;               // where a pod sits that the pod's own terms reject
  Domains defended;                // where a pod sits that rejects this one
  std::map<std::string, std::map<std::string, double>> liked;  // weights of preferred terms
  double heaviest = 0;                                         // of `liked`, without its sign
  std::vector<Spread> spreads;

  void CountAffinity(const Pod& pod, const std::vector<PlacedPod>& placed);
  void CountSpread(const Pod& pod, const Placement& placement, const std::vector<PlacedPod>& placed,
                   const std::vector<const NodeObject*>& nodes);
};

void Neighbours::Impl::CountAffinity(const Pod& pod, const std::vector<PlacedPod>& placed) {
  const Node affinity = SchedulingOf(pod).Get("affinity");
  attracted = RequiredTerms(affinity.Get("podAffinity"), pod);
  const std::vector<Term> repelled = RequiredTerms(affinity.Get("podAntiAffinity"), pod);
  std::vector<Term> preferred;
  PreferredTerms(affinity.Get("podAffinity"), pod, 1, &preferred);
  PreferredTerms(affinity.Get("podAntiAffinity"), pod, -1, &preferred);
  for (const PlacedPod& p : placed) {
    const auto mark = [&p](const std::string& key, Domains* domains) {
      if (auto value = LabelOf(*p.node, key)) (*domains)[key].insert(std::move(*value));
    };
    if (!attracted.empty() && AllAccept(attracted, *p.pod)) {
      for (const Term& term : attracted) mark(term.key, &attractive);
    }
    for (const Term& term : repelled) {
      if (term.Accepts(*p.pod)) mark(term.key, &repulsive);
    }
    for (const Term& term : preferred) {
      const auto value = LabelOf(*p.node, term.key);
      if (value && term.Accepts(*p.pod)) liked[term.key][*value] += term.weight;
    }
    if (p.pod->anti_affinity == nullptr) continue;
    for (const Node node : JsonNode(*p.pod->anti_affinity).Items()) {
      const Term term = TermOf(node, *p.pod);
      if (term.Accepts(pod)) mark(term.key, &defended);
    }
  }
  first_of_its_kind = attractive.empty() && AllAccept(attracted, pod);
  for (const auto& [key, weights] : liked) {
    for (const auto& [value, weight] : weights) heaviest = std::max(heaviest, std::abs(weight));
  }
}

void Neighbours::Impl::CountSpread(const Pod& pod, const Placement& placement,
                                   const std::vector<PlacedPod>& placed,
                                   const std::vector<const NodeObject*>& nodes) {
  const Node scheduling = SchedulingOf(pod);
  for (const Node constraint : scheduling.Get("topologySpreadConstraints").Items()) {
    spreads.push_back(SpreadOf(constraint, pod));
  }
  for (Spread& spread : spreads) {
    std::set<const NodeObject*> counted;
    for (const NodeObject* node : nodes) {
      const auto domain = LabelOf(*node, spread.key);
      if (!domain || (spread.honors_affinity && !placement.Selects(*node)) ||
          (spread.honors_taints && !Tolerated(*node, scheduling))) {
        continue;
      }
      counted.insert(node);
      spread.pods.emplace(*domain, 0);
    }
    for (const PlacedPod& p : placed) {
      if (p.pod->ns != pod.ns || p.pod->deleting || !counted.contains(p.node)) continue;
      if (Matches(spread.selector, p.pod->labels)) ++spread.pods[*LabelOf(*p.node, spread.key)];
    }
    spread.Finish();
  }
}

Neighbours::Neighbours(const Pod& pod, const Placement& placement,
                       const std::vector<PlacedPod>& placed,
                       const std::vector<const NodeObject*>& nodes)
    : impl_(std::make_unique<Impl>()) {
  impl_->CountAffinity(pod, placed);
  impl_->CountSpread(pod, placement, placed, nodes);
}

Neighbours::~Neighbours() = default;
Neighbours::Neighbours(Neighbours&&) noexcept = default;
Neighbours& Neighbours::operator=(Neighbours&&) noexcept = default;

std::string Neighbours::Against(const NodeObject& node) const {
  for (const Spread& spread : impl_->spreads) {
    if (!spread.required) continue;
    const auto domain = LabelOf(node, spread.key);
    if (!domain) {
      return "node(s) didn't match pod topology spread constraints (missing required label)";
    }
    const auto found = spread.pods.find(*domain);
    const int64_t here = found == spread.pods.end() ? 0 : found->second;
    if (here + (spread.counts_itself ? 1 : 0) - spread.fewest > spread.max_skew) {
      return "node(s) didn't match pod topology spread constraints";
    }
  }
  for (const Term& term : impl_->attracted) {
    if (!LabelOf(node, term.key) ||
        (!impl_->first_of_its_kind && !In(node, term.key, impl_->attractive))) {
      return "node(s) didn't match pod affinity rules";
    }
  }
  if (InAny(node, impl_->repulsive)) return "node(s) didn't match pod anti-affinity rules";
  if (InAny(node, impl_->defended)) {
    return "node(s) didn't satisfy existing pods anti-affinity rules";
  }
  return {};
}

double Neighbours::Dislike(const NodeObject& node) const {
  double out = 0;
  for (const auto& [key, weights] : impl_->liked) {
    const auto value = LabelOf(node, key);
    const auto weight = value ? weights.find(*value) : weights.end();
    if (weight != weights.end()) out -= kFullPreference * weight->second / impl_->heaviest;
  }
  for (const Spread& spread : impl_->spreads) {
    if (spread.required) continue;
    const auto domain = LabelOf(node, spread.key);
    const auto found = domain ? spread.pods.find(*domain) : spread.pods.end();
    const int64_t most = std::max<int64_t>(spread.most, 1);
    // Nodes without the label come last.
    const int64_t here = found == spread.pods.end() ? most : found->second;
    out += kFullPreference * static_cast<double>(here) / static_cast<double>(most);
  }
  return out;
}

}  // namespace kcm::devcluster::nodes
