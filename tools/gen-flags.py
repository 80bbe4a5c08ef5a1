#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes host/config/flag_table.inc: every flag of the reference (recorded in a TSV), our help texts, and our own flags.

Usage: tools/gen-flags.py [--check]     run from anywhere; --check only says whether the file is up to date.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TSV = ROOT / "tests/host/config/golden/flags.tsv"
OUT = ROOT / "host/config/flag_table.inc"

# The recording reads types from a rendered page, where these came out as bool.
TYPES = {
    "tls-curve-preferences": "int32Slice", "tls-sni-cert-key": "namedCertKey", "allow-metric-labels": "stringToString",
    "log-json-info-buffer-size": "quantity", "log-text-info-buffer-size": "quantity", "v": "Level",
    "version": "version", "horizontal-pod-autoscaler-tolerance": "float",
}
ENUM = {
    "bool": "kBool", "int": "kInt", "int32": "kInt32", "float32": "kFloat32", "float": "kFloat64", "duration": "kDuration",
    "string": "kString", "strings": "kStrings", "stringArray": "kStringArray", "int32Slice": "kInt32Slice",
    "stringToString": "kStringMap", "colonSeparatedMultimapStringString": "kFeatureGates", "ip": "kIp",
    "namedCertKey": "kCertKeyPairs", "Level": "kLevel", "pattern=N,...": "kVModule", "quantity": "kQuantity",
    "version": "kVersion",
}
DEFAULTS = {"allow-metric-labels": "", "tls-curve-preferences": "", "tls-sni-cert-key": "", "version": "false",
            "log-json-info-buffer-size": "0", "log-text-info-buffer-size": "0"}

HELP = {
    "contention-profiling": "Record where threads block, when profiling is on.",
    "profiling": "Serve /debug/pprof and /debug/flags/v.",
    "enable-leader-migration": "Hold a second lease for controllers that are moving to another component.",
    "leader-migration-config": "File that says which controllers are moving. Empty: the built-in list.",
    "allocate-node-cidrs": "Give each node a range of pod addresses out of --cluster-cidr.",
    "cidr-allocator-type": "How node ranges are chosen; RangeAllocator is the only one.",
    "cloud-config": "Configuration file of the cloud provider.",
    "cloud-provider": "Empty or external.",
    "cluster-cidr": "Ranges of pod addresses, one or one per family, comma separated.",
    "cluster-name": "Name of this cluster, for the cloud provider.",
    "configure-cloud-routes": "Read by the cloud controller manager.",
    "controller-shutdown-timeout": "How long to wait for controllers at stop. 0 waits without limit.",
    "controller-start-interval": "Each controller starts after a random delay between this and twice this.",
    "controllers": "Filled in by the host.",
    "emulated-version": "[kube=]MAJOR.MINOR. Feature gates are evaluated as of this release.",
    "external-cloud-volume-plugin": "No effect without built-in cloud providers.",
    "feature-gates": "Comma separated [kube:]Name=true|false. AllAlpha and AllBeta set a whole stage.",
    "kube-api-burst": "Requests a client may send at once before --kube-api-qps applies.",
    "kube-api-content-type": "Media type of requests with built-in kinds.",
    "kube-api-qps": "Requests a second of each client; negative lifts the limit.",
    "leader-elect": "Work only while holding the lease, so that replicas do not act twice.",
    "leader-elect-lease-duration": "How long others leave a lease alone that is no longer renewed.",
    "leader-elect-renew-deadline": "How long to try renewing before giving up. Less than the lease duration.",
    "leader-elect-resource-lock": "Kind of the lock; leases is the only one.",
    "leader-elect-resource-name": "Name of the Lease.",
    "leader-elect-resource-namespace": "Namespace of the Lease.",
    "leader-elect-retry-period": "Pause between attempts to get or renew the lease.",
    "min-compatibility-version": "[kube=]MAJOR.MINOR. Oldest release of other components to work with.",
    "min-resync-period": "Informers offer all objects again at random intervals between this and twice this.",
    "node-monitor-period": "How often node health is evaluated.",
    "route-reconciliation-period": "Read by the cloud controller manager.",
    "use-service-account-credentials": "Give each controller a service account of its own.",
    "concurrent-service-syncs": "Read by the cloud controller manager.",
    "bind-address": "Address to listen on. 0.0.0.0 and :: mean every interface and both families.",
    "cert-dir": "Folder for a generated serving certificate. Ignored when a file pair is given; empty keeps it in memory.",
    "disable-http2-serving": "Accepted; this server speaks HTTP/1.1 only.",
    "http2-max-streams-per-connection": "Accepted; this server speaks HTTP/1.1 only.",
    "permit-address-sharing": "Listen with SO_REUSEADDR.",
    "permit-port-sharing": "Listen with SO_REUSEPORT, so that several processes can share the port.",
    "secure-port": "HTTPS port. 0 serves nothing.",
    "tls-cert-file": "Serving certificate and its chain, PEM.",
    "tls-cipher-suites": "Cipher suites offered up to TLS 1.2, by IANA name.",
    "tls-curve-preferences": "Key exchange groups to offer, by number; the order has no meaning.",
    "tls-min-version": "VersionTLS10, VersionTLS11, VersionTLS12 (also when empty) or VersionTLS13.",
    "tls-private-key-file": "Private key of --tls-cert-file, PEM.",
    "tls-sni-cert-key": "`crt,key[:name,...]`: a pair for some host names, given or taken from the certificate. Repeatable.",
    "authentication-kubeconfig": "Kubeconfig for token reviews and the cluster's client CA. Empty: in-cluster, else no delegation.",
    "authentication-skip-lookup": "Do not read the cluster's authentication ConfigMap.",
    "authentication-token-webhook-cache-ttl": "How long the answer of a token review is kept.",
    "authentication-tolerate-lookup-failure": "Start although the authentication ConfigMap can not be read.",
    "client-ca-file": "CA of client certificates, in place of the cluster's.",
    "requestheader-allowed-names": "Common names the front proxy may have. Empty allows every certificate of its CA.",
    "requestheader-client-ca-file": "CA of the front proxy's client certificate.",
    "requestheader-extra-headers-prefix": "Prefixes of headers with extra user data.",
    "requestheader-group-headers": "Headers with the groups.",
    "requestheader-uid-headers": "Headers with the user's uid.",
    "requestheader-username-headers": "Headers with the user name.",
    "authorization-always-allow-paths": "Paths that need no authorization; a trailing * covers all below.",
    "authorization-kubeconfig": "Kubeconfig for access reviews. Empty: in-cluster, else only always allowed paths are served.",
    "authorization-webhook-cache-authorized-ttl": "How long an access review that allowed is kept.",
    "authorization-webhook-cache-unauthorized-ttl": "How long an access review that denied is kept.",
    "attach-detach-reconcile-sync-period": "How often attached volumes are compared with the nodes' reports; at least 1s.",
    "disable-attach-detach-reconcile-sync": "Do not compare at all. Mismatches then stay.",
    "disable-force-detach-on-timeout": "Never detach from a node only because unmounting took too long.",
    "cluster-signing-cert-file": "CA certificate for all signers.",
    "cluster-signing-duration": "Longest lifetime of a signed certificate.",
    "cluster-signing-key-file": "CA key for all signers.",
    "endpoint-updates-batch-period": "Wait this long for further pod changes before writing Endpoints.",
    "endpointslice-updates-batch-period": "Wait this long for further pod changes before writing EndpointSlices.",
    "max-endpoints-per-slice": "Endpoints an EndpointSlice holds at most, 1 to 1000.",
    "mirroring-endpointslice-updates-batch-period": "Wait this long for further changes before mirroring.",
    "mirroring-max-endpoints-per-subset": "Endpoints mirrored per subset at most, 1 to 1000.",
    "mirroring-concurrent-service-endpoint-syncs": "Workers that mirror Endpoints, 1 to 50.",
    "concurrent-service-endpoint-syncs": "Workers of the EndpointSlice controller, 1 to 50.",
    "enable-garbage-collector": "Delete objects whose owners are gone. Must match the API server's flag.",
    "horizontal-pod-autoscaler-cpu-initialization-period": "CPU samples of a pod this young may be skipped.",
    "horizontal-pod-autoscaler-downscale-stabilization": "Scale down only to what all recommendations of this period allow.",
    "horizontal-pod-autoscaler-initial-readiness-delay": "A pod this young counts as starting when its readiness changes.",
    "horizontal-pod-autoscaler-sync-period": "How often each autoscaler is evaluated.",
    "horizontal-pod-autoscaler-tolerance": "Change of the ratio that is left alone.",
    "legacy-service-account-token-clean-up-period": "Delete unused legacy tokens this long after their last use.",
    "namespace-sync-period": "Resync of namespaces.",
    "node-cidr-mask-size": "Mask of a node's range in a single-family cluster. 0: 24 for IPv4, 64 for IPv6.",
    "node-cidr-mask-size-ipv4": "Mask of a node's IPv4 range. 0: 24.",
    "node-cidr-mask-size-ipv6": "Mask of a node's IPv6 range. 0: 64.",
    "service-cluster-ip-range": "Ranges of service addresses, left out of node ranges. At most two.",
    "large-cluster-size-threshold": "Zones up to this size evict nothing while they are unhealthy.",
    "node-eviction-rate": "Nodes a second whose pods are evicted in a healthy zone.",
    "node-monitor-grace-period": "A node silent for this long is Unknown.",
    "node-startup-grace-period": "The same for a node that has never reported.",
    "secondary-node-eviction-rate": "Nodes a second in an unhealthy zone.",
    "unhealthy-zone-threshold": "Share of nodes not ready that makes a zone unhealthy.",
    "enable-dynamic-provisioning": "Create volumes for claims with a storage class.",
    "enable-hostpath-provisioner": "Provision host paths, for tests on one node.",
    "flex-volume-plugin-dir": "Folder of flex volume plugins.",
    "pv-recycler-increment-timeout-nfs": "Seconds added to an NFS scrubber's deadline per GiB.",
    "pv-recycler-minimum-timeout-hostpath": "Least deadline of a host path scrubber, seconds.",
    "pv-recycler-minimum-timeout-nfs": "Least deadline of an NFS scrubber, seconds.",
    "pv-recycler-pod-template-filepath-hostpath": "Pod template of host path scrubbers.",
    "pv-recycler-pod-template-filepath-nfs": "Pod template of NFS scrubbers.",
    "pv-recycler-timeout-increment-hostpath": "Seconds added to a host path scrubber's deadline per GiB.",
    "pvclaimbinder-sync-period": "Resync of volumes and claims.",
    "terminated-pod-gc-threshold": "Finished pods kept before the oldest are deleted. 0 or less keeps all.",
    "resource-quota-sync-period": "How often the usage of every quota is counted anew.",
    "root-ca-file": "CA bundle published to service accounts.",
    "service-account-private-key-file": "Key that signs legacy service account tokens.",
    "allow-metric-labels": "metric,label='v1,v2': other values of that label become unexpected.",
    "allow-metric-labels-manifest": "YAML file with the same mapping.",
    "disabled-metrics": "Metrics not to serve.",
    "show-hidden-metrics-for-version": "MAJOR.MINOR of the previous release: serve the metrics it hid.",
    "log-flush-frequency": "Longest time between two flushes of the log.",
    "log-json-info-buffer-size": "Needs gate LoggingAlphaOptions.",
    "log-json-split-stream": "Needs gate LoggingAlphaOptions.",
    "log-text-info-buffer-size": "Needs gate LoggingAlphaOptions.",
    "log-text-split-stream": "Needs gate LoggingAlphaOptions.",
    "logging-format": "text or json.",
    "v": "Verbosity of the log, 0 and up.",
    "vmodule": "Verbosity of single files (text format only).",
    "kubeconfig": "Kubeconfig of the API server and our credentials. Empty: in-cluster.",
    "master": "Address of the API server; overrides the kubeconfig's.",
    "help": "This text.",
    "version": "Print the version and end; raw prints all of it; vX.Y.Z-suffix overrides what is reported.",
}
DEPRECATED = [
    ("Generic", "allow-untagged-cloud", "bool", "", "No effect.",
     "This flag is deprecated and will be removed in a future release. A cluster-id will be required on cloud instances."),
    ("Generic", "node-sync-period", "duration", "0s", "No effect.", "This flag is currently no-op and will be deleted."),
    # Of 1.28 only: command lines of that release keep working (spec/host.md 1.3).
    ("Generic", "azure-container-registry-config", "string", "", "No effect.", "This flag is no-op and will be removed."),
    ("Persistentvolume-binder-controller", "volume-host-cidr-denylist", "strings", "", "No effect.",
     "This flag is no-op and will be removed."),
    ("Persistentvolume-binder-controller", "volume-host-allow-local-loopback", "bool", "true", "No effect.",
     "This flag is no-op and will be removed."),
]
OURS = [
    ("plugin-dir", "stringArray", "", "Folder with controller plugins (.so). Repeatable."),
    ("plugin-trust-key", "string", "", "Ed25519 public key, PEM: load only plugins with a valid detached signature (FILE.sig)."),
    ("plugin-watch", "bool", "true", "Load, replace and remove plugins as their files change."),
    ("plugin-probation-period", "duration", "1m0s", "How long a replaced build is kept ready for a rollback."),
    ("plugin-swap-timeout", "duration", "30s", "How long a swap waits for running reconciles before it is given up."),
    ("plugin-state-dir", "string", "", "Folder for crash records; made if only its last part is missing. Empty: crashes are "
     "not remembered across restarts. Private copies of plugins are kept below TMPDIR (/tmp) instead, which has to allow execution."),
    ("plugin-quarantine-threshold", "int32", "3", "A build with this many crash records is not loaded. 0 or less loads it always."),
    ("warm-standby", "bool", "true", "Fill caches before the lease is won."),
    ("leader-elect-per-plugin", "bool", "", "One Lease per plugin, so that families spread over replicas."),
    ("admin-api", "bool", "true", "Serve the API of kcmctl below /plugins on the secure port, with the same authorization."),
]


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def help_of(section, name):
    if name in HELP:
        return HELP[name]
    if name.startswith("concurrent-") and name.endswith("-syncs"):
        return "Workers of the " + section[0].lower() + section[1:] + "."
    if name.startswith("cluster-signing-"):
        signer = name[len("cluster-signing-"):].rsplit("-", 2)
        return "CA %s for signer kubernetes.io/%s." % ({"cert": "certificate", "key": "key"}[signer[1]], signer[0])
    raise SystemExit("no help text for --" + name)


def rows():
    for line in TSV.read_text().splitlines():
        if line.startswith("#"):
            continue
        section, name, kind, default = line.split("\t")[:4]
        if name == "help":
            kind = "bool"
        kind = TYPES.get(name, kind)
        default = DEFAULTS.get(name, default).strip('"')
        if kind == "strings" and default.startswith("["):
            default = default[1:-1]
        yield section, name, kind, default, help_of(section, name), "", {"v": "v", "help": "h"}.get(name)
    for section, name, kind, default, text, message in DEPRECATED:
        yield section, name, kind, default, text, message, None
    for name, kind, default, text in OURS:
        yield "Plugin", name, kind, default, text, "", None


def main():
    out = ["// SPDX-License-Identifier: Apache-2.0", "// Generated by tools/gen-flags.py: section, name, type, default, help, "
           "deprecation, short form."]
    for section, name, kind, default, text, message, short in rows():
        out.append("{%s, %s, FlagType::%s, %s, %s, %s, %s}," % (
            quote(section), quote(name), ENUM[kind], quote(default), quote(text), quote(message),
            "'%s'" % short if short else "0"))
    text = "\n".join(out) + "\n"
    if "--check" in sys.argv[1:]:
        if OUT.read_text() != text:
            raise SystemExit(f"{OUT} is out of date: run tools/gen-flags.py")
        return
    OUT.write_text(text)


if __name__ == "__main__":
    main()
