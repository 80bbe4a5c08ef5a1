#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes host/wire/schema_table.inc from the published field tables (golden/wire/schema.json).

    tools/gen-wire-schema.py SCHEMA.json > host/wire/schema_table.inc

The result is committed; the build does not run this. What it does:
  - names and common values become numbered static strings (member names first, sorted: their numbers are FieldId);
  - messages with equal field lists (the same type in several versions) become one;
  - only messages that can stand alone (objects, lists, options) keep their name;
  - a hash table of the static strings is laid out here, with the hash that host/wire/static_strings.h computes.
"""
import json
import sys

SPECIAL = {
    "meta.v1.Time": "kTime",
    "meta.v1.MicroTime": "kMicroTime",
    "meta.v1.Duration": "kDuration",
    "meta.v1.FieldsV1": "kRawJson",
    "runtime.RawExtension": "kRawJson",
    "api.resource.Quantity": "kQuantity",
    "util.intstr.IntOrString": "kIntOrString",
}
APIEXT = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions."
for _v in ("v1", "v1beta1"):
    SPECIAL[APIEXT + _v + ".JSON"] = "kRawJson"
    SPECIAL[APIEXT + _v + ".JSONSchemaPropsOrBool"] = "kSchemaOrBool"
    SPECIAL[APIEXT + _v + ".JSONSchemaPropsOrArray"] = "kSchemaOrArray"
    SPECIAL[APIEXT + _v + ".JSONSchemaPropsOrStringArray"] = "kSchemaOrStrings"
SCALARS = {"string": "kString", "int32": "kInt32", "int64": "kInt64", "bool": "kBool", "bytes": "kBytes",
           "double": "kDouble"}

# Values that occur in nearly every cluster's objects; each costs nothing where it occurs.
VALUES = """
True False Unknown Ready Running Pending Succeeded Failed PodScheduled Initialized ContainersReady
PodReadyToStartContainers DisruptionTarget Active Terminating Available Progressing ReplicaFailure Bound Released Lost
Complete Suspended SuccessCriteriaMet FailureTarget MemoryPressure DiskPressure PIDPressure NetworkUnavailable
NewReplicaSetAvailable MinimumReplicasAvailable ReplicaSetUpdated KubeletReady KubeletHasSufficientMemory
KubeletHasNoDiskPressure KubeletHasSufficientPID PodCompleted ContainersNotReady ContainerCreating PodInitializing
Completed Error Evicted OOMKilled CrashLoopBackOff ImagePullBackOff ErrImagePull NodeLost Unschedulable
TCP UDP SCTP HTTP HTTPS IPv4 IPv6 SingleStack ClusterIP NodePort LoadBalancer ExternalName None Cluster Local
ClusterFirst ClusterFirstWithHostNet Default Always OnFailure Never IfNotPresent File FallbackToLogsOnError
RollingUpdate Recreate OnDelete OrderedReady Parallel Retain Delete Recycle ReadWriteOnce ReadOnlyMany ReadWriteMany
ReadWriteOncePod Filesystem Block Immediate WaitForFirstConsumer Guaranteed Burstable BestEffort
PreemptLowerPriority Exists Equal In NotIn DoesNotExist NoSchedule PreferNoSchedule NoExecute
DirectoryOrCreate Directory FileOrCreate Socket HostToContainer Bidirectional Opaque
Allow Forbid Replace Indexed NonIndexed TerminatingOrFailed Normal Warning Update Apply FieldsV1
default kube-system kube-public kube-node-lease default-scheduler kubelet kube-scheduler kube-controller-manager
kube-apiserver /dev/termination-log /var/run/secrets/kubernetes.io/serviceaccount kube-root-ca.crt ca.crt token
metadata.name metadata.namespace metadata.uid spec.nodeName status.podIP status.hostIP
cpu memory ephemeral-storage pods storage hugepages-1Gi hugepages-2Mi 0 1 2 100m 200m 250m 500m 1Gi 2Gi 64Mi 128Mi
256Mi 512Mi 110 25% amd64 arm64 linux true false unknown * get list watch create update patch delete deletecollection
apps/v1 batch/v1 v1 rbac.authorization.k8s.io/v1 coordination.k8s.io/v1 discovery.k8s.io/v1 storage.k8s.io/v1
rbac.authorization.k8s.io networking.k8s.io/v1 policy/v1 autoscaling/v2 apiextensions.k8s.io/v1
Pod ReplicaSet Deployment StatefulSet DaemonSet Job CronJob ReplicationController Node Service Endpoints EndpointSlice
ConfigMap Secret Namespace ServiceAccount PersistentVolume PersistentVolumeClaim Lease Event ControllerRevision
ClusterRole ClusterRoleBinding Role RoleBinding Group User HorizontalPodAutoscaler PodDisruptionBudget
kubernetes.io/tls kubernetes.io/service-account-token kubernetes.io/hostname kubernetes.io/os kubernetes.io/arch
kubernetes.io/metadata.name kubernetes.io/service-name kubernetes.io/description kubernetes.io/pvc-protection
kubernetes.io/pv-protection kubernetes foregroundDeletion orphan batch.kubernetes.io/job-tracking
batch.kubernetes.io/job-name batch.kubernetes.io/controller-uid job-name controller-uid pod-template-hash
controller-revision-hash statefulset.kubernetes.io/pod-name apps.kubernetes.io/pod-index
batch.kubernetes.io/job-completion-index pod-template-generation deployment.kubernetes.io/revision
deployment.kubernetes.io/desired-replicas deployment.kubernetes.io/max-replicas
deprecated.daemonset.template.generation kubectl.kubernetes.io/last-applied-configuration
kubectl.kubernetes.io/restartedAt endpointslice.kubernetes.io/managed-by endpointslice-controller.k8s.io
endpoints.kubernetes.io/last-change-trigger-time topology.kubernetes.io/zone topology.kubernetes.io/region
node.kubernetes.io/instance-type node.kubernetes.io/not-ready node.kubernetes.io/unreachable
node.kubernetes.io/memory-pressure node.kubernetes.io/disk-pressure node.kubernetes.io/pid-pressure
node.kubernetes.io/unschedulable node.kubernetes.io/network-unavailable node.alpha.kubernetes.io/ttl
volumes.kubernetes.io/controller-managed-attach-detach pv.kubernetes.io/bind-completed
pv.kubernetes.io/bound-by-controller pv.kubernetes.io/provisioned-by volume.kubernetes.io/storage-provisioner
volume.beta.kubernetes.io/storage-provisioner volume.kubernetes.io/selected-node
app app.kubernetes.io/name app.kubernetes.io/instance app.kubernetes.io/component app.kubernetes.io/part-of
app.kubernetes.io/managed-by app.kubernetes.io/version helm.sh/chart Helm k8s-app tier team env release component
""".split()

# Texts of these fields differ from object to object: the interner never sees them.
UNSHARED = {"resourceVersion", "selfLink", "containerID", "podIP", "ip", "message"}

MASK64 = (1 << 64) - 1


def hash_of(text):
    """The hash of static_strings.h: first and last eight bytes, the length, two multiplications."""
    b = text.encode()
    n = len(b)
    if n >= 8:
        x, y = int.from_bytes(b[:8], "little"), int.from_bytes(b[-8:], "little")
    else:
        x, y = int.from_bytes(b, "little"), 0
    h = (x * 0x9E3779B97F4A7C15) & MASK64
    h = ((h ^ (h >> 29)) + y + n) & MASK64
    h = (h * 0xBF58476D1CE4E5B9) & MASK64
    return h ^ (h >> 32)


def special_of(name, fields):
    if name in SPECIAL:
        return SPECIAL[name]
    if len(fields) == 1 and fields[0]["name"] == "items" and fields[0].get("repeated") and \
            fields[0]["type"] == "string" and not fields[0].get("omitempty"):
        return "kItems"
    return "kPlain"


def classes_of(schema, specials):
    """Partition refinement: messages with equal rows (up to the class of what they refer to) share a class."""
    cls = {m: 0 for m in schema}
    while True:
        shape = {}
        for m, fields in schema.items():
            rows = []
            for f in fields:
                t = f["type"]
                t = ("map", t["map"][1]) if isinstance(t, dict) else ("", t)
                rows.append((f["num"], f["name"], t[0], cls.get(t[1], t[1]), f.get("repeated"), f.get("inline"),
                             f.get("omitempty"), f.get("omitzero"), f.get("pointer")))
            shape[m] = (specials[m], tuple(rows))
        ids = {}
        new = {m: ids.setdefault(shape[m], len(ids)) for m in schema}
        if len(ids) == len(set(cls.values())):
            return new
        cls = new


def group_versions(name):
    """The apiVersions that a message's package stands for: 'rbac.v1' -> 'rbac.authorization.k8s.io/v1'."""
    package = name.rsplit(".", 1)[0]
    group, version = package.rsplit(".", 1)
    plain = {"core": "", "apps": "apps", "batch": "batch", "autoscaling": "autoscaling", "policy": "policy",
             "extensions": "extensions"}
    other = {"rbac": "rbac.authorization.k8s.io", "apiserverinternal": "internal.apiserver.k8s.io",
             "flowcontrol": "flowcontrol.apiserver.k8s.io",
             "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions": "apiextensions.k8s.io",
             "k8s.io.kube_aggregator.pkg.apis.apiregistration": "apiregistration.k8s.io",
             "k8s.io.metrics.pkg.apis.metrics": "metrics.k8s.io",
             "k8s.io.metrics.pkg.apis.custom_metrics": "custom.metrics.k8s.io",
             "k8s.io.metrics.pkg.apis.external_metrics": "external.metrics.k8s.io"}
    if group == "core":
        return version
    return (plain.get(group) or other.get(group) or group + ".k8s.io") + "/" + version


def main():
    schema = json.load(open(sys.argv[1]))
    schema = {m: schema[m] for m in sorted(schema) if not m.startswith("runtime.Unknown")}
    specials = {m: special_of(m, fields) for m, fields in schema.items()}
    cls = classes_of(schema, specials)
    first = {}
    for m in schema:
        first.setdefault(cls[m], m)
    order = {m: i for i, m in enumerate(first.values())}
    index = {m: order[first[cls[m]]] for m in schema}

    names = {f["name"] for m in schema if specials[m] == "kPlain" or "Schema" in specials[m] for f in schema[m]}
    names |= {"kind", "apiVersion", "items", "type", "object"}
    names = sorted(names, key=lambda n: n.encode())
    values = [v for v in dict.fromkeys(VALUES) if v not in set(names)]
    strings = [""] + names + values  # id 0: no string
    assert len(strings) < 0x2000
    id_of = {s: i for i, s in enumerate(strings)}

    referenced = set()
    for m, fields in schema.items():
        for f in fields:
            t = f["type"]
            referenced.add(t["map"][1] if isinstance(t, dict) else t)
    roots = [m for m, fields in schema.items() if specials[m] == "kPlain" and not m.startswith(("runtime.", "util.",
             "api.")) and (m not in referenced or m in ("meta.v1.DeleteOptions", "meta.v1.APIGroup") or any(
                 f["name"] == "metadata" and f["type"] in ("meta.v1.ObjectMeta", "meta.v1.ListMeta") for f in fields))]

    out = sys.stdout.write
    out("// SPDX-License-Identifier: Apache-2.0\n// Made by tools/gen-wire-schema.py; do not edit.\n// clang-format off\n")
    out(f"constexpr uint32_t kFieldCount = {len(names)};\nconstexpr uint32_t kStringCount = {len(strings)};\n")
    text, offsets = "", []
    for s in strings:
        offsets.append(len(text))
        text += s
    offsets.append(len(text))
    wrap(out, "constexpr uint16_t kStringOffsets[] = {", [str(o) for o in offsets])
    out("constexpr char kStringText[] =\n")
    for i in range(0, len(text), 110):
        out("    " + json.dumps(text[i:i + 110]) + "\n")
    out("    ;\n")
    size = 4096
    slots = [0] * size
    for i, s in enumerate(strings[1:], 1):
        h = hash_of(s) & (size - 1)
        while slots[h]:
            h = (h + 1) & (size - 1)
        slots[h] = i
    wrap(out, "constexpr uint16_t kStringSlots[%d] = {" % size, [str(x) for x in slots])

    rows, messages = [], []
    for m in order:
        messages.append("{%d,%d,Special::%s}" % (len(rows), len(schema[m]), specials[m]))
        for f in schema[m]:
            t, flags = f["type"], 0
            if isinstance(t, dict):
                assert t["map"][0] == "string"
                flags, t = 1, t["map"][1]
            flags |= 2 * bool(f.get("repeated")) | 4 * bool(f.get("inline")) | 8 * bool(f.get("omitempty"))
            flags |= 16 * bool(f.get("omitzero")) | 32 * bool(f.get("pointer"))
            flags |= 64 * (f["name"] in UNSHARED or m == "meta.v1.ObjectMeta" and f["name"] in ("name", "uid"))
            kind, ref = (SCALARS[t], 0) if t in SCALARS else ("kMessage", index[t])
            rows.append("{%d,%d,%d,%s,%d}" % (id_of.get(f["name"], 0), ref, f["num"], KINDS[kind], flags))
    wrap(out, "constexpr FieldRow kRows[] = {", rows)
    wrap(out, "constexpr MessageRow kMessages[] = {", messages)
    wrap(out, "constexpr NamedMessage kNamed[] = {",
         ['{"%s","%s",%d}' % (m, group_versions(m), index[m]) for m in sorted(roots)])
    for const, m in (("kObjectMeta", "meta.v1.ObjectMeta"), ("kListMeta", "meta.v1.ListMeta"),
                     ("kManagedFields", "meta.v1.ManagedFieldsEntry")):
        out(f"constexpr uint16_t {const}Message = {index[m]};\n")
    for const, s in (("Metadata", "metadata"), ("ManagedFields", "managedFields"), ("Name", "name"),
                     ("Namespace", "namespace"), ("Uid", "uid"), ("ResourceVersion", "resourceVersion"),
                     ("Kind", "kind"), ("ApiVersion", "apiVersion"), ("Items", "items"), ("Continue", "continue"),
                     ("RemainingItemCount", "remainingItemCount"), ("Type", "type"), ("Object", "object")):
        out(f"constexpr uint16_t k{const}Id = {id_of[s]};\n")
    sys.stderr.write(f"{len(schema)} messages, {len(messages)} kept, {len(rows)} rows, {len(names)} names, "
                     f"{len(strings)} strings, {len(roots)} named\n")


KINDS = {"kString": 0, "kInt32": 1, "kInt64": 2, "kBool": 3, "kBytes": 4, "kDouble": 5, "kMessage": 6}


def wrap(out, head, items):
    out(head + "\n")
    line = ""
    for item in items:
        if len(line) + len(item) > 116:
            out(line + "\n")
            line = ""
        line += item + ","
    out(line + "};\n")


main()
