// SPDX-License-Identifier: Apache-2.0
// Rows of configuration, storage, cluster and policy kinds.
#include <algorithm>
#include <array>
#include <set>

#include "devcluster/kinds/fields.h"
#include "devcluster/kinds/resource_table.h"
#include "devcluster/kinds/tables.h"
#include "devcluster/kinds/times.h"

namespace kcm::devcluster::kinds {

namespace {

std::string Or(std::string_view text, const char* otherwise) {
  return text.empty() ? std::string(otherwise) : std::string(text);
}
size_t Count(const Json& o, const char* member) {
  const Json* map = Find(o, member);
  return map == nullptr ? 0 : map->size();
}

Json CreatedAt(const Json& o, std::string_view) {
  return Json::array({NameOf(o), Text(o, "metadata.creationTimestamp")});
}

Json NodeCells(const Json& o, std::string_view now) {
  std::string status = "Unknown";
  for (const Json& c : Items(o, "status.conditions")) {
    if (Text(c, "type") == "Ready") status = Text(c, "status") == "True" ? "Ready" : "NotReady";
  }
  if (Flag(o, "spec.unschedulable")) status += ",SchedulingDisabled";
  std::set<std::string> roles;
  if (const Json* labels = Find(o, "metadata.labels")) {
    for (const auto& [key, value] : labels->items()) {
      constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
      if (key.starts_with(kPrefix) && key.size() > kPrefix.size())
        roles.insert(key.substr(kPrefix.size()));
      if (key == "kubernetes.io/role" && value.is_string() && value != "")
        roles.insert(value.get<std::string>());
    }
  }
  std::string role_text;
  for (const std::string& role : roles) role_text += (role_text.empty() ? "" : ",") + role;
  const auto address = [&](std::string_view type) {
    for (const Json& a : Items(o, "status.addresses")) {
      if (Text(a, "type") == type) return std::string(Text(a, "address"));
    }
    return std::string("<none>");
  };
  std::string kernel = Or(Text(o, "status.nodeInfo.kernelVersion"), "<unknown>");
  if (const std::string arch(Text(o, "status.nodeInfo.architecture"));
      kernel[0] != '<' && !arch.empty()) {
    kernel += " (" + arch + ")";
  }
  return Json::array({NameOf(o), status, OrNone(role_text), AgeOf(o, now),
                      Text(o, "status.nodeInfo.kubeletVersion"), address("InternalIP"),
                      address("ExternalIP"), Or(Text(o, "status.nodeInfo.osImage"), "<unknown>"),
                      kernel, Or(Text(o, "status.nodeInfo.containerRuntimeVersion"), "<unknown>")});
}

Json NamespaceCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), Text(o, "status.phase"), AgeOf(o, now)});
}
Json ConfigMapCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), Count(o, "data") + Count(o, "binaryData"), AgeOf(o, now)});
}
Json SecretCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), Text(o, "type"), Count(o, "data"), AgeOf(o, now)});
}

Json VolumeCells(const Json& o, std::string_view now) {
  std::string phase(Text(o, "status.phase"));
  if (Find(o, "metadata.deletionTimestamp") != nullptr) phase = "Terminating";
  std::string claim;
  if (Find(o, "spec.claimRef") != nullptr) {
    claim = std::string(Text(o, "spec.claimRef.namespace")) + "/" +
            std::string(Text(o, "spec.claimRef.name"));
  }
  return Json::array(
      {NameOf(o), Text(o, "spec.capacity.storage"), ShortModes(Items(o, "spec.accessModes")),
       Text(o, "spec.persistentVolumeReclaimPolicy"), phase, claim,
       Text(o, "spec.storageClassName"), Or(Text(o, "spec.volumeAttributesClassName"), "<unset>"),
       Text(o, "status.reason"), AgeOf(o, now), Or(Text(o, "spec.volumeMode"), "<unset>")});
}

Json ClaimCells(const Json& o, std::string_view now) {
  std::string phase(Text(o, "status.phase"));
  if (Find(o, "metadata.deletionTimestamp") != nullptr) phase = "Terminating";
  const bool bound = !Text(o, "spec.volumeName").empty();
  return Json::array({NameOf(o), phase, Text(o, "spec.volumeName"),
                      bound ? Text(o, "status.capacity.storage") : "",
                      bound ? ShortModes(Items(o, "status.accessModes")) : std::string(),
                      Text(o, "spec.storageClassName"),
                      Or(Text(o, "spec.volumeAttributesClassName"), "<unset>"), AgeOf(o, now),
                      Or(Text(o, "spec.volumeMode"), "<unset>")});
}

Json StorageClassCells(const Json& o, std::string_view now) {
  std::string name(NameOf(o));
  if (const Json* a = Find(o, "metadata.annotations");
      a != nullptr && KeyText(*a, "storageclass.kubernetes.io/is-default-class") == "true") {
    name += " (default)";
  }
  return Json::array({name, Text(o, "provisioner"), Or(Text(o, "reclaimPolicy"), "Delete"),
                      Or(Text(o, "volumeBindingMode"), "Immediate"),
                      Flag(o, "allowVolumeExpansion"), AgeOf(o, now)});
}

Json AttachmentCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), Text(o, "spec.attacher"),
                      Text(o, "spec.source.persistentVolumeName"), Text(o, "spec.nodeName"),
                      Flag(o, "status.attached"), AgeOf(o, now)});
}
Json CsiNodeCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), Items(o, "spec.drivers").size(), AgeOf(o, now)});
}
Json CsiDriverCells(const Json& o, std::string_view now) {
  std::string tokens, modes;
  for (const Json& t : Items(o, "spec.tokenRequests"))
    tokens += (tokens.empty() ? "" : ",") + std::string(Text(t, "audience"));
  for (const Json& m : Items(o, "spec.volumeLifecycleModes"))
    modes += (modes.empty() ? "" : ",") + m.get<std::string>();
  return Json::array({NameOf(o), Flag(o, "spec.attachRequired", true),
                      Flag(o, "spec.podInfoOnMount"), Flag(o, "spec.storageCapacity"),
                      Or(tokens, "<unset>"), Flag(o, "spec.requiresRepublish"), OrNone(modes),
                      AgeOf(o, now)});
}

std::string IntOrText(const Json* value) {
  return value == nullptr ? "N/A" : value->is_string() ? value->get<std::string>() : value->dump();
}
Json BudgetCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), IntOrText(Find(o, "spec.minAvailable")),
                      IntOrText(Find(o, "spec.maxUnavailable")),
                      Integer(o, "status.disruptionsAllowed"), AgeOf(o, now)});
}

// Both event groups: members are looked for under either name.
std::string_view EventText(const Json& o, const char* core, const char* group) {
  const std::string_view text = Text(o, core);
  return text.empty() ? Text(o, group) : text;
}
Json EventCells(const Json& o, std::string_view now) {
  const auto age = [now](std::string_view since) {
    return since.empty() ? std::string("<unknown>") : Age(since, now);
  };
  std::string first(EventText(o, "firstTimestamp", "deprecatedFirstTimestamp"));
  std::string last(EventText(o, "lastTimestamp", "deprecatedLastTimestamp"));
  if (first.empty()) first = Text(o, "eventTime");
  if (!Text(o, "series.lastObservedTime").empty()) last = Text(o, "series.lastObservedTime");
  if (last.empty()) last = first;
  const Json* ref = Find(o, "involvedObject");
  if (ref == nullptr) ref = Find(o, "regarding");
  std::string target, field;
  if (ref != nullptr) {
    std::string kind(Text(*ref, "kind"));
    for (char& c : kind) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    target = kind + "/" + std::string(Text(*ref, "name"));
    field = Text(*ref, "fieldPath");
  }
  std::string source(EventText(o, "source.component", "deprecatedSource.component"));
  if (source.empty()) source = EventText(o, "reportingComponent", "reportingController");
  if (const std::string host(EventText(o, "source.host", "deprecatedSource.host")); !host.empty())
    source += ", " + host;
  std::string message(EventText(o, "message", "note"));
  message.erase(0, std::min(message.find_first_not_of(" \t\n\r"), message.size()));
  message.erase(message.find_last_not_of(" \t\n\r") + 1);
  int64_t count = std::max(Integer(o, "count"), Integer(o, "deprecatedCount"));
  if (const int64_t series = Integer(o, "series.count"); series > 0) count = series;
  if (count == 0) count = 1;
  return Json::array({age(last), Text(o, "type"), Text(o, "reason"), target, field, source, message,
                      age(first), count, NameOf(o)});
}

// "NAME: used/hard, ..." of requests and, apart, limits.
Json QuotaCells(const Json& o, std::string_view now) {
  std::string requests, limits;
  if (const Json* hard = Find(o, "status.hard"); hard != nullptr && hard->is_object()) {
    const Json* used = Find(o, "status.used");
    for (const auto& [name, amount] : hard->items()) {
      const Json* now_used = used == nullptr ? nullptr : Key(*used, name);
      std::string& to = name.starts_with("limits") ? limits : requests;
      to += (to.empty() ? "" : ", ") + name + ": " +
            (now_used == nullptr ? "0" : now_used->get<std::string>()) + "/" +
            amount.get<std::string>();
    }
  }
  return Json::array({NameOf(o), requests, limits, AgeOf(o, now)});
}

Json LeaseCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), Text(o, "spec.holderIdentity"), AgeOf(o, now)});
}

Json SigningCells(const Json& o, std::string_view now) {
  std::string condition;
  bool issued = !Text(o, "status.certificate").empty();
  for (const char* type : {"Approved", "Denied", "Failed"}) {
    for (const Json& c : Items(o, "status.conditions")) {
      if (Text(c, "type") == type) condition += (condition.empty() ? "" : ",") + std::string(type);
    }
  }
  if (condition.empty()) condition = "Pending";
  if (issued) condition += ",Issued";
  const Json* seconds = Find(o, "spec.expirationSeconds");
  return Json::array({NameOf(o), AgeOf(o, now), Or(Text(o, "spec.signerName"), "<none>"),
                      Text(o, "spec.username"),
                      seconds == nullptr ? std::string("<none>")
                                         : HumanDuration(Integer(o, "spec.expirationSeconds")),
                      condition});
}

Json IngressCells(const Json& o, std::string_view now) {
  std::vector<std::string> hosts;
  for (const Json& rule : Items(o, "spec.rules")) {
    if (const std::string host(Text(rule, "host")); !host.empty()) hosts.push_back(host);
  }
  std::string host_text, addresses;
  for (size_t i = 0; i < hosts.size() && i < 3; ++i) host_text += (i == 0 ? "" : ",") + hosts[i];
  if (hosts.size() > 3) host_text += " + " + std::to_string(hosts.size() - 3) + " more...";
  for (const Json& ingress : Items(o, "status.loadBalancer.ingress")) {
    const std::string_view ip = Text(ingress, "ip");
    addresses +=
        (addresses.empty() ? "" : ",") + std::string(ip.empty() ? Text(ingress, "hostname") : ip);
  }
  return Json::array({NameOf(o), Or(Text(o, "spec.ingressClassName"), "<none>"), Or(host_text, "*"),
                      addresses, Items(o, "spec.tls").empty() ? "80" : "80, 443", AgeOf(o, now)});
}
Json IngressClassCells(const Json& o, std::string_view now) {
  std::string parameters = "<none>";
  if (const Json* p = Find(o, "spec.parameters")) {
    const std::string group(Text(*p, "apiGroup"));
    parameters = std::string(Text(*p, "kind")) + (group.empty() ? "" : "." + group) + "/" +
                 std::string(Text(*p, "name"));
  }
  return Json::array({NameOf(o), Text(o, "spec.controller"), parameters, AgeOf(o, now)});
}
Json NetworkPolicyCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), SelectorText(Find(o, "spec.podSelector")), AgeOf(o, now)});
}
Json PriorityClassCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), Integer(o, "value"), Flag(o, "globalDefault"), AgeOf(o, now),
                      Text(o, "preemptionPolicy")});
}

Json BindingCells(const Json& o, std::string_view now) {
  std::string users, groups, accounts;
  for (const Json& s : Items(o, "subjects")) {
    const std::string_view kind = Text(s, "kind");
    std::string& to = kind == "User" ? users : kind == "Group" ? groups : accounts;
    to += (to.empty() ? "" : ", ");
    if (kind == "ServiceAccount") to += std::string(Text(s, "namespace")) + "/";
    to += Text(s, "name");
  }
  return Json::array(
      {NameOf(o), std::string(Text(o, "roleRef.kind")) + "/" + std::string(Text(o, "roleRef.name")),
       AgeOf(o, now), users, groups, accounts});
}

Json RuntimeClassCells(const Json& o, std::string_view now) {
  return Json::array({NameOf(o), Text(o, "handler"), AgeOf(o, now)});
}

Json ResourceClaimCells(const Json& o, std::string_view now) {
  std::string state = "pending";
  if (Find(o, "status.allocation") != nullptr) state = "allocated";
  if (!Items(o, "status.reservedFor").empty()) state += ",reserved";
  if (Find(o, "metadata.deletionTimestamp") != nullptr) state = "deleted," + state;
  return Json::array({NameOf(o), state, AgeOf(o, now)});
}

Json ApiServiceCells(const Json& o, std::string_view now) {
  std::string service = "Local", available = "Unknown";
  if (const Json* s = Find(o, "spec.service")) {
    service = std::string(Text(*s, "namespace")) + "/" + std::string(Text(*s, "name"));
  }
  for (const Json& c : Items(o, "status.conditions")) {
    if (Text(c, "type") != "Available") continue;
    available = Text(c, "status");
    if (available != "True") available += " (" + std::string(Text(c, "reason")) + ")";
  }
  return Json::array({NameOf(o), service, available, AgeOf(o, now)});
}

constexpr std::string_view kStorageGroup = "storage.k8s.io";
constexpr auto kClusterPrinters = std::to_array<Printer>({
    {"", "nodes",
     "Status|Roles|Age|Version|Internal-IP*|External-IP*|OS-Image*|Kernel-Version*|Container-"
     "Runtime*",
     NodeCells},
    {"", "namespaces", "Status|Age", NamespaceCells},
    {"", "configmaps", "Data|Age", ConfigMapCells},
    {"", "secrets", "Type|Data|Age", SecretCells},
    {"", "persistentvolumes",
     "Capacity|Access Modes|Reclaim "
     "Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age|VolumeMode*",
     VolumeCells},
    {"", "persistentvolumeclaims",
     "Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode*",
     ClaimCells},
    {"", "resourcequotas", "Request|Limit|Age", QuotaCells},
    {"", "limitranges", "Created At:d", CreatedAt},
    {"", "events",
     "Last Seen|Type|Reason|Object|Subobject*|Source*|Message|First Seen*|Count*|!Name*",
     EventCells},
    {"events.k8s.io", "events",
     "Last Seen|Type|Reason|Object|Subobject*|Source*|Message|First Seen*|Count*|!Name*",
     EventCells},
    {kStorageGroup, "storageclasses",
     "Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age", StorageClassCells},
    {kStorageGroup, "volumeattachments", "Attacher|PV|Node|Attached:b|Age", AttachmentCells},
    {kStorageGroup, "csinodes", "Drivers:i|Age", CsiNodeCells},
    {kStorageGroup, "csidrivers",
     "AttachRequired:b|PodInfoOnMount:b|StorageCapacity:b|TokenRequests|RequiresRepublish:b|Modes|"
     "Age",
     CsiDriverCells},
    {kStorageGroup, "csistoragecapacities", "Created At:d", CreatedAt},
    {"policy", "poddisruptionbudgets", "Min Available|Max Unavailable|Allowed Disruptions:i|Age",
     BudgetCells},
    {"coordination.k8s.io", "leases", "Holder|Age", LeaseCells},
    {"certificates.k8s.io", "certificatesigningrequests",
     "Age|SignerName|Requestor|RequestedDuration|Condition", SigningCells},
    {"networking.k8s.io", "ingresses", "Class|Hosts|Address|Ports|Age", IngressCells},
    {"networking.k8s.io", "ingressclasses", "Controller|Parameters|Age", IngressClassCells},
    {"networking.k8s.io", "networkpolicies", "Pod-Selector|Age", NetworkPolicyCells},
    {"scheduling.k8s.io", "priorityclasses", "Value:i|Global-Default:b|Age|PreemptionPolicy",
     PriorityClassCells},
    {kRbacGroup, "rolebindings", "Role|Age|Users*|Groups*|ServiceAccounts*", BindingCells},
    {kRbacGroup, "clusterrolebindings", "Role|Age|Users*|Groups*|ServiceAccounts*", BindingCells},
    {kRbacGroup, "roles", "Created At:d", CreatedAt},
    {kRbacGroup, "clusterroles", "Created At:d", CreatedAt},
    {"apiextensions.k8s.io", "customresourcedefinitions", "Created At:d", CreatedAt},
    {"node.k8s.io", "runtimeclasses", "Handler|Age", RuntimeClassCells},
    {"resource.k8s.io", "resourceclaims", "State|Age", ResourceClaimCells},
    {"apiregistration.k8s.io", "apiservices", "Service|Available|Age", ApiServiceCells},
});

}  // namespace

const Printer* ClusterPrinter(const Gvr& gvr) {
  for (const Printer& printer : kClusterPrinters) {
    if (printer.resource == gvr.resource && printer.group == gvr.group) return &printer;
  }
  return nullptr;
}

}  // namespace kcm::devcluster::kinds
