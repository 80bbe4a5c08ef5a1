// SPDX-License-Identifier: Apache-2.0
// VolumeChoice: which nodes the volumes of a pod allow, and what must be done with unbound claims
// (WaitForFirstConsumer) once a node is chosen. Pure.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "devcluster/nodes/objects.h"

namespace kcm::devcluster::nodes {

// What the scheduler knows of volumes.
struct VolumeBooks {
  std::map<std::string, Claim, std::less<>> claims;  // by Key()
  JsonObjects volumes, classes;                      // PersistentVolumes, StorageClasses
  // Name of a volume -> uid of the claim it was chosen for, until the watch shows its claimRef:
  // what is under way to the server is not chosen for another pod.
  std::map<std::string, std::string, std::less<>> promised;
};

// An unbound claim whose volume waits for the pod's node.
struct ClaimStep {
  std::string ns, claim;
  std::string claim_uid;
  std::string volume;  // an available volume to bind; empty: the provisioner is to make one
  uint64_t volume_version = 0;  // resourceVersion of `volume` the choice was made on
};

// Borrows the books: for one decision.
class VolumeChoice {
 public:
  VolumeChoice(const Pod& pod, const VolumeBooks& books);

  // Why no node will do for now ("persistentvolumeclaim \"data\" not found"), nullopt otherwise.
  const std::optional<std::string>& missing() const { return missing_; }
  // Empty when the volumes allow the node, else why not, in the words of kube-scheduler.
  std::string Against(const NodeObject& node) const;
  // What to do before the pod can be bound to `node`. REQUIRES: Against(node) is empty.
  std::vector<ClaimStep> Steps(const NodeObject& node) const;

 private:
  const JsonObject* VolumeFor(const Claim& claim, const NodeObject& node,
                              const std::vector<std::string>& taken) const;
  // False: the node does not do.
  bool Plan(const NodeObject& node, std::vector<ClaimStep>* steps) const;

  const VolumeBooks& books_;
  std::optional<std::string> missing_;
  std::vector<const JsonObject*> bound_;  // volumes
  std::vector<const Claim*> unbound_;     // to be bound once a node is chosen
};

}  // namespace kcm::devcluster::nodes
