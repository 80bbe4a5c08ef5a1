// SPDX-License-Identifier: Apache-2.0
// Compiles and checks a pod's constraints.
#include "devcluster/nodes/placement.h"

#include <algorithm>
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

// "TCP/1.2.3.4/80" in its parts.
struct Port {
  std::string_view protocol, ip, number;
};
Port PortOf(std::string_view text) {
  const size_t first = text.find('/'), last = text.rfind('/');
  return {text.substr(0, first), text.substr(first + 1, last - first - 1), text.substr(last + 1)};
}
// Two ports get in each other's way unless they are on two addresses.
bool Clash(std::string_view x, std::string_view y) {
  const Port a = PortOf(x), b = PortOf(y);
  constexpr std::string_view kAny = "0.0.0.0";
  return a.protocol == b.protocol && a.number == b.number &&
         (a.ip == b.ip || a.ip == kAny || b.ip == kAny);
}

int64_t AmountOf(const Amounts& amounts, const std::string& name) {
  const auto it = amounts.find(name);
  return it == amounts.end() ? 0 : it->second;
}

constexpr double kAvoidedTaint = 3;
constexpr std::string_view kAvoidEffect = "PreferNoSchedule";
constexpr char kUnschedulableTaint[] = "node.kubernetes.io/unschedulable";

}  // namespace

void Room::Take(const Pod& pod) {
  used_milli_cpu += pod.milli_cpu;
  used_memory += pod.memory;
  ++used_pods;
  for (const auto& [name, amount] : pod.other_requests) used_other[name] += amount;
  used_ports.insert(pod.host_ports.begin(), pod.host_ports.end());
}
void Room::Give(const Pod& pod) {
  used_milli_cpu -= pod.milli_cpu;
  used_memory -= pod.memory;
  --used_pods;
  for (const auto& [name, amount] : pod.other_requests) used_other[name] -= amount;
  for (const std::string& port : pod.host_ports) {
    const auto it = used_ports.find(port);
    if (it != used_ports.end()) used_ports.erase(it);
  }
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
  std::vector<std::pair<rules::NodeSelectorTerms, double>> preferred;  // with weight
  bool tolerates_unschedulable = false;
  int64_t milli_cpu = 0, memory = 0;
  Amounts other;
  std::vector<std::string> host_ports;
};

Placement::Placement(const Pod& pod) : impl_(std::make_unique<Impl>()) {
  impl_->milli_cpu = pod.milli_cpu;
  impl_->memory = pod.memory;
  impl_->other = pod.other_requests;
  impl_->host_ports = pod.host_ports;
  impl_->scheduling = pod.scheduling;
  if (pod.scheduling == nullptr) return;
  const Node spec = JsonNode(*pod.scheduling);
  impl_->tolerations = spec.Get("tolerations");
  impl_->affinity = rules::NodeAffinity::OfPodSpec(spec);
  impl_->pinned = Pinned(spec.Path(
      "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"));
  const nlohmann::json::json_pointer preferred(
      "/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution");
  if (pod.scheduling->contains(preferred)) {
    for (const nlohmann::json& term : pod.scheduling->at(preferred)) {
      // One term as a selector; the compiled form keeps nothing of the text.
      const nlohmann::json selector = {
          {"nodeSelectorTerms",
           nlohmann::json::array({term.value("preference", nlohmann::json())})}};
      impl_->preferred.emplace_back(rules::NodeSelectorTerms(JsonNode(selector)),
                                    JsonNode(term).Get("weight").Real());
    }
  }
  const nlohmann::json cordon = {{"key", kUnschedulableTaint}, {"effect", "NoSchedule"}};
  impl_->tolerates_unschedulable =
      rules::FindToleration(impl_->tolerations, JsonNode(cordon)).Has();
}

Placement::~Placement() = default;
Placement::Placement(Placement&&) noexcept = default;
Placement& Placement::operator=(Placement&&) noexcept = default;

const std::vector<std::string>& Placement::pinned() const { return impl_->pinned; }

bool Placement::Selects(const NodeObject& node) const {
  return impl_->affinity.Matches(JsonNode(*node.identity));
}

std::string Placement::ForbiddenOn(const NodeObject& node) const {
  if (node.unschedulable && !impl_->tolerates_unschedulable) return "node(s) were unschedulable";
  if (!Selects(node)) return "node(s) didn't match Pod's node affinity/selector";
  if (node.taints == nullptr) return {};
  const Node taint = rules::FindUntoleratedTaint(JsonNode(*node.taints), impl_->tolerations,
                                                 rules::kSchedulingEffects);
  if (!taint.Has()) return {};
  return "node(s) had untolerated taint {" + std::string(taint.Get("key").String()) + ": " +
         std::string(taint.Get("value").String()) + "}";
}

std::vector<std::string> Placement::ShortageOf(const Room& room) const {
  const NodeObject& node = room.node;
  std::vector<std::string> why;
  if (room.used_pods + 1 > node.pods) why.emplace_back("Too many pods");
  if (impl_->milli_cpu > 0 && room.used_milli_cpu + impl_->milli_cpu > node.milli_cpu) {
    why.emplace_back("Insufficient cpu");
  }
  if (impl_->memory > 0 && room.used_memory + impl_->memory > node.memory) {
    why.emplace_back("Insufficient memory");
  }
  for (const auto& [name, amount] : impl_->other) {
    if (amount > 0 && AmountOf(room.used_other, name) + amount > AmountOf(node.other, name)) {
      why.push_back("Insufficient " + name);
    }
  }
  for (const std::string& wanted : impl_->host_ports) {
    const auto clashes = [&wanted](const std::string& used) { return Clash(wanted, used); };
    if (std::any_of(room.used_ports.begin(), room.used_ports.end(), clashes)) {
      why.emplace_back("node(s) didn't have free ports for the requested pod ports");
      break;
    }
  }
  return why;
}

std::vector<std::string> Placement::Against(const Room& room) const {
  std::string forbidden = ForbiddenOn(room.node);
  if (!forbidden.empty()) return {std::move(forbidden)};
  return ShortageOf(room);
}

double Placement::Dislike(const NodeObject& node) const {
  double out = 0;
  for (const auto& [terms, weight] : impl_->preferred) {
    if (terms.Matches(JsonNode(*node.identity))) out -= kFullPreference * weight / 100;
  }
  if (node.taints == nullptr) return out;
  for (const Node taint : JsonNode(*node.taints).Items()) {
    if (taint.Get("effect").String() == kAvoidEffect &&
        !rules::FindToleration(impl_->tolerations, taint).Has()) {
      out += kAvoidedTaint;
    }
  }
  return out;
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
