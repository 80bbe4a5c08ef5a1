// SPDX-License-Identifier: Apache-2.0
// Compares the volumes of a pod with nodes.
#include "devcluster/nodes/volume_choice.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "devcluster/nodes/resources.h"
#include "kcm/rules/json_node.h"
#include "kcm/rules/node_affinity.h"

namespace kcm::devcluster::nodes {
namespace {

using rules::JsonNode;
using rules::Node;

constexpr char kNoProvisioner[] = "kubernetes.io/no-provisioner";

// Whether the volume can be reached from the node.
bool Reaches(Node volume, const NodeObject& node) {
  const Node required = volume.Path("spec.nodeAffinity.required");
  return !required.Has() || rules::NodeSelectorTerms(required).Matches(JsonNode(*node.identity));
}

// StorageClass.allowedTopologies: terms are ORed, the expressions of one all hold.
bool Allows(Node storage_class, const NodeObject& node) {
  const Node terms = storage_class.Get("allowedTopologies");
  if (terms.empty()) return true;
  const Node labels = JsonNode(*node.identity).Get("metadata").Get("labels");
  for (const Node term : terms.Items()) {
    bool all = true;
    for (const Node e : term.Get("matchLabelExpressions").Items()) {
      const Node label = labels.Get(e.Get("key").String());
      bool one = false;
      for (const Node value : e.Get("values").Items()) {
        one = one || (label.IsString() && label.String() == value.String());
      }
      all = all && one;
    }
    if (all) return true;
  }
  return false;
}

bool HasModes(Node volume, const Claim& claim) {
  return std::all_of(claim.access_modes.begin(), claim.access_modes.end(),
                     [&](const std::string& mode) {
                       for (const Node m : volume.Path("spec.accessModes").Items()) {
                         if (m.String() == mode) return true;
                       }
                       return false;
                     });
}

int64_t Capacity(Node volume) { return Bytes(volume.Path("spec.capacity.storage").String()); }

// Whether a volume nobody has bound suits the claim. (Claims that select volumes by label are for
// the volume controller.)
bool Suits(Node volume, const Claim& claim) {
  return volume.Path("status.phase").String() == "Available" &&
         !volume.Path("spec.claimRef").Has() &&
         volume.Path("spec.storageClassName").String() == claim.storage_class &&
         (volume.Path("spec.volumeMode").String() == "Block") == claim.block &&
         Capacity(volume) >= claim.request && HasModes(volume, claim);
}

}  // namespace

VolumeChoice::VolumeChoice(const Pod& pod, const VolumeBooks& books) : books_(books) {
  for (const std::string& name : pod.claims) {
    const auto found = books.claims.find(Key(pod.ns, name));
    if (found == books.claims.end()) {
      missing_ = "persistentvolumeclaim \"" + name + "\" not found";
      return;
    }
    const Claim& claim = found->second;
    if (claim.deleting && !claim.bound) {
      missing_ = "persistentvolumeclaim \"" + name + "\" is being deleted";
      return;
    }
    if (claim.bound) {
      const auto volume = books.volumes.find(claim.volume);
      if (volume != books.volumes.end()) bound_.push_back(&volume->second);
      continue;
    }
    const auto storage_class = books.classes.find(claim.storage_class);
    const bool waits = storage_class != books.classes.end() &&
                       JsonNode(*storage_class->second.body).Get("volumeBindingMode").String() ==
                           "WaitForFirstConsumer";
    if (!waits || !claim.volume.empty()) {
      missing_ = "pod has unbound immediate PersistentVolumeClaims";
      return;
    }
    unbound_.push_back(&claim);
  }
}

const JsonObject* VolumeChoice::VolumeFor(const Claim& claim, const NodeObject& node,
                                          const std::vector<std::string>& taken) const {
  const JsonObject* best = nullptr;
  for (const auto& [name, volume] : books_.volumes) {
    const Node v = JsonNode(*volume.body);
    if (!Suits(v, claim) || !Reaches(v, node)) continue;
    if (std::find(taken.begin(), taken.end(), name) != taken.end()) continue;
    const auto promise = books_.promised.find(name);
    if (promise != books_.promised.end() && promise->second != claim.uid) continue;
    if (best == nullptr || Capacity(v) < Capacity(JsonNode(*best->body))) best = &volume;
  }
  return best;
}

bool VolumeChoice::Plan(const NodeObject& node, std::vector<ClaimStep>* steps) const {
  std::vector<std::string> taken;
  for (const Claim* claim : unbound_) {
    if (!claim->selected_node.empty()) {
      if (claim->selected_node != node.name) return false;
      steps->push_back({claim->ns, claim->name, claim->uid, {}});
      continue;
    }
    const JsonObject* volume = VolumeFor(*claim, node, taken);
    if (volume != nullptr) {
      taken.push_back(volume->name);
      steps->push_back(
          {claim->ns, claim->name, claim->uid, volume->name, volume->resource_version});
      continue;
    }
    const Node storage_class = JsonNode(*books_.classes.at(claim->storage_class).body);
    if (storage_class.Get("provisioner").String() == kNoProvisioner) return false;
    if (!Allows(storage_class, node)) return false;
    steps->push_back({claim->ns, claim->name, claim->uid, {}});
  }
  return true;
}

std::string VolumeChoice::Against(const NodeObject& node) const {
  for (const JsonObject* volume : bound_) {
    if (!Reaches(JsonNode(*volume->body), node)) {
      return "node(s) didn't match PersistentVolume's node affinity";
    }
  }
  std::vector<ClaimStep> steps;
  if (!Plan(node, &steps)) return "node(s) didn't find available persistent volumes to bind";
  return {};
}

std::vector<ClaimStep> VolumeChoice::Steps(const NodeObject& node) const {
  std::vector<ClaimStep> steps;
  Plan(node, &steps);
  return steps;
}

}  // namespace kcm::devcluster::nodes
