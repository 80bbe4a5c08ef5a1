// SPDX-License-Identifier: Apache-2.0
// What a fresh server holds.
#include "devcluster/kinds/seeds.h"

#include <array>

#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/resource_table.h"
#include "devcluster/kinds/seed_roles.h"

namespace kcm::devcluster::kinds {

namespace {

using Seeds = std::vector<KindRegistry::Seed>;

// The stock roles of controllers.
struct ControllerRole {
  std::string_view name, rules;
};
constexpr auto kControllerRoles = std::to_array<ControllerRole>({
#include "devcluster/kinds/rbac_seeds.inc"
});

void Add(Seeds& seeds, std::string_view group, std::string_view resource, std::string_view kind,
         Json object) {
  object["kind"] = kind;
  object["apiVersion"] = group.empty() ? "v1" : std::string(group) + "/v1";
  seeds.push_back({{std::string(group), "v1", std::string(resource)}, std::move(object)});
}

Json Metadata(std::string_view ns, std::string_view name) {
  Json metadata = {{"name", name}};
  if (!ns.empty()) metadata["namespace"] = ns;
  return metadata;
}

Json BootstrapMetadata(std::string_view ns, std::string_view name, std::string_view labels) {
  Json metadata = Metadata(ns, name);
  metadata["labels"] = labels.empty() ? Json::object() : Json::parse(labels);
  metadata["labels"]["kubernetes.io/bootstrapping"] = "rbac-defaults";
  metadata["annotations"] = {{"rbac.authorization.kubernetes.io/autoupdate", "true"}};
  return metadata;
}

void AddNamespaces(Seeds& seeds) {
  for (const char* name : {"kube-system", "kube-public", "kube-node-lease", "default"}) {
    Json ns = {{"metadata", Metadata("", name)}, {"status", {{"phase", "Active"}}}};
    ns["metadata"]["labels"] = {{"kubernetes.io/metadata.name", name}};
    ns["spec"]["finalizers"] = Json::array({"kubernetes"});
    Add(seeds, "", "namespaces", "Namespace", std::move(ns));
  }
}

void AddRole(Seeds& seeds, const StockRole& role) {
  Json object = {{"metadata", BootstrapMetadata(role.ns, role.name, role.labels)}};
  object["rules"] = Json::parse(role.rules);
  if (object["rules"].empty()) object["rules"] = nullptr;
  if (!role.selector.empty()) {
    Json selector;
    selector["matchLabels"] = {
        {std::string(kRbacGroup) + "/" + std::string(role.selector), "true"}};
    object["aggregationRule"]["clusterRoleSelectors"] = Json::array({selector});
  }
  if (role.ns.empty())
    Add(seeds, kRbacGroup, "clusterroles", "ClusterRole", std::move(object));
  else
    Add(seeds, kRbacGroup, "roles", "Role", std::move(object));
}

Json Subject(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string kind(text.substr(0, colon));
  const std::string_view name = text.substr(colon + 1);
  if (kind != "ServiceAccount") return {{"kind", kind}, {"apiGroup", kRbacGroup}, {"name", name}};
  const size_t slash = name.find('/');
  return {{"kind", kind}, {"name", name.substr(slash + 1)}, {"namespace", name.substr(0, slash)}};
}

void AddBinding(Seeds& seeds, const StockBinding& binding) {
  Json object = {{"metadata", BootstrapMetadata(binding.ns, binding.name, "")}};
  object["roleRef"] = {
      {"apiGroup", kRbacGroup}, {"kind", binding.role_kind}, {"name", binding.role}};
  object["subjects"] = Json::array();
  for (std::string_view rest = binding.subjects; !rest.empty();) {
    const size_t blank = rest.find(' ');
    object["subjects"].push_back(Subject(rest.substr(0, blank)));
    rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
  }
  if (binding.ns.empty())
    Add(seeds, kRbacGroup, "clusterrolebindings", "ClusterRoleBinding", std::move(object));
  else
    Add(seeds, kRbacGroup, "rolebindings", "RoleBinding", std::move(object));
}

void AddRbac(Seeds& seeds) {
  for (const StockRole& role : StockRoles()) AddRole(seeds, role);
  for (const StockBinding& binding : StockBindings()) AddBinding(seeds, binding);
  constexpr std::string_view kPrefix = "system:controller:";
  for (const ControllerRole& role : kControllerRoles) {
    AddRole(seeds, {"", role.name, role.rules, "", ""});
    if (!role.name.starts_with(kPrefix)) continue;
    const std::string account =
        "ServiceAccount:kube-system/" + std::string(role.name.substr(kPrefix.size()));
    AddBinding(seeds, {"", role.name, "ClusterRole", role.name, account});
  }
}

void AddPriorityClasses(Seeds& seeds) {
  const auto add = [&](const char* name, int64_t value, const char* description) {
    Json object = {{"metadata", Metadata("", name)},
                   {"value", value},
                   {"description", description},
                   {"preemptionPolicy", "PreemptLowerPriority"}};
    object["metadata"]["generation"] = 1;
    Add(seeds, "scheduling.k8s.io", "priorityclasses", "PriorityClass", std::move(object));
  };
  add("system-node-critical", 2000001000,
      "Used for system critical pods that must not be moved from their current node.");
  add("system-cluster-critical", 2000000000,
      "Used for system critical pods that must run in the cluster, but can be moved to another "
      "node if necessary.");
}

void AddService(Seeds& seeds) {
  Json service = Json::parse(
      R"({"spec": {"ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
    "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "type": "ClusterIP", "sessionAffinity": "None",
    "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster"},
    "status": {"loadBalancer": {}}})");
  service["metadata"] = Metadata("default", "kubernetes");
  service["metadata"]["labels"] = {{"component", "apiserver"}, {"provider", "kubernetes"}};
  Add(seeds, "", "services", "Service", std::move(service));

  Json address = Json::parse(
      R"({"spec": {"parentRef": {"group": "", "resource": "services", "namespace": "default", "name": "kubernetes"}}})");
  address["metadata"] = Metadata("", "10.96.0.1");
  address["metadata"]["labels"] = {{"ipaddress.kubernetes.io/ip-family", "IPv4"},
                                   {"ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io"}};
  Add(seeds, "networking.k8s.io", "ipaddresses", "IPAddress", std::move(address));

  Json range = Json::parse(
      R"({"spec": {"cidrs": ["10.96.0.0/16"]}, "status": {"conditions": [{"type": "Ready",
    "status": "True", "lastTransitionTime": null, "reason": "", "message": "Kubernetes default Service CIDR is ready"}]}})");
  range["metadata"] = Metadata("", "kubernetes");
  Add(seeds, "networking.k8s.io", "servicecidrs", "ServiceCIDR", std::move(range));
}

// The authentication map's contents (the CA) are the server's own to fill in. Tracking of legacy
// tokens counts as on since long ago, so that the token cleaner goes by the age of each token
// alone.
void AddConfigMaps(Seeds& seeds) {
  Add(seeds, "", "configmaps", "ConfigMap",
      {{"metadata", Metadata("kube-system", "extension-apiserver-authentication")}});
  Json tracking = {{"metadata", Metadata("kube-system",
                                         "kube-apiserver-legacy-service-account-token-tracking")}};
  tracking["data"] = {{"since", "2024-01-01"}};
  Add(seeds, "", "configmaps", "ConfigMap", std::move(tracking));
}

void AddApiServices(Seeds& seeds) {
  constexpr int kCorePriority = 18000;
  int priority = kCorePriority;
  std::vector<std::string> groups = GroupsInOrder();
  groups.insert(groups.begin(), "");
  for (const std::string& group : groups) {
    std::vector<std::string> versions;
    for (const KindRow& row : KindRows()) {
      const std::string version(row.version);
      if (row.group == group && (versions.empty() || versions.back() != version))
        versions.push_back(version);
    }
    int version_priority = 15 * static_cast<int>(versions.size());
    for (const std::string& version : versions) {
      Json object =
          Json::parse(R"({"status": {"conditions": [{"type": "Available", "status": "True",
        "lastTransitionTime": null, "reason": "Local", "message": "Local APIServices are always available"}]}})");
      object["metadata"] = Metadata("", version + "." + group);
      object["metadata"]["labels"] = {{"kube-aggregator.kubernetes.io/automanaged", "onstart"}};
      object["spec"] = {{"version", version},
                        {"groupPriorityMinimum", priority},
                        {"versionPriority", version_priority}};
      if (!group.empty()) object["spec"]["group"] = group;
      Add(seeds, "apiregistration.k8s.io", "apiservices", "APIService", std::move(object));
      version_priority -= 15;
    }
    priority -= 50;
  }
}

// Flow control is not simulated; the two levels every server has are there to be listed.
void AddFlowControl(Seeds& seeds) {
  constexpr std::string_view kGroup = "flowcontrol.apiserver.k8s.io";
  for (const char* name : {"exempt", "catch-all"}) {
    const bool exempt = std::string_view(name) == "exempt";
    Json level = Json::parse(
        exempt ? R"({"spec": {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0,
                                          "lendablePercent": 0}}, "status": {}})"
               : R"({"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 5,
                                          "limitResponse": {"type": "Reject"}, "lendablePercent": 0}}, "status": {}})");
    Json flow = {{"spec",
                  {{"priorityLevelConfiguration", {{"name", name}}},
                   {"matchingPrecedence", exempt ? 1 : 10000}}},
                 {"status", Json::object()}};
    for (Json* object : {&level, &flow}) {
      (*object)["metadata"] = Metadata("", name);
      (*object)["metadata"]["generation"] = 1;
      (*object)["metadata"]["annotations"] = {{"apf.kubernetes.io/autoupdate-spec", "true"}};
    }
    Add(seeds, kGroup, "prioritylevelconfigurations", "PriorityLevelConfiguration",
        std::move(level));
    Add(seeds, kGroup, "flowschemas", "FlowSchema", std::move(flow));
  }
}

}  // namespace

std::vector<KindRegistry::Seed> FreshServer() {
  Seeds seeds;
  AddNamespaces(seeds);
  AddRbac(seeds);
  AddPriorityClasses(seeds);
  AddService(seeds);
  AddConfigMaps(seeds);
  AddApiServices(seeds);
  AddFlowControl(seeds);
  return seeds;
}

}  // namespace kcm::devcluster::kinds
