// SPDX-License-Identifier: Apache-2.0
// Table of controllers and the rules of --controllers.
#include "host/config/controllers.h"

#include <algorithm>

#include "kcm/rules/go_quote.h"

namespace kcm::host::config {
namespace {

// name, alias, on by default, client, event source, gates, kind
constexpr ControllerInfo kControllers[] = {
    {"bootstrap-signer-controller", "bootstrapsigner", false, "bootstrap-signer", ""},
    {"certificatesigningrequest-approving-controller", "csrapproving", true,
     "certificate-controller", ""},
    {"certificatesigningrequest-cleaner-controller", "csrcleaner", true, "certificate-controller",
     ""},
    {"certificatesigningrequest-signing-controller", "csrsigning", true, "certificate-controller",
     ""},
    {"cloud-node-lifecycle-controller", "cloud-node-lifecycle", true, "", "", {}, Kind::kCloud},
    {"clusterrole-aggregation-controller", "clusterrole-aggregation", true,
     "clusterrole-aggregation-controller", ""},
    {"cronjob-controller", "cronjob", true, "cronjob-controller", "cronjob-controller"},
    {"daemonset-controller", "daemonset", true, "daemon-set-controller", "daemonset-controller"},
    {"deployment-controller", "deployment", true, "deployment-controller", "deployment-controller"},
    {"device-taint-eviction-controller",
     "",
     true,
     "device-taint-eviction-controller",
     "device-taint-eviction-controller",
     {"DynamicResourceAllocation", "DRADeviceTaints"}},
    {"disruption-controller", "disruption", true, "disruption-controller", "controllermanager"},
    {"endpoints-controller", "endpoint", true, "endpoint-controller", "endpoint-controller"},
    {"endpointslice-controller", "endpointslice", true, "endpointslice-controller",
     "endpoint-slice-controller"},
    {"endpointslice-mirroring-controller", "endpointslicemirroring", true,
     "endpointslicemirroring-controller", "endpoint-slice-mirroring-controller"},
    {"ephemeral-volume-controller", "ephemeral-volume", true, "ephemeral-volume-controller",
     "ephemeral_volume"},
    {"garbage-collector-controller", "garbagecollector", true, "generic-garbage-collector",
     "garbage-collector-controller"},
    {"horizontal-pod-autoscaler-controller", "horizontalpodautoscaling", true,
     "horizontal-pod-autoscaler", "horizontal-pod-autoscaler"},
    {"job-controller", "job", true, "job-controller", "job-controller"},
    {"kube-apiserver-serving-clustertrustbundle-publisher-controller",
     "",
     true,
     "kube-apiserver-serving-clustertrustbundle-publisher",
     "",
     {"ClusterTrustBundle"}},
    {"legacy-serviceaccount-token-cleaner-controller", "legacy-service-account-token-cleaner", true,
     "legacy-service-account-token-cleaner", ""},
    {"namespace-controller", "namespace", true, "namespace-controller", ""},
    {"node-ipam-controller", "nodeipam", true, "node-controller", "cidrAllocator"},
    {"node-lifecycle-controller", "nodelifecycle", true, "node-controller", "node-controller"},
    {"node-route-controller", "route", true, "", "", {}, Kind::kCloud},
    {"persistentvolume-attach-detach-controller", "attachdetach", true, "attachdetach-controller",
     "attachdetach-controller"},
    {"persistentvolume-binder-controller", "persistentvolume-binder", true,
     "persistent-volume-binder", "persistentvolume-controller"},
    {"persistentvolume-expander-controller", "persistentvolume-expander", true, "expand-controller",
     "volume_expand"},
    {"persistentvolume-protection-controller", "pv-protection", true, "pv-protection-controller",
     ""},
    {"persistentvolumeclaim-protection-controller", "pvc-protection", true,
     "pvc-protection-controller", ""},
    {"pod-garbage-collector-controller", "podgc", true, "pod-garbage-collector", ""},
    {"podcertificaterequest-cleaner-controller",
     "",
     true,
     "podcertificaterequestcleaner",
     "",
     {"PodCertificateRequest"}},
    {"podgroup-protection-controller",
     "",
     true,
     "podgroup-protection-controller",
     "",
     {"GenericWorkload"}},
    {"replicaset-controller", "replicaset", true, "replicaset-controller", "replicaset-controller"},
    {"replicationcontroller-controller", "replicationcontroller", true, "replication-controller",
     "replication-controller"},
    {"resourceclaim-controller",
     "resource-claim-controller",
     true,
     "resource-claim-controller",
     "resource_claim",
     {"DynamicResourceAllocation"}},
    {"resourcepoolstatusrequest-controller",
     "",
     true,
     "resourcepoolstatusrequest-controller",
     "",
     {"DRAResourcePoolStatus"}},
    {"resourcequota-controller", "resourcequota", true, "resourcequota-controller", ""},
    {"root-ca-certificate-publisher-controller", "root-ca-cert-publisher", true,
     "root-ca-cert-publisher", ""},
    {"selinux-warning-controller",
     "",
     false,
     "selinux-warning-controller",
     "selinux_warning",
     {"SELinuxChangePolicy"}},
    {"service-cidr-controller",
     "",
     true,
     "service-cidrs-controller",
     "service-cidr-controller",
     {"MultiCIDRServiceAllocator"}},
    {"service-lb-controller", "service", true, "", "", {}, Kind::kCloud},
    {"serviceaccount-controller", "serviceaccount", true, "service-account-controller", ""},
    {"serviceaccount-token-controller",
     "serviceaccount-token",
     true,
     "tokens-controller",
     "",
     {},
     Kind::kServiceToken},
    {"statefulset-controller", "statefulset", true, "statefulset-controller",
     "statefulset-controller"},
    {"storage-version-migrator-controller",
     "svm",
     true,
     "storage-version-migrator-controller",
     "",
     {"StorageVersionMigrator"}},
    {"storageversion-garbage-collector-controller",
     "storage-version-gc",
     true,
     "storage-version-garbage-collector",
     "",
     {"APIServerIdentity", "StorageVersionAPI"}},
    {"taint-eviction-controller",
     "",
     true,
     "node-controller",
     "taint-eviction-controller",
     {"SeparateTaintEvictionController"}},
    {"token-cleaner-controller", "tokencleaner", false, "token-cleaner", ""},
    {"ttl-after-finished-controller", "ttl-after-finished", true, "ttl-after-finished-controller",
     "ttl-after-finished-controller"},
    {"ttl-controller", "ttl", true, "ttl-controller", ""},
    {"validatingadmissionpolicy-status-controller", "", true,
     "validatingadmissionpolicy-status-controller", ""},
    {"volumeattributesclass-protection-controller",
     "",
     true,
     "volumeattributesclass-protection-controller",
     "",
     {"VolumeAttributesClass"}},
};

std::string Join(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& item : list) out += (out.empty() ? "" : ", ") + item;
  return out;
}

}  // namespace

std::span<const ControllerInfo> BuiltinControllers() { return kControllers; }

const ControllerInfo* FindBuiltinController(std::string_view name) {
  for (const ControllerInfo& info : kControllers) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

ControllerNames ControllerNames::Builtin() {
  ControllerNames names;
  for (const ControllerInfo& info : kControllers) {
    names.on_by_default_.emplace(info.name, info.on_by_default);
    if (!info.alias.empty()) names.aliases_.emplace(info.alias, info.name);
  }
  return names;
}

Status ControllerNames::Declare(const std::string& name, const std::vector<std::string>& aliases,
                                bool on_by_default) {
  const auto conflict = [&](const std::string& what) {
    return MakeError(Code::kAlreadyExists, "controller " + rules::GoQuote(name) + ": " + what);
  };
  if (name.empty() || name == "*" || name.front() == '-') {
    return MakeError(Code::kInvalid, "controller " + rules::GoQuote(name) +
                                         ": not a name --controllers could hold");
  }
  if (aliases_.contains(name))
    return conflict("the name is an alias of " + aliases_.find(name)->second);
  if (const auto known = on_by_default_.find(name);
      known != on_by_default_.end() && known->second != on_by_default) {
    return conflict(std::string("is known to be ") + (known->second ? "on" : "off") +
                    " by default");
  }
  for (const std::string& alias : aliases) {
    const auto other = aliases_.find(alias);
    if (on_by_default_.contains(alias) || (other != aliases_.end() && other->second != name)) {
      return conflict("alias " + rules::GoQuote(alias) + " already names another controller");
    }
  }
  on_by_default_.emplace(name, on_by_default);
  for (const std::string& alias : aliases) aliases_.emplace(alias, name);
  return Ok();
}

std::optional<std::string> ControllerNames::Canonical(std::string_view name) const {
  if (const auto alias = aliases_.find(name); alias != aliases_.end()) return alias->second;
  if (on_by_default_.contains(name)) return std::string(name);
  return std::nullopt;
}

std::vector<std::string> ControllerNames::Canonicalize(const std::vector<std::string>& list) const {
  std::vector<std::string> out;
  for (const std::string& element : list) {
    const bool off = element.starts_with('-');
    const std::optional<std::string> name =
        Canonical(std::string_view(element).substr(off ? 1 : 0));
    out.push_back(name ? (off ? "-" : "") + *name : element);
  }
  return out;
}

std::vector<std::string> ControllerNames::UnknownErrors(
    const std::vector<std::string>& list) const {
  std::vector<std::string> errors;
  for (const std::string& element : list) {
    if (element == "*") continue;
    const std::string_view name =
        std::string_view(element).substr(element.starts_with('-') ? 1 : 0);
    if (!Canonical(name))
      errors.push_back(rules::GoQuote(name) + " is not in the list of known controllers");
  }
  return errors;
}

std::vector<std::string> ControllerNames::All() const {
  std::vector<std::string> names;
  for (const auto& [name, on] : on_by_default_) names.push_back(name);
  return names;
}

std::vector<std::string> ControllerNames::DisabledByDefault() const {
  std::vector<std::string> names;
  for (const auto& [name, on] : on_by_default_) {
    if (!on) names.push_back(name);
  }
  return names;
}

std::string ControllerNames::Help() const {
  return "Controllers to run: '*' for all that are on by default, 'foo' for foo, '-foo' to leave "
         "foo out; the first match "
         "counts.\nAll controllers: " +
         Join(All()) + "\nDisabled-by-default controllers: " + Join(DisabledByDefault());
}

bool IsEnabled(const std::vector<std::string>& canonical_list, std::string_view name,
               bool on_by_default) {
  bool star = false;
  for (const std::string& element : canonical_list) {
    if (element == name) return true;
    if (element.starts_with('-') && std::string_view(element).substr(1) == name) return false;
    star = star || element == "*";
  }
  return star && on_by_default;
}

}  // namespace kcm::host::config
