// SPDX-License-Identifier: Apache-2.0
// The bench plugin: declares the watches and masks of every controller that a stock
// kube-controller-manager runs, and does nothing else, so that memory and start-up are measured as
// if all of them were there. Those of controllers that exist are their own.
#include "kcm/sdk/controller.h"
#include "plugin/cluster_watches.h"
#include "plugin/node_watches.h"
#include "plugin/storage_watches.h"
#include "plugins/namespace/clusterrole_aggregation/declaration.h"
#include "plugins/namespace/namespace/declaration.h"
#include "plugins/namespace/serviceaccount/declaration.h"
#include "plugins/pod/cronjob/declaration.h"
#include "plugins/pod/daemonset/declaration.h"
#include "plugins/pod/deployment/declaration.h"
#include "plugins/pod/disruption/declaration.h"
#include "plugins/pod/hpa/declaration.h"
#include "plugins/pod/job/declaration.h"
#include "plugins/pod/podgc/declaration.h"
#include "plugins/pod/replicaset/declaration.h"
#include "plugins/pod/replicationcontroller/declaration.h"
#include "plugins/pod/statefulset/declaration.h"
#include "plugins/pod/ttl_after_finished/declaration.h"

namespace kcm::bench {
namespace {

// Gets every event of its watches, as the controller it stands for would, and never writes.
class Idle {
 public:
  explicit Idle(sdk::Context&) {}
  void OnChange(const sdk::Change&) {}
  sdk::Outcome Reconcile(sdk::Run&) { return sdk::Outcome::Done(); }
};

constexpr sdk::Declaration Stand(std::string_view name, std::span<const sdk::Watch> watches) {
  return {
      .name = name, .client_name = name, .flags = KCM_CONTROLLER_ROOT_IDENTITY, .watches = watches};
}

}  // namespace

inline constexpr sdk::Declaration kDeploymentController =
    Stand("bench-deployment", pod::deployment::kWatches);
inline constexpr sdk::Declaration kReplicasetController =
    Stand("bench-replicaset", pod::replicaset::kWatches);
inline constexpr sdk::Declaration kReplicationcontrollerController =
    Stand("bench-replicationcontroller", pod::replicationcontroller::kWatches);
inline constexpr sdk::Declaration kStatefulsetController =
    Stand("bench-statefulset", pod::statefulset::kWatches);
inline constexpr sdk::Declaration kDaemonsetController =
    Stand("bench-daemonset", pod::daemonset::kWatches);
inline constexpr sdk::Declaration kJobController = Stand("bench-job", pod::job::kWatches);
inline constexpr sdk::Declaration kCronjobController =
    Stand("bench-cronjob", pod::cronjob::kWatches);
inline constexpr sdk::Declaration kTtlAfterFinishedController =
    Stand("bench-ttl-after-finished", pod::ttl_after_finished::kWatches);
inline constexpr sdk::Declaration kHorizontalPodAutoscalerController =
    Stand("bench-horizontal-pod-autoscaler", pod::hpa::kWatches);
inline constexpr sdk::Declaration kDisruptionController =
    Stand("bench-disruption", pod::disruption::kWatches);
inline constexpr sdk::Declaration kPodGarbageCollectorController =
    Stand("bench-pod-garbage-collector", pod::podgc::kWatches);
inline constexpr sdk::Declaration kNodeLifecycleController =
    Stand("bench-node-lifecycle", kNodeLifecycleWatches);
inline constexpr sdk::Declaration kTaintEvictionController =
    Stand("bench-taint-eviction", kTaintEvictionWatches);
inline constexpr sdk::Declaration kTtlController = Stand("bench-ttl", kNodeTtlWatches);
inline constexpr sdk::Declaration kNodeIpamController = Stand("bench-node-ipam", kNodeIpamWatches);
inline constexpr sdk::Declaration kStorageversionGarbageCollectorController =
    Stand("bench-storageversion-garbage-collector", kStorageVersionWatches);
inline constexpr sdk::Declaration kResourceclaimController =
    Stand("bench-resourceclaim", kResourceClaimWatches);
inline constexpr sdk::Declaration kDeviceTaintEvictionController =
    Stand("bench-device-taint-eviction", kDeviceTaintWatches);
inline constexpr sdk::Declaration kValidatingadmissionpolicyStatusController =
    Stand("bench-validatingadmissionpolicy-status", kPolicyStatusWatches);
inline constexpr sdk::Declaration kGarbageCollectorController =
    Stand("bench-garbage-collector", kGarbageWatches);
inline constexpr sdk::Declaration kPersistentvolumeBinderController =
    Stand("bench-persistentvolume-binder", kBinderWatches);
inline constexpr sdk::Declaration kPersistentvolumeAttachDetachController =
    Stand("bench-persistentvolume-attach-detach", kAttachDetachWatches);
inline constexpr sdk::Declaration kPersistentvolumeExpanderController =
    Stand("bench-persistentvolume-expander", kExpanderWatches);
inline constexpr sdk::Declaration kPersistentvolumeclaimProtectionController =
    Stand("bench-persistentvolumeclaim-protection", kClaimProtectionWatches);
inline constexpr sdk::Declaration kPersistentvolumeProtectionController =
    Stand("bench-persistentvolume-protection", kVolumeProtectionWatches);
inline constexpr sdk::Declaration kEphemeralVolumeController =
    Stand("bench-ephemeral-volume", kEphemeralWatches);
inline constexpr sdk::Declaration kVolumeattributesclassProtectionController =
    Stand("bench-volumeattributesclass-protection", kAttributesClassWatches);
inline constexpr sdk::Declaration kEndpointsController =
    Stand("bench-endpoints", kEndpointsWatches);
inline constexpr sdk::Declaration kEndpointsliceController =
    Stand("bench-endpointslice", kSliceWatches);
inline constexpr sdk::Declaration kEndpointsliceMirroringController =
    Stand("bench-endpointslice-mirroring", kMirroringWatches);
inline constexpr sdk::Declaration kServiceCidrController =
    Stand("bench-service-cidr", kServiceCidrWatches);
inline constexpr sdk::Declaration kCertificatesigningrequestSigningController =
    Stand("bench-certificatesigningrequest-signing", kCsrWatches);
inline constexpr sdk::Declaration kCertificatesigningrequestApprovingController =
    Stand("bench-certificatesigningrequest-approving", kCsrWatches);
inline constexpr sdk::Declaration kCertificatesigningrequestCleanerController =
    Stand("bench-certificatesigningrequest-cleaner", kCsrWatches);
inline constexpr sdk::Declaration kRootCaCertificatePublisherController =
    Stand("bench-root-ca-certificate-publisher", kRootCaWatches);
inline constexpr sdk::Declaration kNamespaceController =
    Stand("bench-namespace", ns::namespaces::kWatches);
inline constexpr sdk::Declaration kResourcequotaController =
    Stand("bench-resourcequota", kQuotaWatches);
inline constexpr sdk::Declaration kServiceaccountController =
    Stand("bench-serviceaccount", ns::serviceaccount::kWatches);
inline constexpr sdk::Declaration kServiceaccountTokenController =
    Stand("bench-serviceaccount-token", kAccountTokenWatches);
inline constexpr sdk::Declaration kClusterroleAggregationController =
    Stand("bench-clusterrole-aggregation", ns::clusterrole_aggregation::kWatches);
inline constexpr sdk::Declaration kLegacyServiceaccountTokenCleanerController =
    Stand("bench-legacy-serviceaccount-token-cleaner", kTokenCleanerWatches);

}  // namespace kcm::bench

KCM_PLUGIN(
    "bench", "0.1.0", "kcm-host",
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kDeploymentController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kReplicasetController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kReplicationcontrollerController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kStatefulsetController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kDaemonsetController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kJobController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kCronjobController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kTtlAfterFinishedController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kHorizontalPodAutoscalerController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kDisruptionController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kPodGarbageCollectorController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kNodeLifecycleController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kTaintEvictionController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kTtlController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kNodeIpamController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kStorageversionGarbageCollectorController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kResourceclaimController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kDeviceTaintEvictionController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kValidatingadmissionpolicyStatusController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kGarbageCollectorController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kPersistentvolumeBinderController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kPersistentvolumeAttachDetachController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kPersistentvolumeExpanderController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kPersistentvolumeclaimProtectionController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kPersistentvolumeProtectionController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kEphemeralVolumeController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kVolumeattributesclassProtectionController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kEndpointsController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kEndpointsliceController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kEndpointsliceMirroringController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kServiceCidrController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kCertificatesigningrequestSigningController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kCertificatesigningrequestApprovingController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kCertificatesigningrequestCleanerController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kRootCaCertificatePublisherController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kNamespaceController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kResourcequotaController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kServiceaccountController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kServiceaccountTokenController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kClusterroleAggregationController),
    KCM_CONTROLLER(kcm::bench::Idle, kcm::bench::kLegacyServiceaccountTokenCleanerController));
