// SPDX-License-Identifier: Apache-2.0
// Stock roles and bindings, from the published behaviour of a fresh cluster (spec M).
#include "devcluster/kinds/seed_roles.h"

#include <array>

namespace kcm::devcluster::kinds {

namespace {

// clang-format off
constexpr auto kStockRoles = std::to_array<StockRole>({
    {"", "cluster-admin", R"([
        {"apiGroups":["*"],"resources":["*"],"verbs":["*"]},
        {"nonResourceURLs":["*"],"verbs":["*"]}
    ])", "", ""},
    {"", "system:discovery", R"([
        {"nonResourceURLs":["/.well-known","/.well-known/*"],"verbs":["get"]},
        {"nonResourceURLs":["/api","/api/*","/apis","/apis/*","/healthz","/livez","/openapi","/openapi/*","/readyz","/version","/version/"],"verbs":["get"]}
    ])", "", ""},
    {"", "system:basic-user", R"([
        {"apiGroups":["authorization.k8s.io"],"resources":["selfsubjectaccessreviews","selfsubjectrulesreviews"],"verbs":["create"]},
        {"apiGroups":["authentication.k8s.io"],"resources":["selfsubjectreviews"],"verbs":["create"]}
    ])", "", ""},
    {"", "system:public-info-viewer", R"([
        {"nonResourceURLs":["/healthz","/livez","/readyz","/version","/version/"],"verbs":["get"]}
    ])", "", ""},
    {"", "system:service-account-issuer-discovery", R"([
        {"nonResourceURLs":["/.well-known/openid-configuration","/.well-known/openid-configuration/","/openid/v1/jwks","/openid/v1/jwks/"],"verbs":["get"]}
    ])", "", ""},
    {"", "system:monitoring", R"([
        {"nonResourceURLs":["/healthz","/healthz/*","/livez","/livez/*","/metrics","/metrics/slis","/readyz","/readyz/*"],"verbs":["get"]}
    ])", "", ""},
    {"", "system:auth-delegator", R"([
        {"apiGroups":["authentication.k8s.io"],"resources":["tokenreviews"],"verbs":["create"]},
        {"apiGroups":["authorization.k8s.io"],"resources":["subjectaccessreviews"],"verbs":["create"]}
    ])", "", ""},
    {"", "system:kubelet-api-admin", R"([
        {"apiGroups":[""],"resources":["nodes"],"verbs":["get","list","watch"]},
        {"apiGroups":[""],"resources":["nodes"],"verbs":["proxy"]},
        {"apiGroups":[""],"resources":["nodes/configz","nodes/healthz","nodes/log","nodes/metrics","nodes/pods","nodes/proxy","nodes/stats"],"verbs":["*"]}
    ])", "", ""},
    {"", "system:node-bootstrapper", R"([
        {"apiGroups":["certificates.k8s.io"],"resources":["certificatesigningrequests"],"verbs":["create","get","list","watch"]}
    ])", "", ""},
    {"", "system:certificates.k8s.io:certificatesigningrequests:nodeclient", R"([
        {"apiGroups":["certificates.k8s.io"],"resources":["certificatesigningrequests/nodeclient"],"verbs":["create"]}
    ])", "", ""},
    {"", "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", R"([
        {"apiGroups":["certificates.k8s.io"],"resources":["certificatesigningrequests/selfnodeclient"],"verbs":["create"]}
    ])", "", ""},
    {"", "system:certificates.k8s.io:kube-apiserver-client-approver", R"([
        {"apiGroups":["certificates.k8s.io"],"resourceNames":["kubernetes.io/kube-apiserver-client"],"resources":["signers"],"verbs":["approve"]}
    ])", "", ""},
    {"", "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver", R"([
        {"apiGroups":["certificates.k8s.io"],"resourceNames":["kubernetes.io/kube-apiserver-client-kubelet"],"resources":["signers"],"verbs":["approve"]}
    ])", "", ""},
    {"", "system:certificates.k8s.io:kubelet-serving-approver", R"([
        {"apiGroups":["certificates.k8s.io"],"resourceNames":["kubernetes.io/kubelet-serving"],"resources":["signers"],"verbs":["approve"]}
    ])", "", ""},
    {"", "system:certificates.k8s.io:legacy-unknown-approver", R"([
        {"apiGroups":["certificates.k8s.io"],"resourceNames":["kubernetes.io/legacy-unknown"],"resources":["signers"],"verbs":["approve"]}
    ])", "", ""},
    {"", "system:persistent-volume-provisioner", R"([
        {"apiGroups":[""],"resources":["persistentvolumes"],"verbs":["create","delete","get","list","watch"]},
        {"apiGroups":[""],"resources":["persistentvolumeclaims"],"verbs":["get","list","update","watch"]},
        {"apiGroups":["storage.k8s.io"],"resources":["storageclasses"],"verbs":["get","list","watch"]},
        {"apiGroups":[""],"resources":["events"],"verbs":["watch"]},
        {"apiGroups":["","events.k8s.io"],"resources":["events"],"verbs":["create","patch","update"]}
    ])", "", ""},
    {"", "system:volume-scheduler", R"([
        {"apiGroups":[""],"resources":["persistentvolumes"],"verbs":["get","list","patch","update","watch"]},
        {"apiGroups":["storage.k8s.io"],"resources":["storageclasses"],"verbs":["get","list","watch"]},
        {"apiGroups":[""],"resources":["persistentvolumeclaims"],"verbs":["get","list","patch","update","watch"]}
    ])", "", ""},
    {"", "system:node-proxier", R"([
        {"apiGroups":[""],"resources":["services","endpoints"],"verbs":["list","watch"]},
        {"apiGroups":[""],"resources":["nodes"],"verbs":["get","list","watch"]},
        {"apiGroups":["","events.k8s.io"],"resources":["events"],"verbs":["create","patch","update"]},
        {"apiGroups":["discovery.k8s.io"],"resources":["endpointslices"],"verbs":["list","watch"]},
        {"apiGroups":["networking.k8s.io"],"resources":["servicecidrs"],"verbs":["list","watch"]}
    ])", "", ""},
    {"", "system:kube-scheduler", R"([
        {"apiGroups":["","events.k8s.io"],"resources":["events"],"verbs":["create","patch","update"]},
        {"apiGroups":["coordination.k8s.io"],"resources":["leases"],"verbs":["create"]},
        {"apiGroups":["coordination.k8s.io"],"resourceNames":["kube-scheduler"],"resources":["leases"],"verbs":["get","update"]},
        {"apiGroups":["coordination.k8s.io"],"resources":["leasecandidates"],"verbs":["create","delete","deletecollection","get","list","patch","update","watch"]},
        {"apiGroups":[""],"resources":["nodes"],"verbs":["get","list","watch"]},
        {"apiGroups":[""],"resources":["pods"],"verbs":["delete","get","list","watch"]},
        {"apiGroups":[""],"resources":["bindings","pods/binding"],"verbs":["create"]},
        {"apiGroups":[""],"resources":["pods/status"],"verbs":["patch","update"]},
        {"apiGroups":[""],"resources":["replicationcontrollers","services"],"verbs":["get","list","watch"]},
        {"apiGroups":["apps"],"resources":["replicasets","statefulsets"],"verbs":["get","list","watch"]},
        {"apiGroups":["policy"],"resources":["poddisruptionbudgets"],"verbs":["get","list","watch"]},
        {"apiGroups":[""],"resources":["persistentvolumeclaims","persistentvolumes"],"verbs":["get","list","watch"]},
        {"apiGroups":["authentication.k8s.io"],"resources":["tokenreviews"],"verbs":["create"]},
        {"apiGroups":["authorization.k8s.io"],"resources":["subjectaccessreviews"],"verbs":["create"]},
        {"apiGroups":["storage.k8s.io"],"resources":["csinodes","csidrivers","csistoragecapacities","storageclasses","volumeattachments"],"verbs":["get","list","watch"]},
        {"apiGroups":[""],"resources":["namespaces"],"verbs":["get","list","watch"]},
        {"apiGroups":["resource.k8s.io"],"resources":["deviceclasses","resourceclaims","resourceslices"],"verbs":["get","list","watch"]},
        {"apiGroups":["resource.k8s.io"],"resources":["resourceclaims","resourceclaims/status","resourceclaims/binding"],"verbs":["get","list","patch","update","watch"]}
    ])", "", ""},
    {"", "system:node", R"([
        {"apiGroups":["authentication.k8s.io"],"resources":["tokenreviews"],"verbs":["create"]},
        {"apiGroups":["authorization.k8s.io"],"resources":["localsubjectaccessreviews","subjectaccessreviews"],"verbs":["create"]},
        {"apiGroups":[""],"resources":["services"],"verbs":["get","list","watch"]},
        {"apiGroups":[""],"resources":["nodes"],"verbs":["create","get","list","watch"]},
        {"apiGroups":[""],"resources":["nodes/status"],"verbs":["patch","update"]},
        {"apiGroups":[""],"resources":["nodes"],"verbs":["patch","update"]},
        {"apiGroups":["","events.k8s.io"],"resources":["events"],"verbs":["create","patch","update"]},
        {"apiGroups":[""],"resources":["pods"],"verbs":["get","list","watch","create","delete"]},
        {"apiGroups":[""],"resources":["pods/status"],"verbs":["patch","update"]},
        {"apiGroups":[""],"resources":["pods/eviction"],"verbs":["create"]},
        {"apiGroups":[""],"resources":["configmaps","secrets"],"verbs":["get","list","watch"]},
        {"apiGroups":[""],"resources":["persistentvolumeclaims","persistentvolumes"],"verbs":["get"]},
        {"apiGroups":[""],"resources":["persistentvolumeclaims/status"],"verbs":["get","patch","update"]},
        {"apiGroups":[""],"resources":["endpoints"],"verbs":["get"]},
        {"apiGroups":["certificates.k8s.io"],"resources":["certificatesigningrequests"],"verbs":["create","get","list","watch"]},
        {"apiGroups":["coordination.k8s.io"],"resources":["leases"],"verbs":["create","delete","get","patch","update"]},
        {"apiGroups":["storage.k8s.io"],"resources":["volumeattachments"],"verbs":["get"]},
        {"apiGroups":[""],"resources":["serviceaccounts/token"],"verbs":["create"]},
        {"apiGroups":[""],"resources":["serviceaccounts"],"verbs":["get"]},
        {"apiGroups":["storage.k8s.io"],"resources":["csidrivers"],"verbs":["get","list","watch"]},
        {"apiGroups":["storage.k8s.io"],"resources":["csinodes"],"verbs":["create","delete","get","patch","update"]},
        {"apiGroups":["node.k8s.io"],"resources":["runtimeclasses"],"verbs":["get","list","watch"]},
        {"apiGroups":["resource.k8s.io"],"resources":["resourceclaims"],"verbs":["get"]},
        {"apiGroups":["resource.k8s.io"],"resources":["resourceslices"],"verbs":["create","delete","deletecollection","get","list","patch","update","watch"]}
    ])", "", ""},
    {"", "admin", R"([
    ])", "", "aggregate-to-admin"},
    {"", "edit", R"([
    ])", R"({"rbac.authorization.k8s.io/aggregate-to-admin":"true"})", "aggregate-to-edit"},
    {"", "view", R"([
    ])", R"({"rbac.authorization.k8s.io/aggregate-to-edit":"true"})", "aggregate-to-view"},
    {"", "system:aggregate-to-admin", R"([
        {"apiGroups":["authorization.k8s.io"],"resources":["localsubjectaccessreviews"],"verbs":["create"]},
        {"apiGroups":["rbac.authorization.k8s.io"],"resources":["rolebindings","roles"],"verbs":["create","delete","deletecollection","get","list","patch","update","watch"]}
    ])", R"({"rbac.authorization.k8s.io/aggregate-to-admin":"true"})", ""},
    {"", "system:aggregate-to-edit", R"([
        {"apiGroups":[""],"resources":["pods/attach","pods/exec","pods/portforward","pods/proxy","secrets","services/proxy"],"verbs":["get","list","watch"]},
        {"apiGroups":[""],"resources":["serviceaccounts"],"verbs":["impersonate"]},
        {"apiGroups":[""],"resources":["pods","pods/attach","pods/exec","pods/portforward","pods/proxy"],"verbs":["create","delete","deletecollection","patch","update"]},
        {"apiGroups":[""],"resources":["pods/eviction"],"verbs":["create"]},
        {"apiGroups":[""],"resources":["configmaps","events","persistentvolumeclaims","replicationcontrollers","replicationcontrollers/scale","secrets","serviceaccounts","services","services/proxy"],"verbs":["create","delete","deletecollection","patch","update"]},
        {"apiGroups":[""],"resources":["serviceaccounts/token"],"verbs":["create"]},
        {"apiGroups":["apps"],"resources":["daemonsets","deployments","deployments/rollback","deployments/scale","replicasets","replicasets/scale","statefulsets","statefulsets/scale"],"verbs":["create","delete","deletecollection","patch","update"]},
        {"apiGroups":["autoscaling"],"resources":["horizontalpodautoscalers"],"verbs":["create","delete","deletecollection","patch","update"]},
        {"apiGroups":["batch"],"resources":["cronjobs","jobs"],"verbs":["create","delete","deletecollection","patch","update"]},
        {"apiGroups":["networking.k8s.io"],"resources":["ingresses","networkpolicies"],"verbs":["create","delete","deletecollection","patch","update"]},
        {"apiGroups":["policy"],"resources":["poddisruptionbudgets"],"verbs":["create","delete","deletecollection","patch","update"]},
        {"apiGroups":["coordination.k8s.io"],"resources":["leases"],"verbs":["create","delete","deletecollection","get","list","patch","update","watch"]},
        {"apiGroups":["resource.k8s.io"],"resources":["resourceclaims","resourceclaimtemplates"],"verbs":["create","delete","deletecollection","patch","update"]}
    ])", R"({"rbac.authorization.k8s.io/aggregate-to-edit":"true"})", ""},
    {"", "system:aggregate-to-view", R"([
        {"apiGroups":[""],"resources":["configmaps","endpoints","persistentvolumeclaims","persistentvolumeclaims/status","pods","replicationcontrollers","replicationcontrollers/scale","serviceaccounts","services","services/status"],"verbs":["get","list","watch"]},
        {"apiGroups":[""],"resources":["bindings","events","limitranges","namespaces/status","pods/log","pods/status","replicationcontrollers/status","resourcequotas","resourcequotas/status"],"verbs":["get","list","watch"]},
        {"apiGroups":[""],"resources":["namespaces"],"verbs":["get","list","watch"]},
        {"apiGroups":["discovery.k8s.io"],"resources":["endpointslices"],"verbs":["get","list","watch"]},
        {"apiGroups":["apps"],"resources":["controllerrevisions","daemonsets","daemonsets/status","deployments","deployments/scale","deployments/status","replicasets","replicasets/scale","replicasets/status","statefulsets","statefulsets/scale","statefulsets/status"],"verbs":["get","list","watch"]},
        {"apiGroups":["autoscaling"],"resources":["horizontalpodautoscalers","horizontalpodautoscalers/status"],"verbs":["get","list","watch"]},
        {"apiGroups":["batch"],"resources":["cronjobs","cronjobs/status","jobs","jobs/status"],"verbs":["get","list","watch"]},
        {"apiGroups":["networking.k8s.io"],"resources":["ingresses","ingresses/status","networkpolicies"],"verbs":["get","list","watch"]},
        {"apiGroups":["policy"],"resources":["poddisruptionbudgets","poddisruptionbudgets/status"],"verbs":["get","list","watch"]},
        {"apiGroups":["resource.k8s.io"],"resources":["resourceclaims","resourceclaims/status","resourceclaimtemplates"],"verbs":["get","list","watch"]}
    ])", R"({"rbac.authorization.k8s.io/aggregate-to-view":"true"})", ""},
    {"kube-system", "extension-apiserver-authentication-reader", R"([
        {"apiGroups":[""],"resourceNames":["extension-apiserver-authentication"],"resources":["configmaps"],"verbs":["get","list","watch"]}
    ])", "", ""},
    {"kube-system", "system:controller:bootstrap-signer", R"([
        {"apiGroups":[""],"resources":["secrets"],"verbs":["get","list","watch"]}
    ])", "", ""},
    {"kube-system", "system:controller:cloud-provider", R"([
        {"apiGroups":[""],"resources":["configmaps"],"verbs":["create","get","list","watch"]}
    ])", "", ""},
    {"kube-system", "system:controller:token-cleaner", R"([
        {"apiGroups":[""],"resources":["secrets"],"verbs":["delete","get","list","watch"]},
        {"apiGroups":["","events.k8s.io"],"resources":["events"],"verbs":["create","patch","update"]}
    ])", "", ""},
    {"kube-system", "system::leader-locking-kube-controller-manager", R"([
        {"apiGroups":[""],"resources":["configmaps"],"verbs":["watch"]},
        {"apiGroups":[""],"resourceNames":["kube-controller-manager"],"resources":["configmaps"],"verbs":["get","update"]}
    ])", "", ""},
    {"kube-system", "system::leader-locking-kube-scheduler", R"([
        {"apiGroups":[""],"resources":["configmaps"],"verbs":["watch"]},
        {"apiGroups":[""],"resourceNames":["kube-scheduler"],"resources":["configmaps"],"verbs":["get","update"]}
    ])", "", ""},
    {"kube-public", "system:controller:bootstrap-signer", R"([
        {"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list","watch"]},
        {"apiGroups":[""],"resourceNames":["cluster-info"],"resources":["configmaps"],"verbs":["get","update"]},
        {"apiGroups":["","events.k8s.io"],"resources":["events"],"verbs":["create","patch","update"]}
    ])", "", ""},
});

constexpr auto kBindings = std::to_array<StockBinding>({
    {"", "cluster-admin", "ClusterRole", "cluster-admin", "Group:system:masters"},
    {"", "system:monitoring", "ClusterRole", "system:monitoring", "Group:system:monitoring"},
    {"", "system:discovery", "ClusterRole", "system:discovery", "Group:system:authenticated"},
    {"", "system:basic-user", "ClusterRole", "system:basic-user", "Group:system:authenticated"},
    {"", "system:public-info-viewer", "ClusterRole", "system:public-info-viewer", "Group:system:authenticated Group:system:unauthenticated"},
    {"", "system:service-account-issuer-discovery", "ClusterRole", "system:service-account-issuer-discovery", "Group:system:serviceaccounts"},
    {"", "system:node-proxier", "ClusterRole", "system:node-proxier", "User:system:kube-proxy"},
    {"", "system:kube-controller-manager", "ClusterRole", "system:kube-controller-manager", "User:system:kube-controller-manager"},
    {"", "system:kube-scheduler", "ClusterRole", "system:kube-scheduler", "User:system:kube-scheduler"},
    {"", "system:volume-scheduler", "ClusterRole", "system:volume-scheduler", "User:system:kube-scheduler"},
    {"", "system:node", "ClusterRole", "system:node", "Group:system:nodes"},
    {"kube-system", "system::extension-apiserver-authentication-reader", "Role", "extension-apiserver-authentication-reader", "User:system:kube-controller-manager User:system:kube-scheduler"},
    {"kube-system", "system::leader-locking-kube-controller-manager", "Role", "system::leader-locking-kube-controller-manager", "User:system:kube-controller-manager ServiceAccount:kube-system/kube-controller-manager"},
    {"kube-system", "system::leader-locking-kube-scheduler", "Role", "system::leader-locking-kube-scheduler", "User:system:kube-scheduler ServiceAccount:kube-system/kube-scheduler"},
    {"kube-system", "system:controller:bootstrap-signer", "Role", "system:controller:bootstrap-signer", "ServiceAccount:kube-system/bootstrap-signer"},
    {"kube-system", "system:controller:cloud-provider", "Role", "system:controller:cloud-provider", "ServiceAccount:kube-system/cloud-provider"},
    {"kube-system", "system:controller:token-cleaner", "Role", "system:controller:token-cleaner", "ServiceAccount:kube-system/token-cleaner"},
    {"kube-public", "system:controller:bootstrap-signer", "Role", "system:controller:bootstrap-signer", "ServiceAccount:kube-system/bootstrap-signer"},
});
// clang-format on

}  // namespace

std::span<const StockRole> StockRoles() { return kStockRoles; }
std::span<const StockBinding> StockBindings() { return kBindings; }

}  // namespace kcm::devcluster::kinds
