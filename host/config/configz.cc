// SPDX-License-Identifier: Apache-2.0
// KubeControllerManagerConfiguration out of the options. Member names and order are the
// reference's.
#include "host/config/configz.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "kcm/rules/go_duration.h"

namespace kcm::host::config {
namespace {

using Json = nlohmann::ordered_json;

// Short names for what is written many times below.
class Values {
 public:
  explicit Values(const FlagSet& flags) : f_(flags) {}
  Json D(const char* name) const { return rules::FormatDuration(f_.Duration(name)); }
  Json S(const char* name) const { return f_.String(name); }
  Json B(const char* name) const { return f_.Bool(name); }
  Json I(const char* name) const { return f_.Int(name); }
  Json F(const char* name) const {
    const double value = f_.Float(name);
    if (std::nearbyint(value) == value && std::abs(value) < 1e15)
      return static_cast<int64_t>(value);  // 20, not 20.0
    return value;
  }
  // The entries of a comma separated text; "" beyond the last.
  Json Entry(const char* name, size_t index) const {
    std::string rest = f_.String(name);
    for (; index > 0; --index) {
      const size_t comma = rest.find(',');
      if (comma == rest.npos) return "";
      rest = rest.substr(comma + 1);
    }
    return rest.substr(0, rest.find(','));
  }

 private:
  const FlagSet& f_;
};

Json Generic(const Options& o, const Values& v, const LeaderMigration* migration) {
  Json moving = {{"leaderName", ""}, {"resourceLock", ""}, {"controllerLeaders", nullptr}};
  if (migration != nullptr) {
    moving = {{"leaderName", migration->leader_name}, {"resourceLock", migration->resource_lock}};
    moving["controllerLeaders"] = Json::array();
    for (const auto& [name, component] : migration->controllers) {
      moving["controllerLeaders"].push_back({{"name", name}, {"component", component}});
    }
  }
  Json g;
  g["Port"] = 0;
  g["Address"] = "0.0.0.0";
  g["MinResyncPeriod"] = v.D("min-resync-period");
  g["ClientConnection"] = {{"kubeconfig", v.S("kubeconfig")},
                           {"acceptContentTypes", ""},
                           {"contentType", v.S("kube-api-content-type")},
                           {"qps", v.F("kube-api-qps")},
                           {"burst", v.I("kube-api-burst")}};
  g["ControllerStartInterval"] = v.D("controller-start-interval");
  g["LeaderElection"] = {{"leaderElect", v.B("leader-elect")},
                         {"leaseDuration", v.D("leader-elect-lease-duration")},
                         {"renewDeadline", v.D("leader-elect-renew-deadline")},
                         {"retryPeriod", v.D("leader-elect-retry-period")},
                         {"resourceLock", v.S("leader-elect-resource-lock")},
                         {"resourceName", v.S("leader-elect-resource-name")},
                         {"resourceNamespace", v.S("leader-elect-resource-namespace")}};
  g["Controllers"] = o.controllers;
  g["Debugging"] = {{"enableProfiling", v.B("profiling")},
                    {"enableContentionProfiling", v.B("contention-profiling")}};
  g["LeaderMigrationEnabled"] = v.B("enable-leader-migration");
  g["LeaderMigration"] = std::move(moving);
  return g;
}

Json CloudShared(const Values& v) {
  return {{"CloudProvider",
           {{"Name", v.S("cloud-provider")}, {"CloudConfigFile", v.S("cloud-config")}}},
          {"ExternalCloudVolumePlugin", v.S("external-cloud-volume-plugin")},
          {"UseServiceAccountCredentials", v.B("use-service-account-credentials")},
          {"AllowUntaggedCloud", v.B("allow-untagged-cloud")},
          {"RouteReconciliationPeriod", v.D("route-reconciliation-period")},
          {"NodeMonitorPeriod", v.D("node-monitor-period")},
          {"ClusterName", v.S("cluster-name")},
          {"ClusterCIDR", v.S("cluster-cidr")},
          {"AllocateNodeCIDRs", v.B("allocate-node-cidrs")},
          {"CIDRAllocatorType", v.S("cidr-allocator-type")},
          {"ConfigureCloudRoutes", v.B("configure-cloud-routes")},
          {"NodeSyncPeriod", v.D("node-sync-period")}};
}

Json Signing(const Values& v) {
  const auto pair = [&](const char* cert, const char* key) {
    return Json{{"CertFile", v.S(cert)}, {"KeyFile", v.S(key)}};
  };
  return {{"ClusterSigningCertFile", v.S("cluster-signing-cert-file")},
          {"ClusterSigningKeyFile", v.S("cluster-signing-key-file")},
          {"KubeletServingSignerConfiguration", pair("cluster-signing-kubelet-serving-cert-file",
                                                     "cluster-signing-kubelet-serving-key-file")},
          {"KubeletClientSignerConfiguration", pair("cluster-signing-kubelet-client-cert-file",
                                                    "cluster-signing-kubelet-client-key-file")},
          {"KubeAPIServerClientSignerConfiguration",
           pair("cluster-signing-kube-apiserver-client-cert-file",
                "cluster-signing-kube-apiserver-client-key-file")},
          {"LegacyUnknownSignerConfiguration", pair("cluster-signing-legacy-unknown-cert-file",
                                                    "cluster-signing-legacy-unknown-key-file")},
          {"ClusterSigningDuration", v.D("cluster-signing-duration")}};
}

Json Autoscaling(const Values& v) {
  return {
      {"ConcurrentHorizontalPodAutoscalerSyncs", v.I("concurrent-horizontal-pod-autoscaler-syncs")},
      {"HorizontalPodAutoscalerSyncPeriod", v.D("horizontal-pod-autoscaler-sync-period")},
      {"HorizontalPodAutoscalerDownscaleStabilizationWindow",
       v.D("horizontal-pod-autoscaler-downscale-stabilization")},
      {"HorizontalPodAutoscalerTolerance", v.F("horizontal-pod-autoscaler-tolerance")},
      {"HorizontalPodAutoscalerCPUInitializationPeriod",
       v.D("horizontal-pod-autoscaler-cpu-initialization-period")},
      {"HorizontalPodAutoscalerInitialReadinessDelay",
       v.D("horizontal-pod-autoscaler-initial-readiness-delay")}};
}

Json NodeLifecycle(const Values& v) {
  return {{"NodeEvictionRate", v.F("node-eviction-rate")},
          {"SecondaryNodeEvictionRate", v.F("secondary-node-eviction-rate")},
          {"NodeStartupGracePeriod", v.D("node-startup-grace-period")},
          {"NodeMonitorGracePeriod", v.D("node-monitor-grace-period")},
          {"PodEvictionTimeout", "0s"},
          {"LargeClusterSizeThreshold", v.I("large-cluster-size-threshold")},
          {"UnhealthyZoneThreshold", v.F("unhealthy-zone-threshold")}};
}

Json VolumeBinder(const Values& v) {
  Json recycler = {
      {"MaximumRetry", 3},
      {"MinimumTimeoutNFS", v.I("pv-recycler-minimum-timeout-nfs")},
      {"PodTemplateFilePathNFS", v.S("pv-recycler-pod-template-filepath-nfs")},
      {"IncrementTimeoutNFS", v.I("pv-recycler-increment-timeout-nfs")},
      {"PodTemplateFilePathHostPath", v.S("pv-recycler-pod-template-filepath-hostpath")},
      {"MinimumTimeoutHostPath", v.I("pv-recycler-minimum-timeout-hostpath")},
      {"IncrementTimeoutHostPath", v.I("pv-recycler-timeout-increment-hostpath")}};
  return {{"PVClaimBinderSyncPeriod", v.D("pvclaimbinder-sync-period")},
          {"VolumeConfiguration",
           {{"EnableHostPathProvisioning", v.B("enable-hostpath-provisioner")},
            {"EnableDynamicProvisioning", v.B("enable-dynamic-provisioning")},
            {"PersistentVolumeRecyclerConfiguration", std::move(recycler)},
            {"FlexVolumePluginDir", v.S("flex-volume-plugin-dir")}}}};
}

void AddPodControllers(const Values& v, Json* c) {
  (*c)["DaemonSetController"] = {{"ConcurrentDaemonSetSyncs", v.I("concurrent-daemonset-syncs")}};
  (*c)["DeploymentController"] = {
      {"ConcurrentDeploymentSyncs", v.I("concurrent-deployment-syncs")}};
  (*c)["StatefulSetController"] = {
      {"ConcurrentStatefulSetSyncs", v.I("concurrent-statefulset-syncs")}};
  (*c)["DeprecatedController"] = Json::object();
  (*c)["EndpointController"] = {
      {"ConcurrentEndpointSyncs", v.I("concurrent-endpoint-syncs")},
      {"EndpointUpdatesBatchPeriod", v.D("endpoint-updates-batch-period")}};
  (*c)["EndpointSliceController"] = {
      {"ConcurrentServiceEndpointSyncs", v.I("concurrent-service-endpoint-syncs")},
      {"MaxEndpointsPerSlice", v.I("max-endpoints-per-slice")},
      {"EndpointUpdatesBatchPeriod", v.D("endpointslice-updates-batch-period")}};
  (*c)["EndpointSliceMirroringController"] = {
      {"MirroringConcurrentServiceEndpointSyncs",
       v.I("mirroring-concurrent-service-endpoint-syncs")},
      {"MirroringMaxEndpointsPerSubset", v.I("mirroring-max-endpoints-per-subset")},
      {"MirroringEndpointUpdatesBatchPeriod", v.D("mirroring-endpointslice-updates-batch-period")}};
  (*c)["EphemeralVolumeController"] = {
      {"ConcurrentEphemeralVolumeSyncs", v.I("concurrent-ephemeralvolume-syncs")}};
  const Json ignored = Json::array({{{"Group", ""}, {"Resource", "events"}},
                                    {{"Group", "events.k8s.io"}, {"Resource", "events"}}});
  (*c)["GarbageCollectorController"] = {{"EnableGarbageCollector", v.B("enable-garbage-collector")},
                                        {"ConcurrentGCSyncs", v.I("concurrent-gc-syncs")},
                                        {"GCIgnoredResources", ignored}};
  (*c)["HPAController"] = Autoscaling(v);
  (*c)["JobController"] = {{"ConcurrentJobSyncs", v.I("concurrent-job-syncs")}};
  (*c)["CronJobController"] = {{"ConcurrentCronJobSyncs", v.I("concurrent-cron-job-syncs")}};
}

void AddClusterControllers(const Values& v, Json* c) {
  (*c)["LegacySATokenCleaner"] = {
      {"CleanUpPeriod", v.D("legacy-service-account-token-clean-up-period")}};
  (*c)["NamespaceController"] = {{"NamespaceSyncPeriod", v.D("namespace-sync-period")},
                                 {"ConcurrentNamespaceSyncs", v.I("concurrent-namespace-syncs")}};
  (*c)["NodeIPAMController"] = {{"ServiceCIDR", v.Entry("service-cluster-ip-range", 0)},
                                {"SecondaryServiceCIDR", v.Entry("service-cluster-ip-range", 1)},
                                {"NodeCIDRMaskSize", v.I("node-cidr-mask-size")},
                                {"NodeCIDRMaskSizeIPv4", v.I("node-cidr-mask-size-ipv4")},
                                {"NodeCIDRMaskSizeIPv6", v.I("node-cidr-mask-size-ipv6")}};
  (*c)["NodeLifecycleController"] = NodeLifecycle(v);
  (*c)["PersistentVolumeBinderController"] = VolumeBinder(v);
  (*c)["PodGCController"] = {{"TerminatedPodGCThreshold", v.I("terminated-pod-gc-threshold")}};
  (*c)["ReplicaSetController"] = {{"ConcurrentRSSyncs", v.I("concurrent-replicaset-syncs")}};
  (*c)["ReplicationController"] = {{"ConcurrentRCSyncs", v.I("concurrent-rc-syncs")}};
  (*c)["ResourceQuotaController"] = {
      {"ResourceQuotaSyncPeriod", v.D("resource-quota-sync-period")},
      {"ConcurrentResourceQuotaSyncs", v.I("concurrent-resource-quota-syncs")}};
  (*c)["SAController"] = {{"ServiceAccountKeyFile", v.S("service-account-private-key-file")},
                          {"ConcurrentSATokenSyncs", v.I("concurrent-serviceaccount-token-syncs")},
                          {"RootCAFile", v.S("root-ca-file")}};
  (*c)["ServiceController"] = {{"ConcurrentServiceSyncs", v.I("concurrent-service-syncs")}};
  (*c)["TTLAfterFinishedController"] = {
      {"ConcurrentTTLSyncs", v.I("concurrent-ttl-after-finished-syncs")}};
  (*c)["ValidatingAdmissionPolicyStatusController"] = {
      {"ConcurrentPolicySyncs", v.I("concurrent-validating-admission-policy-status-syncs")}};
  (*c)["DeviceTaintEvictionController"] = {
      {"ConcurrentSyncs", v.I("concurrent-device-taint-eviction-syncs")}};
  (*c)["ResourceClaimController"] = {{"ConcurrentSyncs", v.I("concurrent-resourceclaim-syncs")}};
}

}  // namespace

std::string ConfigzJson(const Options& o, const LeaderMigration* migration) {
  const Values v(o.flags);
  Json c;
  c["kind"] = "KubeControllerManagerConfiguration";
  c["apiVersion"] = "kubecontrollermanager.config.k8s.io/v1alpha1";
  c["Generic"] = Generic(o, v, migration);
  c["KubeCloudShared"] = CloudShared(v);
  c["AttachDetachController"] = {
      {"DisableAttachDetachReconcilerSync", v.B("disable-attach-detach-reconcile-sync")},
      {"ReconcilerSyncLoopPeriod", v.D("attach-detach-reconcile-sync-period")},
      {"disableForceDetachOnTimeout", v.B("disable-force-detach-on-timeout")}};
  c["CSRSigningController"] = Signing(v);
  AddPodControllers(v, &c);
  AddClusterControllers(v, &c);
  Json root;
  root["kubecontrollermanager.config.k8s.io"] = std::move(c);
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::pair<std::string, std::string>> FlagValues(const FlagSet& flags) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Flag* flag : flags.All()) {
    out.emplace_back(flag->declaration.name, FormatFlagValue(flag->declaration.type, flag->value));
  }
  return out;
}

}  // namespace kcm::host::config
