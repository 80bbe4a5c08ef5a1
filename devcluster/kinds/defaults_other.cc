// SPDX-License-Identifier: Apache-2.0
// Defaults of services, configuration, storage, policy and cluster kinds.
#include <array>

#include "devcluster/kinds/base64.h"
#include "devcluster/kinds/defaults.h"
#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/resource_table.h"

namespace kcm::devcluster::kinds {

namespace {

void DefaultEndpoints(Json& o) {
  ForEach(o, "subsets", [](Json& subset) {
    ForEach(subset, "ports", [](Json& port) { SetDefaultText(port, "protocol", "TCP"); });
  });
}

void DefaultEndpointSlice(Json& o) {
  ForEach(o, "ports", [](Json& port) {
    SetDefault(port, "name", "");
    SetDefault(port, "protocol", "TCP");
  });
}

// stringData is write-only and wins over data.
void DefaultSecret(Json& o) {
  SetDefaultText(o, "type", "Opaque");
  if (const Json* plain = Key(o, "stringData"); plain != nullptr && plain->is_object()) {
    const Json copy = *plain;
    for (const auto& [key, text] : copy.items()) {
      if (text.is_string()) Child(o, "data")[key] = EncodeBase64(text.get<std::string>());
    }
  }
  o.erase("stringData");
}

void DefaultNamespace(Json& o) {
  // The label is set once the name exists (generateName is resolved before defaults).
  if (const std::string name(Text(o, "metadata.name")); !name.empty()) {
    Child(o, "metadata.labels")["kubernetes.io/metadata.name"] = name;
  }
}

void DefaultNode(Json& o) {
  const std::string cidr(Text(o, "spec.podCIDR"));
  if (!cidr.empty() && IsEmpty(Find(o, "spec.podCIDRs"))) {
    o["spec"]["podCIDRs"] = Json::array({cidr});
  } else if (cidr.empty() && !IsEmpty(Find(o, "spec.podCIDRs"))) {
    o["spec"]["podCIDR"] = o["spec"]["podCIDRs"][0];
  }
  const Json* capacity = Find(o, "status.capacity");
  if (!IsEmpty(capacity) && Find(o, "status.allocatable") == nullptr) {
    const Json copy = *capacity;
    o["status"]["allocatable"] = copy;
  }
}

void DefaultPersistentVolume(Json& o) {
  Json& spec = Child(o, "spec");
  SetDefaultText(spec, "persistentVolumeReclaimPolicy", "Retain");
  SetDefault(spec, "volumeMode", "Filesystem");
  DefaultVolumeSource(spec);
}

void DefaultClaim(Json& o) {
  Json& spec = Child(o, "spec");
  DefaultClaimSpec(spec);
  const auto mirror = [&spec](const char* from, const char* to) {
    const Json* source = Find(spec, from);
    if (source == nullptr || Find(spec, to) != nullptr) return;
    Json copy = *source;
    copy.erase("namespace");
    spec[to] = std::move(copy);
  };
  mirror("dataSource", "dataSourceRef");
  if (Text(spec, "dataSourceRef.namespace").empty()) mirror("dataSourceRef", "dataSource");
}

void DefaultStorageClass(Json& o) {
  SetDefault(o, "reclaimPolicy", "Delete");
  SetDefault(o, "volumeBindingMode", "Immediate");
}

void DefaultCsiDriver(Json& o) {
  Json& spec = Child(o, "spec");
  SetDefault(spec, "attachRequired", true);
  SetDefault(spec, "podInfoOnMount", false);
  SetDefault(spec, "storageCapacity", false);
  SetDefault(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
  SetDefault(spec, "requiresRepublish", false);
  SetDefault(spec, "seLinuxMount", false);
  if (IsEmpty(Find(spec, "volumeLifecycleModes")))
    spec["volumeLifecycleModes"] = Json::array({"Persistent"});
}

// Limits of type Container: default from max, request from default, then from min (spec C6).
void DefaultLimitRange(Json& o) {
  ForEach(o, "spec.limits", [](Json& limit) {
    if (Text(limit, "type") != "Container") return;
    const auto fill = [&limit](const char* from, const char* to) {
      const Json* source = Find(limit, from);
      if (IsEmpty(source)) return;
      const Json copy = *source;
      Json& target = Child(limit, to);
      for (const auto& [name, amount] : copy.items()) SetDefault(target, name, amount);
    };
    fill("max", "default");
    fill("default", "defaultRequest");
    fill("min", "defaultRequest");
  });
}

void DefaultBinding(Json& o) {
  if (Json* ref = Find(o, "roleRef"); ref != nullptr && ref->is_object())
    SetDefaultText(*ref, "apiGroup", kRbacGroup);
  if (Find(o, "roleRef") == nullptr) Child(o, "roleRef")["apiGroup"] = kRbacGroup;
  ForEach(o, "subjects", [](Json& subject) {
    const std::string_view kind = Text(subject, "kind");
    if (kind == "User" || kind == "Group") SetDefaultText(subject, "apiGroup", kRbacGroup);
  });
}

void DefaultPriorityClass(Json& o) { SetDefault(o, "preemptionPolicy", "PreemptLowerPriority"); }

void DefaultNetworkPolicy(Json& o) {
  Json& spec = Child(o, "spec");
  for (const char* list : {"ingress", "egress"}) {
    ForEach(spec, list, [](Json& rule) {
      ForEach(rule, "ports", [](Json& port) { SetDefault(port, "protocol", "TCP"); });
    });
  }
  if (!IsEmpty(Find(spec, "policyTypes"))) return;
  spec["policyTypes"] = Json::array({"Ingress"});
  if (!IsEmpty(Find(spec, "egress"))) spec["policyTypes"].push_back("Egress");
}

void DefaultRules(Json& holder, std::string_view list) {
  ForEach(holder, list, [](Json& rule) { SetDefault(rule, "scope", "*"); });
}

void DefaultMatchResources(Json& match) {
  SetDefault(match, "matchPolicy", "Equivalent");
  SetDefault(match, "namespaceSelector", Json::object());
  SetDefault(match, "objectSelector", Json::object());
  DefaultRules(match, "resourceRules");
  DefaultRules(match, "excludeResourceRules");
}

void DefaultAdmissionPolicy(Json& o) {
  Json& spec = Child(o, "spec");
  SetDefault(spec, "failurePolicy", "Fail");
  if (Json* match = Find(spec, "matchConstraints")) DefaultMatchResources(*match);
}

void DefaultAdmissionBinding(Json& o) {
  if (Json* match = Find(o, "spec.matchResources")) DefaultMatchResources(*match);
}

void DefaultWebhooks(Json& o, bool mutating) {
  ForEach(o, "webhooks", [mutating](Json& hook) {
    SetDefault(hook, "failurePolicy", "Fail");
    SetDefault(hook, "matchPolicy", "Equivalent");
    SetDefault(hook, "namespaceSelector", Json::object());
    SetDefault(hook, "objectSelector", Json::object());
    SetDefault(hook, "timeoutSeconds", 10);
    if (mutating) SetDefault(hook, "reinvocationPolicy", "Never");
    if (Json* service = Find(hook, "clientConfig.service")) SetDefault(*service, "port", 443);
    DefaultRules(hook, "rules");
  });
}

void DefaultValidatingWebhooks(Json& o) { DefaultWebhooks(o, false); }
void DefaultMutatingWebhooks(Json& o) { DefaultWebhooks(o, true); }

void DefaultCustomResourceDefinition(Json& o) {
  Json& spec = Child(o, "spec");
  Json& names = Child(spec, "names");
  if (const std::string kind(Text(names, "kind")); !kind.empty()) {
    std::string lower = kind;
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    SetDefaultText(names, "singular", lower);
    SetDefaultText(names, "listKind", kind + "List");
  }
  SetDefault(spec, "conversion", Json{{"strategy", "None"}});
}

void DefaultClaimDevices(Json& devices) {
  ForEach(devices, "requests", [](Json& request) {
    const auto exact = [](Json& r) {
      SetDefaultText(r, "allocationMode", "ExactCount");
      if (Text(r, "allocationMode") == "ExactCount" && Integer(r, "count") == 0) r["count"] = 1;
    };
    if (Json* exactly = Find(request, "exactly")) exact(*exactly);
    ForEach(request, "firstAvailable", exact);
  });
}

void DefaultResourceClaim(Json& o) {
  if (Json* devices = Find(o, "spec.devices")) DefaultClaimDevices(*devices);
}

void DefaultResourceClaimTemplate(Json& o) {
  if (Json* devices = Find(o, "spec.spec.devices")) DefaultClaimDevices(*devices);
}

void DefaultPodTemplateKind(Json& o) { DefaultPodTemplate(Child(o, "template")); }

void DefaultApiService(Json& o) {
  if (Json* service = Find(o, "spec.service")) SetDefault(*service, "port", 443);
}

struct DefaultsRow {
  std::string_view group, version, resource;
  Defaults defaults;
};

constexpr auto kDefaultsRows = std::to_array<DefaultsRow>({
    {"", "v1", "pods", DefaultPod},
    {"", "v1", "podtemplates", DefaultPodTemplateKind},
    {"", "v1", "replicationcontrollers", DefaultReplicationController},
    {"", "v1", "services", DefaultService},
    {"", "v1", "endpoints", DefaultEndpoints},
    {"", "v1", "secrets", DefaultSecret},
    {"", "v1", "namespaces", DefaultNamespace},
    {"", "v1", "nodes", DefaultNode},
    {"", "v1", "persistentvolumes", DefaultPersistentVolume},
    {"", "v1", "persistentvolumeclaims", DefaultClaim},
    {"", "v1", "limitranges", DefaultLimitRange},
    {"apps", "v1", "deployments", DefaultDeployment},
    {"apps", "v1", "replicasets", DefaultReplicaSet},
    {"apps", "v1", "daemonsets", DefaultDaemonSet},
    {"apps", "v1", "statefulsets", DefaultStatefulSet},
    {"batch", "v1", "jobs", DefaultJob},
    {"batch", "v1", "cronjobs", DefaultCronJob},
    {"autoscaling", "v2", "horizontalpodautoscalers", DefaultAutoscalerV2},
    {"autoscaling", "v1", "horizontalpodautoscalers", DefaultAutoscalerV1},
    {"discovery.k8s.io", "v1", "endpointslices", DefaultEndpointSlice},
    {"networking.k8s.io", "v1", "networkpolicies", DefaultNetworkPolicy},
    {kRbacGroup, "v1", "rolebindings", DefaultBinding},
    {kRbacGroup, "v1", "clusterrolebindings", DefaultBinding},
    {"storage.k8s.io", "v1", "storageclasses", DefaultStorageClass},
    {"storage.k8s.io", "v1", "csidrivers", DefaultCsiDriver},
    {"scheduling.k8s.io", "v1", "priorityclasses", DefaultPriorityClass},
    {"resource.k8s.io", "v1", "resourceclaims", DefaultResourceClaim},
    {"resource.k8s.io", "v1", "resourceclaimtemplates", DefaultResourceClaimTemplate},
    {kAdmissionGroup, "v1", "validatingadmissionpolicies", DefaultAdmissionPolicy},
    {kAdmissionGroup, "v1", "validatingadmissionpolicybindings", DefaultAdmissionBinding},
    {kAdmissionGroup, "v1", "mutatingadmissionpolicies", DefaultAdmissionPolicy},
    {kAdmissionGroup, "v1", "mutatingadmissionpolicybindings", DefaultAdmissionBinding},
    {kAdmissionGroup, "v1", "validatingwebhookconfigurations", DefaultValidatingWebhooks},
    {kAdmissionGroup, "v1", "mutatingwebhookconfigurations", DefaultMutatingWebhooks},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", DefaultCustomResourceDefinition},
    {"apiregistration.k8s.io", "v1", "apiservices", DefaultApiService},
});

}  // namespace

// What needs no allocator; addresses and families that depend on an address are admission's
// (service_addresses.cc).
void DefaultService(Json& o) {
  Json& spec = Child(o, "spec");
  SetDefaultText(spec, "sessionAffinity", "None");
  if (Text(spec, "sessionAffinity") == "None") spec.erase("sessionAffinityConfig");
  if (Text(spec, "sessionAffinity") == "ClientIP") {
    Json& client = Child(spec, "sessionAffinityConfig.clientIP");
    if (Integer(client, "timeoutSeconds") == 0) client["timeoutSeconds"] = 10800;
  }
  SetDefaultText(spec, "type", "ClusterIP");
  ForEach(spec, "ports", [](Json& port) {
    SetDefaultText(port, "protocol", "TCP");
    const Json* target = Find(port, "targetPort");
    if (target == nullptr || *target == 0 || *target == "")
      port["targetPort"] = Integer(port, "port");
  });
  const std::string type(Text(spec, "type"));
  const bool external =
      type == "NodePort" || type == "LoadBalancer" || !IsEmpty(Find(spec, "externalIPs"));
  if (external && type != "ExternalName") SetDefaultText(spec, "externalTrafficPolicy", "Cluster");
  if (type != "ExternalName") SetDefault(spec, "internalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") SetDefault(spec, "allocateLoadBalancerNodePorts", true);
  ForEach(o, "status.loadBalancer.ingress", [](Json& ingress) {
    if (!Text(ingress, "ip").empty()) SetDefault(ingress, "ipMode", "VIP");
  });
}

Defaults DefaultsOf(const Gvr& gvr) {
  for (const DefaultsRow& row : kDefaultsRows) {
    if (row.resource == gvr.resource && row.group == gvr.group && row.version == gvr.version)
      return row.defaults;
  }
  return nullptr;
}

}  // namespace kcm::devcluster::kinds
