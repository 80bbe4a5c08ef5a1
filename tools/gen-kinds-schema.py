#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes devcluster/kinds/schema_table.inc from the published field tables of the API.

    tools/gen-kinds-schema.py schema.json > devcluster/kinds/schema_table.inc

One line a message (`M name`, `K name` when it carries kind and apiVersion), one line a field: `name flags type`. Flags: r repeated, o omitempty, z omitzero, p pointer,
i inline, - none. Type: s string, w int32, l int64, b bool, y bytes, d double, a message name, or `{` and the value's type
for maps. Only messages that a served kind can reach are kept.
"""
import json
import sys

ROOTS = """
core.v1: Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod
 PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount
apps.v1: ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet
batch.v1: CronJob Job
autoscaling.v1: HorizontalPodAutoscaler Scale
autoscaling.v2: HorizontalPodAutoscaler
policy.v1: PodDisruptionBudget Eviction
certificates.v1: CertificateSigningRequest
coordination.v1: Lease
discovery.v1: EndpointSlice
events.v1: Event
networking.v1: Ingress IngressClass NetworkPolicy IPAddress ServiceCIDR
rbac.v1: Role RoleBinding ClusterRole ClusterRoleBinding
storage.v1: StorageClass VolumeAttachment CSINode CSIDriver CSIStorageCapacity VolumeAttributesClass
scheduling.v1: PriorityClass
node.v1: RuntimeClass
resource.v1: ResourceClaim ResourceClaimTemplate ResourceSlice DeviceClass
admissionregistration.v1: ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy
 MutatingAdmissionPolicyBinding ValidatingWebhookConfiguration MutatingWebhookConfiguration
apiextensions.v1: CustomResourceDefinition
apiregistration.v1: APIService
flowcontrol.v1: FlowSchema PriorityLevelConfiguration
authentication.v1: TokenReview SelfSubjectReview TokenRequest
authorization.v1: SubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview LocalSubjectAccessReview
meta.v1: DeleteOptions
"""
SCALARS = {"string": "s", "int32": "w", "int64": "l", "bool": "b", "bytes": "y", "double": "d"}
LONG = {"k8s.io.apiextensions_apiserver.pkg.apis.": "", "k8s.io.kube_aggregator.pkg.apis.": ""}


def short(name):
    for prefix, by in LONG.items():
        name = name.replace(prefix, by)
    return name


def main():
    schema = {short(k): v for k, v in json.load(open(sys.argv[1])).items()}
    roots, package = [], ""
    for word in ROOTS.split():
        if word.endswith(":"):
            package = word[:-1]
        else:
            roots.append(package + "." + word)
    todo, seen = list(roots), {}
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        lines = []
        for field in schema[name]:
            if field.get("only") == "1.28":
                continue
            flags = "".join(letter for key, letter in (("repeated", "r"), ("omitempty", "o"), ("omitzero", "z"),
                                                       ("pointer", "p"), ("inline", "i")) if field.get(key)) or "-"
            kind, prefix = field["type"], ""
            if isinstance(kind, dict):
                kind, prefix = kind["map"][1], "{"
            kind = short(kind)
            if kind not in SCALARS:
                todo.append(kind)
            lines.append(f"{field['name']} {flags} {prefix}{SCALARS.get(kind, kind)}")
        seen[name] = lines
    print("// SPDX-License-Identifier: Apache-2.0")
    print("// Made by tools/gen-kinds-schema.py from the published field tables of the API; do not edit.")
    chunk = []
    for name in sorted(seen):
        chunk.append(("K " if name in roots else "M ") + name + "\n" + "".join(line + "\n" for line in seen[name]))
    size, part = 0, []
    for text in chunk:
        part.append(text)
        size += len(text)
        if size > 12000:
            print('R"(' + "".join(part) + ')",')
            size, part = 0, []
    if part:
        print('R"(' + "".join(part) + ')",')


main()
