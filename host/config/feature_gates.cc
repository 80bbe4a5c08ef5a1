// SPDX-License-Identifier: Apache-2.0
// Gate table and evaluation.
#include "host/config/feature_gates.h"

#include <algorithm>
#include <cstdlib>

#include "host/config/go_syntax.h"

namespace kcm::host::config {
namespace {

struct GateRow {
  std::string_view name, history, depends_on;
};
constexpr GateRow kGateTable[] = {
#include "host/config/feature_gate_table.inc"
};

// Gone before 1.36 but legal at some release from 1.28 on. They mean nothing here.
constexpr std::string_view kRetired[] = {"APIListChunking",
                                         "APIPriorityAndFairness",
                                         "APISelfSubjectReview",
                                         "AdmissionWebhookMatchConditions",
                                         "AdvancedAuditing",
                                         "AggregatedDiscoveryEndpoint",
                                         "AppArmor",
                                         "AppArmorFields",
                                         "CSIMigrationAzureFile",
                                         "CSIMigrationRBD",
                                         "CSIMigrationvSphere",
                                         "CSINodeExpandSecret",
                                         "CloudDualStackNodeIPs",
                                         "ConsistentHTTPGetHandlers",
                                         "CPUManager",
                                         "CronJobTimeZone",
                                         "CustomResourceValidationExpressions",
                                         "DRAControlPlaneController",
                                         "DefaultHostNetworkHostPortsInPodTemplates",
                                         "DisableCloudProviders",
                                         "DisableKubeletCloudCredentialProviders",
                                         "DownwardAPIHugePages",
                                         "EfficientWatchResumption",
                                         "ElasticIndexedJob",
                                         "ExpandedDNSConfig",
                                         "ExperimentalHostUserNamespaceDefaulting",
                                         "GRPCContainerProbe",
                                         "InTreePluginAWSUnregister",
                                         "InTreePluginAzureDiskUnregister",
                                         "InTreePluginAzureFileUnregister",
                                         "InTreePluginGCEUnregister",
                                         "InTreePluginOpenStackUnregister",
                                         "InTreePluginRBDUnregister",
                                         "InTreePluginvSphereUnregister",
                                         "IPTablesOwnershipCleanup",
                                         "JobMutableNodeSchedulingDirectives",
                                         "JobPodFailurePolicy",
                                         "JobReadyPods",
                                         "JobTrackingWithFinalizers",
                                         "KMSv2",
                                         "KMSv2KDF",
                                         "KubeProxyDrainingTerminatingNodes",
                                         "KubeletPodResources",
                                         "KubeletPodResourcesGetAllocatable",
                                         "LegacyServiceAccountTokenNoAutoGeneration",
                                         "LegacyServiceAccountTokenTracking",
                                         "LoadBalancerIPMode",
                                         "MinDomainsInPodTopologySpread",
                                         "MinimizeIPTablesRestore",
                                         "MultiCIDRRangeAllocator",
                                         "NewVolumeManagerReconstruction",
                                         "NodeOutOfServiceVolumeDetach",
                                         "OpenAPIV3",
                                         "PDBUnhealthyPodEvictionPolicy",
                                         "PersistentVolumeLastPhaseTransitionTime",
                                         "PodDisruptionConditions",
                                         "PodHasNetworkCondition",
                                         "PodHostIPs",
                                         "PodIndexLabel",
                                         "ProbeTerminationGracePeriod",
                                         "ProxyTerminatingEndpoints",
                                         "ReadWriteOncePod",
                                         "RemainingItemCount",
                                         "RemoveSelfLink",
                                         "RetroactiveDefaultStorageClass",
                                         "SeccompDefault",
                                         "SecurityContextDeny",
                                         "ServerSideApply",
                                         "ServerSideFieldValidation",
                                         "ServiceNodePortStaticSubrange",
                                         "SkipReadOnlyValidationGCE",
                                         "StableLoadBalancerNodeSet",
                                         "StatefulSetAutoDeletePVC",
                                         "StatefulSetStartOrdinal",
                                         "TopologyManager",
                                         "UserNamespacesPodSecurityStandards",
                                         "UserNamespacesStatelessPodsSupport",
                                         "WatchBookmark",
                                         "WindowsHostProcessContainers",
                                         "ZeroLimitedNominalConcurrencyShares"};

Stage StageOf(char c) {
  switch (c) {
    case 'a':
      return Stage::kAlpha;
    case 'b':
      return Stage::kBeta;
    case 'g':
      return Stage::kGa;
    default:
      return Stage::kDeprecated;
  }
}

// The last entry of "26a- 32b- 35g+!" that is not newer than `minor`.
Gate At(std::string_view history, int minor) {
  Gate gate;
  while (!history.empty()) {
    const std::string entry(history.substr(0, history.find(' ')));
    history.remove_prefix(std::min(entry.size() + 1, history.size()));
    const size_t stage = entry.find_first_not_of("0123456789");
    if (std::atoi(entry.c_str()) > minor) break;
    gate.stage = StageOf(entry[stage]);
    gate.enabled = gate.default_on = entry[stage + 1] == '+';
    gate.locked = entry.ends_with('!');
  }
  return gate;
}

const char* Word(bool value) { return value ? "true" : "false"; }

struct Setting {
  std::string name;
  bool value = false;
};

// Reads the list as written: prefixes, boolean words. Later entries win.
std::vector<Setting> Read(const std::vector<std::pair<std::string, std::string>>& settings,
                          std::vector<std::string>* errors) {
  std::vector<Setting> out;
  bool prefixed = false;
  bool plain = false;
  for (const auto& [key, text] : settings) {
    const size_t colon = key.find(':');
    const std::string component = colon == std::string::npos ? "" : key.substr(0, colon);
    const std::string name = colon == std::string::npos ? key : key.substr(colon + 1);
    if (!component.empty() && component != "kube") {
      errors->push_back("component not registered: " + component);
      continue;
    }
    (component.empty() ? plain : prefixed) = true;
    if (text == "\x01") {
      errors->push_back("missing bool value for " + name);
      continue;
    }
    const Result<bool> value = ParseGoBool(text);
    if (!value.ok()) {
      errors->push_back("invalid value of " + name + "=" + text +
                        ", err: " + value.error().message);
      continue;
    }
    out.push_back({name, *value});
  }
  if (prefixed && plain) {
    errors->push_back(
        "--feature-gates mixes entries with and without the component prefix \"kube:\": use one "
        "form");
  }
  return out;
}

bool IsStage(std::string_view name) { return name == "AllAlpha" || name == "AllBeta"; }

void Apply(const Setting& s, Minor emulated, Gate* gate, std::vector<std::string>* errors,
           std::vector<std::string>* warnings) {
  const std::string cannot =
      "cannot set feature gate " + s.name + " to " + Word(s.value) + ", feature is ";
  if (gate->stage == Stage::kPreAlpha) {
    errors->push_back(cannot + "PreAlpha at emulated version " + emulated.Text());
  } else if (gate->locked && gate->default_on != s.value) {
    errors->push_back(cannot + "locked to " + Word(gate->default_on));
  } else {
    if (gate->stage == Stage::kGa || gate->stage == Stage::kDeprecated) {
      warnings->push_back(std::string("Setting ") +
                          (gate->stage == Stage::kGa ? "GA" : "deprecated") + " feature gate " +
                          s.name + "=" + Word(s.value) +
                          ". It will be removed in a future release.");
    }
    gate->enabled = s.value;
  }
}

// Those of the blank separated `names` that are off.
std::string Disabled(const FeatureGates& gates, std::string_view names) {
  std::string off;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(' '));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    if (!gates.Enabled(name)) off += (off.empty() ? "" : " ") + std::string(name);
  }
  return off;
}

}  // namespace

std::string_view StageLabel(Stage stage) {
  switch (stage) {
    case Stage::kAlpha:
      return "ALPHA";
    case Stage::kBeta:
      return "BETA";
    case Stage::kDeprecated:
      return "DEPRECATED";
    default:
      return "";
  }
}

FeatureGates FeatureGates::Evaluate(
    const std::vector<std::pair<std::string, std::string>>& settings, Minor emulated,
    std::vector<std::string>* errors, std::vector<std::string>* warnings) {
  FeatureGates all;
  for (const GateRow& row : kGateTable)
    all.gates_.emplace(row.name, At(row.history, emulated.minor));
  const std::vector<Setting> read = Read(settings, errors);
  // Whole stages first: explicit settings win whatever the order.
  for (const Setting& s : read) {
    if (!IsStage(s.name)) continue;
    const Stage stage = s.name == "AllAlpha" ? Stage::kAlpha : Stage::kBeta;
    for (auto& [name, gate] : all.gates_) {
      if (gate.stage == stage && !gate.locked) gate.enabled = s.value;
    }
  }
  for (const Setting& s : read) {
    if (IsStage(s.name)) continue;
    if (const auto it = all.gates_.find(s.name); it != all.gates_.end()) {
      Apply(s, emulated, &it->second, errors, warnings);
    } else if (std::find(std::begin(kRetired), std::end(kRetired), s.name) != std::end(kRetired)) {
      warnings->push_back("Setting retired feature gate " + s.name + "=" + Word(s.value) +
                          ". It has no effect.");
    } else {
      errors->push_back("unrecognized feature gate: " + s.name);
    }
  }
  for (const GateRow& row : kGateTable) {
    const std::string off = all.Enabled(row.name) ? Disabled(all, row.depends_on) : "";
    if (off.empty()) continue;
    errors->push_back(std::string(row.name) +
                      " is enabled, but depends on features that are disabled: [" + off + "]");
  }
  return all;
}

bool FeatureGates::Enabled(std::string_view name) const {
  const auto it = gates_.find(name);
  return it != gates_.end() && it->second.enabled;
}

bool FeatureGates::Known(std::string_view name) const { return gates_.contains(name); }

std::vector<std::pair<std::string, Gate>> FeatureGates::All() const {
  std::vector<std::pair<std::string, Gate>> out;
  for (const auto& [name, gate] : gates_) {
    if (gate.stage != Stage::kPreAlpha) out.emplace_back(name, gate);
  }
  return out;
}

std::vector<std::pair<std::string, bool>> FeatureGates::Changed() const {
  std::vector<std::pair<std::string, bool>> out;
  for (const auto& [name, gate] : gates_) {
    if (gate.enabled != gate.default_on) out.emplace_back(name, gate.enabled);
  }
  return out;
}

}  // namespace kcm::host::config
