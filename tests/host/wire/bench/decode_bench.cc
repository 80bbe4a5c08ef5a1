// SPDX-License-Identifier: Apache-2.0
// How many bytes a cached pod takes and how fast a list of them is decoded (docs/decisions/0002).
// Not a test.
//   wire_bench [pods]
#include <malloc.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "host/wire/codec.h"

namespace {

using namespace kcm::host::wire;

// Of this process: other work on the machine does not count.
double CpuSeconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

std::string Uid(size_t n) {
  char text[40];
  std::snprintf(text, sizeof text, "%08zx-7b1c-4c5e-9d21-%012zx", n * 2654435761u % 0xFFFFFFFFu,
                n * 40503u + 77);
  return text;
}

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// A pod of a Deployment as kubelet leaves it, with the managedFields that a server sends along.
const char* const kPod =
    R"({"metadata":{"name":"@rs-@suffix","generateName":"@rs-","namespace":"@ns","uid":"@uid",
"resourceVersion":"@rv","generation":1,"creationTimestamp":"2026-11-30T00:2@d:15Z",
"labels":{"app":"@app","app.kubernetes.io/name":"@app","pod-template-hash":"@hash","team":"payments"},
"annotations":{"prometheus.io/scrape":"true","prometheus.io/port":"9102"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"@rs","uid":"@owner","controller":true,"blockOwnerDeletion":true}],
"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-11-30T00:22:15Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"@owner\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"LOG_LEVEL\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}},
{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-11-30T00:22:19Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Initialized\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"@ip\"}":{".":{},"f:ip":{}}},"f:startTime":{}}},"subresource":"status"}]},
"spec":{"volumes":[{"name":"kube-api-access-@suffix","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}},{"name":"config","configMap":{"name":"@app-config","defaultMode":420}}],
"containers":[{"name":"main","image":"registry.example.com/payments/@app:1.42.@d","ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"LOG_LEVEL","value":"info"},{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}}],"resources":{"limits":{"cpu":"500m","memory":"512Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":"config","mountPath":"/etc/app"},{"name":"kube-api-access-@suffix","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"readinessProbe":{"httpGet":{"path":"/ready","port":"http","scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],
"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"@app","serviceAccount":"@app","nodeName":"@node","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},
"status":{"phase":"Running","conditions":[{"type":"PodReadyToStartContainers","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-30T00:22:1@dZ"},{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-30T00:22:15Z"},{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-30T00:22:1@dZ"},{"type":"ContainersReady","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-30T00:22:1@dZ"},{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-11-30T00:22:15Z"}],"hostIP":"10.0.3.@d","hostIPs":[{"ip":"10.0.3.@d"}],"podIP":"@ip","podIPs":[{"ip":"@ip"}],"startTime":"2026-11-30T00:22:15Z","containerStatuses":[{"name":"main","state":{"running":{"startedAt":"2026-11-30T00:22:18Z"}},"lastState":{},"ready":true,"restartCount":0,"image":"registry.example.com/payments/@app:1.42.@d","imageID":"registry.example.com/payments/@app@sha256:3f57d9401f8d42f986df300f0c69192fc41da28ccc8d797829467780db3dd741","containerID":"containerd://@cid","started":true}],"qosClass":"Burstable"}})";

std::string PodJson(size_t i, size_t pods) {
  const size_t sets = std::max<size_t>(1, pods / 30);
  const size_t set = i / 30 % sets;  // a list is in order of names
  const std::string app = "checkout-service-" + std::to_string(set);
  char suffix[8], hash[12], cid[65];
  std::snprintf(suffix, sizeof suffix, "%05zx", i * 7919 % 0xFFFFF);
  std::snprintf(hash, sizeof hash, "%08zxf", set * 2654435761u % 0xFFFFFFFF);
  std::snprintf(cid, sizeof cid, "%032zx%032zx", i * 1000003, i * 998244353);
  std::string json = kPod;
  const std::pair<const char*, std::string> values[] = {
      {"@app@sha", app + "@sha"},
      {"@app", app},
      {"@rs", app + "-" + hash},
      {"@suffix", suffix},
      {"@hash", hash},
      {"@ns", "team-" + std::to_string(set % 50)},
      {"@uid", Uid(i + 1)},
      {"@rv", std::to_string(1000000 + i)},
      {"@owner", Uid(5000000 + set)},
      {"@node", "ip-10-0-3-" + std::to_string(i % 1000) + ".eu-west-1.compute.internal"},
      {"@ip", "10." + std::to_string(i / 65536) + "." + std::to_string(i / 256 % 256) + "." +
                  std::to_string(i % 256)},
      {"@cid", cid},
      {"@d", std::to_string(i % 10)}};
  for (const auto& [from, to] : values) json = Replace(std::move(json), from, to);
  return json;
}

struct Bodies {
  std::string protobuf;
  std::string json;
};

Bodies MakeBodies(size_t pods) {
  std::string list;
  Bodies bodies;
  DecodeOptions all;
  all.keep_managed_fields = true;
  BeginProtobufList("1", "", -1, &list);
  bodies.json =
      R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[)";
  for (size_t i = 0; i < pods; ++i) {
    const auto object = DecodeJson(PodJson(i, pods), all, nullptr);
    std::string raw;
    if (!object.ok() || !EncodeProtobuf("core.v1.Pod", (*object)->Root(), &raw).ok()) std::abort();
    AppendProtobufListItem(raw, &list);
    if (i != 0) bodies.json += ',';
    EncodeJson((*object)->Root(), nullptr, &bodies.json);
  }
  bodies.json += "]}";
  WrapEnvelope({"v1", "PodList"}, list, &bodies.protobuf);
  return bodies;
}

void Run(const char* name, const std::string& body, bool json,
         const std::vector<std::string>& paths, bool shared) {
  const auto mask = Mask::Compile(paths);
  Interner interner;
  DecodeOptions options;
  options.mask = &*mask;
  if (shared) options.interner = &interner;
  std::vector<ObjectPtr> objects;
  objects.reserve(100000);
  const size_t before = mallinfo2().uordblks;
  size_t bytes = 0;
  const ItemSink sink = [&](ObjectPtr object) {
    bytes += object->bytes();
    objects.push_back(std::move(object));
  };
  const double start = CpuSeconds();
  {
    const auto decoder = json ? NewJsonListDecoder(options, sink)
                              : NewProtobufListDecoder("core.v1.Pod", options, sink);
    for (size_t i = 0; i < body.size(); i += 65536) {
      if (!decoder->Feed(std::string_view(body).substr(i, 65536)).ok()) std::abort();
    }
    if (!decoder->Finish().ok()) std::abort();
  }
  const double seconds = CpuSeconds() - start;
  const double n = static_cast<double>(objects.size());
  const double heap = static_cast<double>(mallinfo2().uordblks - before);
  std::printf(
      "%-9s %-28s %-9s %7.0f B/object %7.0f B heap each  %6.1f MB/s  %5.2f us each  dictionary %zu "
      "texts %zu B\n",
      json ? "json" : "protobuf", name, shared ? "interned" : "alone",
      static_cast<double>(bytes) / n, heap / n, static_cast<double>(body.size()) / seconds / 1e6,
      seconds / n * 1e6, interner.stats().texts, interner.stats().bytes);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t pods = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 33000;
  const Bodies bodies = MakeBodies(pods);
  std::printf("%zu pods: %zu B of protobuf, %zu B of JSON each\n", pods,
              bodies.protobuf.size() / pods, bodies.json.size() / pods);
  const std::vector<std::string> replica_set = {"spec.nodeName",
                                                "spec.initContainers[].name",
                                                "spec.initContainers[].restartPolicy",
                                                "status.phase",
                                                "status.conditions[type=Ready].status",
                                                "status.conditions[].lastTransitionTime",
                                                "status.conditions[].type",
                                                "status.containerStatuses[].restartCount",
                                                "status.initContainerStatuses[].name",
                                                "status.initContainerStatuses[].restartCount"};
  for (const bool json : {false, true}) {
    const std::string& body = json ? bodies.json : bodies.protobuf;
    for (const bool shared : {false, true}) {
      Run("whole", body, json, {"*"}, shared);
      Run("replicaset", body, json, replica_set, shared);
      Run("metadata", body, json, {}, shared);
    }
  }
  return 0;
}
