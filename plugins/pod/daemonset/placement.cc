// SPDX-License-Identifier: Apache-2.0
// Taints, affinity and the node that a pod is made for.
#include "plugins/pod/daemonset/placement.h"

#include <nlohmann/json.hpp>

#include "kcm/rules/json_node.h"
#include "kcm/rules/pod.h"
#include "kcm/sdk/object.h"

namespace kcm::pod::daemonset {
namespace {

using nlohmann::json;
using rules::Node;

constexpr std::string_view kNameField = "metadata.name";

struct DaemonToleration {
  const char* key;
  const char* effect;
  bool only_host_network = false;
};
// In the order in which they are added.
constexpr DaemonToleration kDaemonTolerations[] = {
    {"node.kubernetes.io/not-ready", "NoExecute"},
    {"node.kubernetes.io/unreachable", "NoExecute"},
    {"node.kubernetes.io/disk-pressure", "NoSchedule"},
    {"node.kubernetes.io/memory-pressure", "NoSchedule"},
    {"node.kubernetes.io/pid-pressure", "NoSchedule"},
    {"node.kubernetes.io/unschedulable", "NoSchedule"},
    {"node.kubernetes.io/network-unavailable", "NoSchedule", true},
};

// The same toleration but for how long it lasts.
bool SameToleration(Node x, Node y) {
  for (const std::string_view field : {"key", "operator", "effect", "value"}) {
    if (x.Get(field).String() != y.Get(field).String()) return false;
  }
  return true;
}

std::unique_ptr<const json> TolerationsOf(Node pod_template) {
  const Node spec = pod_template.Get("spec");
  json own = {{"hostNetwork", spec.Get("hostNetwork").Bool()}};
  if (const Node given = spec.Get("tolerations"); given.Has())
    own["tolerations"] = sdk::ToJson(given);
  AddDaemonTolerations(own);
  return std::make_unique<const json>(std::move(own["tolerations"]));
}

}  // namespace

Placement::Placement(Node pod_template, rules::ComparisonOperators comparison)
    : node_name_(rules::PodNodeName(pod_template)),
      affinity_(rules::NodeAffinity::OfPodSpec(pod_template.Get("spec"))),
      tolerations_(TolerationsOf(pod_template)),
      comparison_(comparison) {}

Placement::~Placement() = default;

Eligibility Placement::On(Node node) const {
  if (!node_name_.empty() && node_name_ != node.Path("metadata.name").String()) return {};
  if (!affinity_.Matches(node)) return {};
  const Node taints = node.Path("spec.taints"), tolerations = rules::JsonNode(*tolerations_);
  const auto tolerates = [&](std::span<const std::string_view> effects) {
    return !rules::FindUntoleratedTaint(taints, tolerations, effects, comparison_).Has();
  };
  if (tolerates(rules::kSchedulingEffects)) return {.should_run = true, .should_continue = true};
  return {.should_continue = tolerates(rules::kEvictionEffects)};
}

void AddDaemonTolerations(json& pod_spec) {
  const bool host_network = rules::JsonNode(pod_spec).Get("hostNetwork").Bool();
  json& tolerations = pod_spec["tolerations"];
  if (!tolerations.is_array()) tolerations = json::array();
  for (const DaemonToleration& add : kDaemonTolerations) {
    if (add.only_host_network && !host_network) continue;
    const json ours{{"key", add.key}, {"operator", "Exists"}, {"effect", add.effect}};
    bool found = false;
    for (json& there : tolerations) {
      if (!SameToleration(rules::JsonNode(there), rules::JsonNode(ours))) continue;
      there = ours;
      found = true;
    }
    if (!found) tolerations.push_back(ours);
  }
}

std::string_view TargetNodeOf(Node pod) {
  if (const std::string_view bound = rules::PodNodeName(pod); !bound.empty()) return bound;
  const Node terms = pod.Path(
      "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
      ".nodeSelectorTerms");
  for (const Node term : terms.Items()) {
    for (const Node field : term.Get("matchFields").Items()) {
      if (field.Get("key").String() != kNameField || field.Get("operator").String() != "In")
        continue;
      const Node values = field.Get("values");
      return values.size() == 1 ? values.At(0).String() : std::string_view();
    }
  }
  return {};
}

void SetTargetNode(json& pod_spec, std::string_view node) {
  json& required =
      pod_spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  const json field{{"key", kNameField}, {"operator", "In"}, {"values", json::array({node})}};
  required["nodeSelectorTerms"] = json::array({{{"matchFields", json::array({field})}}});
}

}  // namespace kcm::pod::daemonset
