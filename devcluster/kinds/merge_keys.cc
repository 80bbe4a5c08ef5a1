// SPDX-License-Identifier: Apache-2.0
// The table of merge lists, by message and member.
#include "devcluster/kinds/merge_keys.h"

#include <algorithm>
#include <array>

#include "devcluster/kinds/resource_table.h"

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

// What apply takes as one value, by message.
constexpr auto kAtomicMessages = std::to_array<std::string_view>({
    "admissionregistration.v1.MatchResources",
    "admissionregistration.v1.NamedRuleWithOperations",
    "admissionregistration.v1.ParamKind",
    "admissionregistration.v1.ParamRef",
    "admissionregistration.v1.Variable",
    "apiextensions.v1.JSON",
    "autoscaling.v1.CrossVersionObjectReference",
    "core.v1.ConfigMapKeySelector",
    "core.v1.EndpointAddress",
    "core.v1.EndpointPort",
    "core.v1.FileKeySelector",
    "core.v1.LocalObjectReference",
    "core.v1.NodeSelector",
    "core.v1.NodeSelectorTerm",
    "core.v1.ObjectFieldSelector",
    "core.v1.ObjectReference",
    "core.v1.ResourceFieldSelector",
    "core.v1.ScopeSelector",
    "core.v1.SecretKeySelector",
    "core.v1.SecretReference",
    "core.v1.TopologySelectorTerm",
    "core.v1.TypedLocalObjectReference",
    "discovery.v1.EndpointPort",
    "networking.v1.ServiceBackendPort",
    "rbac.v1.RoleRef",
    "rbac.v1.Subject",
    "meta.v1.LabelSelector",
    "meta.v1.OwnerReference",
    "runtime.RawExtension",
});

struct ShapeRow {
  std::string_view message, member;
  // Keys of a list, blank separated; "$set"; "$atomic" and "$granular": of a map or message.
  std::string_view keys;
};

// Lists, maps and messages that apply sees otherwise than strategic merge, or that this one does
// not know.
constexpr auto kShapeRows = std::to_array<ShapeRow>({
    {"core.v1.Container", "ports", "containerPort protocol"},
    {"core.v1.EphemeralContainer", "ports", "containerPort protocol"},
    {"core.v1.ServiceSpec", "ports", "port protocol"},
    {"core.v1.PodSpec", "topologySpreadConstraints", "topologyKey whenUnsatisfiable"},
    {"core.v1.PodSpec", "nodeSelector", "$atomic"},
    {"core.v1.ServiceSpec", "selector", "$atomic"},
    {"core.v1.ReplicationControllerSpec", "selector", "$atomic"},
    {"node.v1.Scheduling", "nodeSelector", "$atomic"},
    {"core.v1.PersistentVolumeSpec", "claimRef", "$granular"},
    {"core.v1.ResourceRequirements", "claims", "name"},
    {"core.v1.ContainerRestartRuleOnExitCodes", "values", "$set"},
    {"core.v1.ContainerStatus", "allocatedResourcesStatus", "name"},
    {"core.v1.ContainerStatus", "volumeMounts", "mountPath"},
    {"core.v1.ResourceStatus", "resources", "resourceID"},
    {"core.v1.ComponentStatus", "conditions", "type"},
    {"batch.v1.PodFailurePolicyOnExitCodesRequirement", "values", "$set"},
    {"batch.v1.UncountedTerminatedPods", "succeeded", "$set"},
    {"batch.v1.UncountedTerminatedPods", "failed", "$set"},
    {"certificates.v1.CertificateSigningRequestStatus", "conditions", "type"},
    {"discovery.v1.Endpoint", "addresses", "$set"},
    {"storage.v1.CSIDriverSpec", "volumeLifecycleModes", "$set"},
    {"resource.v1.ResourceClaimStatus", "devices", "device driver pool shareID"},
    {"resource.v1.AllocatedDeviceStatus", "conditions", "type"},
    {"flowcontrol.v1.NonResourcePolicyRule", "nonResourceURLs", "$set"},
    {"flowcontrol.v1.NonResourcePolicyRule", "verbs", "$set"},
    {"flowcontrol.v1.ResourcePolicyRule", "apiGroups", "$set"},
    {"flowcontrol.v1.ResourcePolicyRule", "namespaces", "$set"},
    {"flowcontrol.v1.ResourcePolicyRule", "resources", "$set"},
    {"flowcontrol.v1.ResourcePolicyRule", "verbs", "$set"},
    {"admissionregistration.v1.MutatingAdmissionPolicySpec", "matchConditions", "name"},
    {"admissionregistration.v1.ValidatingAdmissionPolicySpec", "matchConditions", "name"},
    {"admissionregistration.v1.ValidatingAdmissionPolicySpec", "variables", "name"},
    {"admissionregistration.v1.ValidatingAdmissionPolicyStatus", "conditions", "type"},
    {"admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec", "validationActions", "$set"},
    {"admissionregistration.v1.MutatingWebhook", "matchConditions", "name"},
    {"admissionregistration.v1.ValidatingWebhook", "matchConditions", "name"},
    {"admissionregistration.v1.MutatingWebhookConfiguration", "webhooks", "name"},
    {"admissionregistration.v1.ValidatingWebhookConfiguration", "webhooks", "name"},
    {"apiextensions.v1.CustomResourceDefinitionStatus", "conditions", "type"},
    {"apiextensions.v1.JSONSchemaProps", "x-kubernetes-validations", "rule"},
});

std::string_view KeysOf(const Message& message, const Field& field) {
  for (const ShapeRow& row : kShapeRows) {
    if (row.member == field.name && row.message == message.name) return row.keys;
  }
  for (const KeyRow& row : kKeyRows) {
    if (row.member == field.name && row.message == message.name) return row.key;
  }
  return {};
}

// A key that is a plain member of its item always has a value.
Json KeyDefault(const Message& item, const std::string& key) {
  if (key == "protocol") return "TCP";
  if (item.name == "core.v1.LocalObjectReference") return "";
  const Field* field = item.FieldNamed(key);
  if (field == nullptr || field->pointer || field->type == Field::Type::kMessage) return nullptr;
  if (field->type == Field::Type::kString) return field->omitempty ? Json() : Json("");
  return 0;
}

FieldShape ShapeOf(const Message& message, const Field& field) {
  FieldShape s;
  std::string_view keys = KeysOf(message, field);
  s.atomic_map = keys == "$atomic" ||
                 (!field.map && field.message != nullptr && keys != "$granular" &&
                  std::find(kAtomicMessages.begin(), kAtomicMessages.end(), field.message->name) !=
                      kAtomicMessages.end());
  if (!field.repeated || field.map || keys.empty()) return s;
  if (keys == "$set") {
    s.list = FieldShape::List::kSet;
    return s;
  }
  s.list = FieldShape::List::kKeyed;
  while (!keys.empty()) {
    const size_t end = std::min(keys.find(' '), keys.size());
    s.keys.emplace_back(keys.substr(0, end));
    keys.remove_prefix(std::min(end + 1, keys.size()));
    if (field.message == nullptr) continue;
    if (Json value = KeyDefault(*field.message, s.keys.back()); !value.is_null())
      s.key_defaults[s.keys.back()] = std::move(value);
  }
  return s;
}

FieldShape ShapeAt(const Message& root, std::string_view path) {
  const Message* at = &root;
  while (!path.empty() && at != nullptr) {
    const Field* field = at->FieldNamed(TakeName(&path));
    if (field == nullptr) return {};
    if (path.empty()) return ShapeOf(*at, *field);
    if (field->map) (void)TakeName(&path);  // an entry: a plain value or a message
    at = field->message;
  }
  return {};
}

// Constant; of this file alone.
const Schema& Types() {
  static const Schema* const schema = new Schema;
  return *schema;
}

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

FieldShapes ApplyShapes(const Gvr& gvr) {
  for (const KindRow& row : KindRows()) {
    if (row.resource != gvr.resource || row.group != gvr.group || row.version != gvr.version)
      continue;
    const Message* message = Types().Find(row.message);
    if (message != nullptr)
      return [message](std::string_view path) { return ShapeAt(*message, path); };
  }
  return [](std::string_view) { return FieldShape(); };
}

FieldShape MetadataShape(std::string_view path) {
  static const Message* const metadata = Types().Find("meta.v1.ObjectMeta");
  return ShapeAt(*metadata, path);
}

}  // namespace kcm::devcluster::kinds
