# SPDX-License-Identifier: Apache-2.0
"""What the benchmark fills a server with: pods of about 5.9 kB of JSON as a busy cluster has them, nodes, ConfigMaps of 2 kB."""
import hashlib

NAMESPACES = 10
PODS_PER_SET = 30
WHEN = "2026-01-01T00:00:00Z"


def namespace_of(number):
    return f"bench-{number % NAMESPACES}"


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def labels(app):
    return {"app.kubernetes.io/name": app, "app.kubernetes.io/instance": app + "-prod", "app.kubernetes.io/part-of": "bench",
            "app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": app + "-4.12.0", "team": "payments", "tier": "backend",
            "pod-template-hash": digest(app)[:10]}


def condition(kind):
    return {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": WHEN}


def container(name, app):
    return {
        "name": name, "image": f"registry.example.com/payments/{app}/{name}:4.12.0", "imagePullPolicy": "IfNotPresent",
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}, {"name": "metrics", "containerPort": 9090, "protocol": "TCP"}],
        "env": [{"name": f"SETTING_{i}", "value": f"value-of-setting-{i}-for-{app}"} for i in range(8)] +
               [{"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
                {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": app + "-secrets", "key": "password"}}}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 10, "timeoutSeconds": 2, "failureThreshold": 3},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}, "periodSeconds": 5, "timeoutSeconds": 2, "failureThreshold": 3},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/app", "readOnly": True}, {"name": "cache", "mountPath": "/var/cache/app"}],
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    }


def template(app):
    return {
        "metadata": {"labels": labels(app), "annotations": {"checksum/config": digest(app), "prometheus.io/scrape": "true",
                                                              "prometheus.io/port": "9090", "kubectl.kubernetes.io/restartedAt": WHEN}},
        "spec": {
            "containers": [container("server", app), container("proxy", app)],
            "volumes": [{"name": "config", "configMap": {"name": app + "-config", "defaultMode": 420}}, {"name": "cache", "emptyDir": {}}],
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "schedulerName": "bench-none",
            "securityContext": {"runAsNonRoot": True, "fsGroup": 2000}, "automountServiceAccountToken": False,
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
        },
    }


def replica_set(number, replicas):
    app = f"app-{number}"
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": app, "namespace": namespace_of(number), "labels": labels(app)},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app.kubernetes.io/name": app}}, "template": template(app)}}


def pod(number, owner, index, nodes):
    """Pod `index` of `owner`, a ReplicaSet as the server returned it."""
    app = owner["metadata"]["name"]
    out = template(app)
    out.update(apiVersion="v1", kind="Pod")
    out["metadata"].update(name=f"{app}-{digest(app)[:10]}-{digest(str(index))[:5]}", namespace=owner["metadata"]["namespace"],
                           ownerReferences=[{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": owner["metadata"]["uid"],
                                             "controller": True, "blockOwnerDeletion": True}])
    out["spec"]["nodeName"] = f"bench-node-{number % max(nodes, 1)}"
    return out


def pod_status(stored, number):
    address = f"10.{1 + number // 65536 % 200}.{number // 256 % 256}.{number % 256}"
    status = lambda name: {"name": name, "ready": True, "started": True, "restartCount": 0, "image": f"registry.example.com/payments/{name}:4.12.0",
                           "imageID": "registry.example.com/payments@sha256:" + digest(name), "containerID": "containerd://" + digest(f"{name}{number}"),
                           "state": {"running": {"startedAt": WHEN}}, "lastState": {}}
    stored["status"] = {
        "phase": "Running", "qosClass": "Burstable", "hostIP": "192.168.0.1", "hostIPs": [{"ip": "192.168.0.1"}], "podIP": address,
        "podIPs": [{"ip": address}], "startTime": WHEN,
        "conditions": [condition(c) for c in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")],
        "containerStatuses": [status("server"), status("proxy")]}
    return stored


def set_status(stored, replicas):
    stored["status"] = {"replicas": replicas, "fullyLabeledReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
                        "observedGeneration": stored["metadata"]["generation"]}
    return stored


def node(number):
    name = f"bench-node-{number}"
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                                                   "topology.kubernetes.io/zone": f"zone-{number % 3}", "node.kubernetes.io/instance-type": "m5.2xlarge"}},
            "spec": {"podCIDR": f"10.{number // 256}.{number % 256}.0/24", "providerID": f"bench://{name}"},
            "status": {"capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"}, "allocatable": {"cpu": "7910m", "memory": "30Gi", "pods": "110"},
                       "conditions": [{"type": t, "status": s, "reason": "KubeletReports", "message": "as expected",
                                       "lastHeartbeatTime": WHEN, "lastTransitionTime": WHEN}
                                      for t, s in (("MemoryPressure", "False"), ("DiskPressure", "False"), ("PIDPressure", "False"), ("Ready", "True"))],
                       "addresses": [{"type": "InternalIP", "address": "192.168.0.1"}, {"type": "Hostname", "address": name}],
                       "nodeInfo": {"kubeletVersion": "v1.36.2", "osImage": "Debian GNU/Linux 12", "containerRuntimeVersion": "containerd://2.0.0",
                                    "architecture": "amd64", "operatingSystem": "linux", "kernelVersion": "6.1.0", "machineID": digest(name)[:32],
                                    "systemUUID": digest(name)[:36], "bootID": digest(name)[:36], "kubeProxyVersion": "v1.36.2"},
                       "images": [{"names": [f"registry.example.com/image-{i}@sha256:{digest(str(i))}", f"registry.example.com/image-{i}:1.0"],
                                   "sizeBytes": 104857600} for i in range(20)]}}


def config_map(number):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"settings-{number}", "namespace": namespace_of(number), "labels": {"app": "bench"}},
            "data": {"settings.yaml": (digest(str(number)) * 32)[:2000]}}


def deployment(namespace, name, replicas, image="registry.example.com/load:1"):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}},
                                  "spec": {"schedulerName": "bench-none", "automountServiceAccountToken": False,
                                           "containers": [{"name": "main", "image": image}]}}}}
