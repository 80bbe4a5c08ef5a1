// SPDX-License-Identifier: Apache-2.0
// Compiles and checks a pod's constraints.
#include "devcluster/nodes/placement.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "kcm/rules/json_node.h"
#include "kcm/rules/node_affinity.h"
#include "kcm/rules/taint.h"

namespace kcm::devcluster::nodes {
namespace {

using rules::JsonNode;
using rules::Node;

// The name that a term demands through metadata.name, empty when it leaves the name open.
std::string_view NameOf(Node term) {
  for (const Node f : term.Get("matchFields").Items()) {
    const Node values = f.Get("values");
    if (f.Get("key").String() == "metadata.name" && f.Get("operator").String() == "In" &&
        values.size() == 1) {
      return values.At(0).String();
    }
  }
  return {};
}

// Names that the terms demand; empty when one of them leaves the name open.
std::vector<std::string> Pinned(Node terms) {
  std::vector<std::string> out;
  for (const Node term : terms.Items()) {
    const std::string_view name = NameOf(term);
    if (name.empty()) return {};
    out.emplace_back(name);
  }
  return out;
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
  rules::NodeAffinity affinity = rules::NodeAffinity::OfPodSpec(Node());
  std::vector<std::string> pinned;
  bool tolerates_unschedulable = false;
  int64_t milli_cpu = 0, memory = 0;
};

Placement::Placement(const Pod& pod) : impl_(std::make_unique<Impl>()) {
  impl_->milli_cpu = pod.milli_cpu;
  impl_->memory = pod.memory;
  impl_->scheduling = pod.scheduling;
  if (pod.scheduling == nullptr) return;
  const Node spec = JsonNode(*pod.scheduling);
  impl_->tolerations = spec.Get("tolerations");
  impl_->affinity = rules::NodeAffinity::OfPodSpec(spec);
  impl_->pinned = Pinned(spec.Path(
      "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"));
  const nlohmann::json cordon = {{"key", kUnschedulableTaint}, {"effect", "NoSchedule"}};
  impl_->tolerates_unschedulable =
      rules::FindToleration(impl_->tolerations, JsonNode(cordon)).Has();
}

Placement::~Placement() = default;
Placement::Placement(Placement&&) noexcept = default;
Placement& Placement::operator=(Placement&&) noexcept = default;

const std::vector<std::string>& Placement::pinned() const { return impl_->pinned; }

std::vector<std::string> Placement::Against(const Room& room) const {
  const NodeObject& node = room.node;
  if (node.unschedulable && !impl_->tolerates_unschedulable) return {"node(s) were unschedulable"};
  if (!impl_->affinity.Matches(JsonNode(*node.identity))) {
    return {"node(s) didn't match Pod's node affinity/selector"};
  }
  if (node.taints != nullptr) {
    const Node taint = rules::FindUntoleratedTaint(JsonNode(*node.taints), impl_->tolerations,
                                                   rules::kSchedulingEffects);
    if (taint.Has()) {
      return {"node(s) had untolerated taint {" + std::string(taint.Get("key").String()) + ": " +
              std::string(taint.Get("value").String()) + "}"};
    }
  }
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
