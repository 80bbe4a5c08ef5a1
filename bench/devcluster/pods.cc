// SPDX-License-Identifier: Apache-2.0
// Objects of the benchmark (pods.h). Text with a few places filled in: making them must not cost
// the measuring side anything.
#include "pods.h"

#include <string_view>

namespace kcm::bench {
namespace {

constexpr std::string_view kContainer =
    R"({"name":"@N","image":"registry.example.com/payments/@A/@N:4.12.0","imagePullPolicy":"IfNotPresent",
"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"},{"name":"metrics","containerPort":9090,"protocol":"TCP"}],
"env":[{"name":"SETTING_0","value":"value-of-setting-0-for-@A"},{"name":"SETTING_1","value":"value-of-setting-1-for-@A"},
{"name":"SETTING_2","value":"value-of-setting-2-for-@A"},{"name":"SETTING_3","value":"value-of-setting-3-for-@A"},
{"name":"SETTING_4","value":"value-of-setting-4-for-@A"},{"name":"SETTING_5","value":"value-of-setting-5-for-@A"},
{"name":"POD_IP","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"status.podIP"}}},
{"name":"PASSWORD","valueFrom":{"secretKeyRef":{"name":"@A-secrets","key":"password"}}}],
"resources":{"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"cpu":"500m","memory":"256Mi"}},
"livenessProbe":{"httpGet":{"path":"/healthz","port":"http","scheme":"HTTP"},"periodSeconds":10,"timeoutSeconds":2,"successThreshold":1,"failureThreshold":3},
"readinessProbe":{"httpGet":{"path":"/readyz","port":"http","scheme":"HTTP"},"periodSeconds":5,"timeoutSeconds":2,"successThreshold":1,"failureThreshold":3},
"volumeMounts":[{"name":"config","mountPath":"/etc/app","readOnly":true},{"name":"cache","mountPath":"/var/cache/app"}],
"securityContext":{"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,"capabilities":{"drop":["ALL"]}},
"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"})";

constexpr std::string_view kPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"@P","namespace":"@S","labels":{
"app.kubernetes.io/name":"@A","app.kubernetes.io/instance":"@A-prod","app.kubernetes.io/part-of":"bench","app.kubernetes.io/managed-by":"Helm",
"helm.sh/chart":"@A-4.12.0","team":"payments","tier":"backend","pod-template-hash":"5f6d9c8b74"},
"annotations":{"checksum/config":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","prometheus.io/scrape":"true","prometheus.io/port":"9090"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"@A-5f6d9c8b74","uid":"1b4e28ba-2fa1-11d2-883f-0016d3cca427","controller":true,"blockOwnerDeletion":true}]},
"spec":{"containers":[@1,@2],"volumes":[{"name":"config","configMap":{"name":"@A-config","defaultMode":420}},{"name":"cache","emptyDir":{}}],
"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","schedulerName":"bench-none","nodeName":"bench-node-@O",
"securityContext":{"runAsNonRoot":true,"fsGroup":2000},"automountServiceAccountToken":false,
"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},
{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]}})";

constexpr std::string_view kNode =
    R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"bench-node-@O","labels":{"kubernetes.io/os":"linux",
"kubernetes.io/arch":"amd64","kubernetes.io/hostname":"bench-node-@O","topology.kubernetes.io/zone":"zone-1","topology.kubernetes.io/region":"region-1",
"node.kubernetes.io/instance-type":"large"}},"spec":{"podCIDR":"10.1.0.0/24"},"status":{"capacity":{"cpu":"16","memory":"64Gi","pods":"110"},
"allocatable":{"cpu":"15","memory":"60Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","message":"kubelet is posting ready status",
"lastHeartbeatTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:00:00Z"}],"addresses":[{"type":"InternalIP","address":"10.0.0.1"},
{"type":"Hostname","address":"bench-node-@O"}],"nodeInfo":{"kubeletVersion":"v1.36.2","osImage":"Linux","kernelVersion":"6.1","containerRuntimeVersion":"containerd://2.1",
"architecture":"amd64","operatingSystem":"linux","machineID":"1b4e28ba","systemUUID":"1b4e28ba","bootID":"1b4e28ba","kubeProxyVersion":"v1.36.2"}}})";

struct Place {
  char letter;
  std::string text;
};

std::string Fill(std::string_view form, std::initializer_list<Place> places) {
  std::string out;
  out.reserve(form.size() * 2);
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '\n') continue;
    if (form[i] != '@') {
      out += form[i];
      continue;
    }
    ++i;
    for (const Place& place : places) {
      if (place.letter == form[i]) out += place.text;
    }
  }
  return out;
}

}  // namespace

std::string NamespaceOf(int number) { return "bench-" + std::to_string(number % kNamespaces); }

std::string NamespaceBody(const std::string& name) {
  return R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + name + "\"}}";
}

std::string PodName(int number) {
  return "app-" + std::to_string(number / 30) + "-5f6d9c8b74-" + std::to_string(number);
}

std::string PodBody(int number, int nodes) {
  const std::string app = "app-" + std::to_string(number / 30);
  return Fill(kPod, {{'P', PodName(number)},
                     {'S', NamespaceOf(number)},
                     {'A', app},
                     {'O', std::to_string(number % nodes)},
                     {'1', Fill(kContainer, {{'N', "server"}, {'A', app}})},
                     {'2', Fill(kContainer, {{'N', "proxy"}, {'A', app}})}});
}

std::string NodeBody(int number) { return Fill(kNode, {{'O', std::to_string(number)}}); }

std::string PatchBody(int64_t sent) {
  return R"({"metadata":{"annotations":{"bench/sent":")" + std::to_string(sent) + R"("}}})";
}

}  // namespace kcm::bench
