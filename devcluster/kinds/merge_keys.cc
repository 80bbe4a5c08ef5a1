// SPDX-License-Identifier: Apache-2.0
// The table of merge lists, by message and member.
#include "devcluster/kinds/merge_keys.h"

#include <array>

namespace kcm::devcluster::kinds {

namespace {

struct KeyRow {
  std::string_view message, member, key;
  bool retain_keys = false;
};

// Lists that are not named are replaced whole. "$set": a set of strings. Members that are no lists
// are here for their retainKeys alone.
constexpr auto kKeyRows = std::to_array<KeyRow>({
    {"meta.v1.ObjectMeta", "ownerReferences", "uid"},
    {"meta.v1.ObjectMeta", "finalizers", "$set"},
    {"core.v1.PodSpec", "containers", "name"},
    {"core.v1.PodSpec", "initContainers", "name"},
    {"core.v1.PodSpec", "ephemeralContainers", "name"},
    {"core.v1.PodSpec", "volumes", "name", true},
    {"core.v1.PodSpec", "imagePullSecrets", "name"},
    {"core.v1.PodSpec", "hostAliases", "ip"},
    {"core.v1.PodSpec", "topologySpreadConstraints", "topologyKey"},
    {"core.v1.PodSpec", "schedulingGates", "name"},
    {"core.v1.PodSpec", "resourceClaims", "name", true},
    {"core.v1.Container", "ports", "containerPort"},
    {"core.v1.Container", "env", "name"},
    {"core.v1.Container", "volumeMounts", "mountPath"},
    {"core.v1.Container", "volumeDevices", "devicePath"},
    {"core.v1.EphemeralContainer", "ports", "containerPort"},
    {"core.v1.EphemeralContainer", "env", "name"},
    {"core.v1.EphemeralContainer", "volumeMounts", "mountPath"},
    {"core.v1.EphemeralContainer", "volumeDevices", "devicePath"},
    {"core.v1.PodStatus", "conditions", "type"},
    {"core.v1.PodStatus", "podIPs", "ip"},
    {"core.v1.PodStatus", "hostIPs", "ip"},
    {"core.v1.PodStatus", "resourceClaimStatuses", "name"},
    {"core.v1.ServiceSpec", "ports", "port"},
    {"core.v1.ServiceStatus", "conditions", "type"},
    {"core.v1.NodeSpec", "podCIDRs", "$set"},
    {"core.v1.NodeStatus", "conditions", "type"},
    {"core.v1.NodeStatus", "addresses", "type"},
    {"core.v1.ServiceAccount", "secrets", "name"},
    {"core.v1.NamespaceStatus", "conditions", "type"},
    {"core.v1.PersistentVolumeClaimStatus", "conditions", "type"},
    {"core.v1.ReplicationControllerStatus", "conditions", "type"},
    {"apps.v1.DeploymentSpec", "strategy", "", true},
    {"apps.v1.DeploymentStatus", "conditions", "type"},
    {"apps.v1.ReplicaSetStatus", "conditions", "type"},
    {"apps.v1.StatefulSetStatus", "conditions", "type"},
    {"apps.v1.DaemonSetStatus", "conditions", "type"},
    {"batch.v1.JobStatus", "conditions", "type"},
    {"autoscaling.v2.HorizontalPodAutoscalerStatus", "conditions", "type"},
    {"policy.v1.PodDisruptionBudgetStatus", "conditions", "type"},
    {"storage.v1.CSINodeSpec", "drivers", "name"},
    {"resource.v1.ResourceClaimStatus", "reservedFor", "uid"},
    {"networking.v1.ServiceCIDRStatus", "conditions", "type"},
    {"flowcontrol.v1.FlowSchemaStatus", "conditions", "type"},
    {"flowcontrol.v1.PriorityLevelConfigurationStatus", "conditions", "type"},
    {"apiregistration.v1.APIServiceStatus", "conditions", "type"},
});

}  // namespace

KindRegistry::ListKey MergeKeyAt(const Message& root, std::string_view path) {
  const Message* at = &root;
  while (!path.empty() && at != nullptr) {
    const size_t dot = path.find('.');
    const std::string_view member = path.substr(0, dot);
    const Field* field = at->FieldNamed(member);
    if (field == nullptr) return {};
    if (dot == std::string_view::npos) {
      for (const KeyRow& row : kKeyRows) {
        if (row.member == member && row.message == at->name)
          return {std::string(row.key), row.retain_keys};
      }
      return {};
    }
    // Below a map stands its key: no list in there is known by path.
    if (field->map) return {};
    at = field->message;
    path.remove_prefix(dot + 1);
  }
  return {};
}

}  // namespace kcm::devcluster::kinds
