#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs scripted Kubernetes scenarios against any API server and compares what the controllers made of them.

  scenario.py run    --server URL --ca F --cert F --key F [--token T] [-j N] FILES...   print normalised snapshots
  scenario.py record ...   the same, and write them into the files as the expectation
  scenario.py check  ...   compare with the expectation: unified diffs, then 'N passed, N failed'
  scenario.py flags  FILES...   print the manager flags that the scenarios of a profile need
  scenario.py list   FILES...   one line per scenario

Python 3.11, standard library only.  README.md beside this file describes the format and the normalisation rules.
"""
import argparse, base64, collections, copy, datetime, difflib, fnmatch, hashlib, http.client, json, os, random, re
import ssl, string, sys, threading, time, traceback, urllib.parse

# ---------------------------------------------------------------- resources

def _r(prefix, kind, namespaced=True): return (prefix, kind, namespaced)
CORE, APPS, BATCH = "/api/v1", "/apis/apps/v1", "/apis/batch/v1"
RES = {
    "pods": _r(CORE, "Pod"), "services": _r(CORE, "Service"), "endpoints": _r(CORE, "Endpoints"),
    "configmaps": _r(CORE, "ConfigMap"), "secrets": _r(CORE, "Secret"), "serviceaccounts": _r(CORE, "ServiceAccount"),
    "replicationcontrollers": _r(CORE, "ReplicationController"), "resourcequotas": _r(CORE, "ResourceQuota"),
    "persistentvolumeclaims": _r(CORE, "PersistentVolumeClaim"), "events": _r(CORE, "Event"),
    "persistentvolumes": _r(CORE, "PersistentVolume", False), "nodes": _r(CORE, "Node", False),
    "namespaces": _r(CORE, "Namespace", False),
    "deployments": _r(APPS, "Deployment"), "replicasets": _r(APPS, "ReplicaSet"), "statefulsets": _r(APPS, "StatefulSet"),
    "daemonsets": _r(APPS, "DaemonSet"), "controllerrevisions": _r(APPS, "ControllerRevision"),
    "jobs": _r(BATCH, "Job"), "cronjobs": _r(BATCH, "CronJob"),
    "horizontalpodautoscalers": _r("/apis/autoscaling/v2", "HorizontalPodAutoscaler"),
    "poddisruptionbudgets": _r("/apis/policy/v1", "PodDisruptionBudget"),
    "endpointslices": _r("/apis/discovery.k8s.io/v1", "EndpointSlice"),
    "storageclasses": _r("/apis/storage.k8s.io/v1", "StorageClass", False),
    "volumeattachments": _r("/apis/storage.k8s.io/v1", "VolumeAttachment", False),
    "csidrivers": _r("/apis/storage.k8s.io/v1", "CSIDriver", False),
    "csinodes": _r("/apis/storage.k8s.io/v1", "CSINode", False),
    "volumeattributesclasses": _r("/apis/storage.k8s.io/v1", "VolumeAttributesClass", False),
    "certificatesigningrequests": _r("/apis/certificates.k8s.io/v1", "CertificateSigningRequest", False),
    "clusterroles": _r("/apis/rbac.authorization.k8s.io/v1", "ClusterRole", False),
    "clusterrolebindings": _r("/apis/rbac.authorization.k8s.io/v1", "ClusterRoleBinding", False),
    "roles": _r("/apis/rbac.authorization.k8s.io/v1", "Role"), "rolebindings": _r("/apis/rbac.authorization.k8s.io/v1", "RoleBinding"),
    "priorityclasses": _r("/apis/scheduling.k8s.io/v1", "PriorityClass", False),
    "runtimeclasses": _r("/apis/node.k8s.io/v1", "RuntimeClass", False),
    "resourceclaims": _r("/apis/resource.k8s.io/v1", "ResourceClaim"),
    "resourceclaimtemplates": _r("/apis/resource.k8s.io/v1", "ResourceClaimTemplate"),
    "resourceslices": _r("/apis/resource.k8s.io/v1", "ResourceSlice", False),
    "servicecidrs": _r("/apis/networking.k8s.io/v1", "ServiceCIDR", False),
    "ipaddresses": _r("/apis/networking.k8s.io/v1", "IPAddress", False),
    "validatingadmissionpolicies": _r("/apis/admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", False),
    "customresourcedefinitions": _r("/apis/apiextensions.k8s.io/v1", "CustomResourceDefinition", False),
    "apiservices": _r("/apis/apiregistration.k8s.io/v1", "APIService", False),
    "leases": _r("/apis/coordination.k8s.io/v1", "Lease"),
    "widgets": _r("/apis/gold.example.com/v1", "Widget"), "cwidgets": _r("/apis/gold.example.com/v1", "CWidget", False),
    "podmetrics": _r("/apis/metrics.k8s.io/v1beta1", "PodMetrics"),
    "queue-length": _r("/apis/external.metrics.k8s.io/v1beta1", "ExternalMetricValue"),
}
PLURAL_PATH = {"podmetrics": "pods"}          # the path segment where it is not the key of RES
UNWATCHED = {"storageclasses", "resourceslices", "csidrivers", "csinodes", "clusterrolebindings", "roles", "rolebindings",
             "priorityclasses", "runtimeclasses", "ipaddresses", "customresourcedefinitions", "apiservices", "leases",
             "podmetrics", "queue-length"}
# never part of a snapshot unless it names them: controllers do not write them (or only elsewhere)
NOT_DEFAULT = {"services", "events", "secrets", "resourceclaimtemplates", "controllerrevisions"}
BYKIND = {}
for _n, (_p, _k, _ns) in RES.items(): BYKIND[(_p.split("/", 2)[2], _k)] = _n

FIXTURES = {
    "widgets": [dict(apiVersion="apiextensions.k8s.io/v1", kind="CustomResourceDefinition",
        metadata=dict(name=f"{n}.gold.example.com"),
        spec=dict(group="gold.example.com", scope=scope, names=dict(plural=n, singular=n[:-1], kind=kind, listKind=kind + "List"),
            versions=[dict(name="v1", served=True, storage=True,
                subresources=dict(status={}, scale=dict(specReplicasPath=".spec.replicas", statusReplicasPath=".status.replicas", labelSelectorPath=".status.selector")),
                schema=dict(openAPIV3Schema=dict(type="object", properties=dict(
                    spec={"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"replicas": {"type": "integer"}}},
                    status={"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}}))))]))
        for n, kind, scope in (("widgets", "Widget", "Namespaced"), ("cwidgets", "CWidget", "Cluster"))],
    # resource and external metrics served by custom resources: what the HPA controller lists is made by the scenario
    "metrics": [dict(apiVersion="apiextensions.k8s.io/v1", kind="CustomResourceDefinition",
        metadata=dict(name=f"{n}.{g}", annotations={"api-approved.kubernetes.io": "unapproved, test fixture"}),
        spec=dict(group=g, scope="Namespaced", names=dict(plural=n, singular=sing, kind=kind, listKind=kind + "List"),
            versions=[dict(name="v1beta1", served=True, storage=True,
                schema=dict(openAPIV3Schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True}))]))
        for g, n, sing, kind in (("metrics.k8s.io", "pods", "podmetrics", "PodMetrics"), ("external.metrics.k8s.io", "queue-length", "queuelength", "ExternalMetricValue"))],
}

# ---------------------------------------------------------------- HTTP

class Api:
    def __init__(self, a):
        self.u = urllib.parse.urlparse(a.server); self.local = threading.local()
        self.headers = {"Authorization": "Bearer " + a.token} if a.token else {}
        self.headers["User-Agent"] = "golden/1.0 (scenario)"
        self.ctx = None
        if self.u.scheme == "https":
            self.ctx = ssl.create_default_context(cafile=a.ca) if a.ca else ssl._create_unverified_context()
            if a.cert: self.ctx.load_cert_chain(a.cert, a.key)
    def conn(self, timeout):
        if self.ctx is None: return http.client.HTTPConnection(self.u.hostname, self.u.port, timeout=timeout)
        return http.client.HTTPSConnection(self.u.hostname, self.u.port, context=self.ctx, timeout=timeout)
    def call(self, method, path, body=None, ctype="application/json"):
        for attempt in range(4):
            c = getattr(self.local, "c", None)
            if c is None: c = self.local.c = self.conn(60)
            try:
                h = dict(self.headers)
                if body is not None: h["Content-Type"] = ctype
                c.request(method, path, json.dumps(body) if body is not None else None, h)
                r = c.getresponse(); d = r.read()
                try: j = json.loads(d) if d else {}
                except ValueError: j = {"raw": d.decode(errors="replace")}
                if r.status in (429, 503) and attempt < 3:
                    time.sleep(float(r.getheader("Retry-After") or 1)); continue
                return r.status, j
            except (OSError, http.client.HTTPException) as e:
                self.local.c = None
                if attempt == 3: raise
                time.sleep(0.3)
    def watch(self, path):
        c = self.conn(400); c.request("GET", path, headers=self.headers)
        r = c.getresponse()
        if r.status != 200: raise OSError(f"watch {path}: {r.status}")
        try:
            while True:
                line = r.readline()
                if not line: return
                yield json.loads(line)
        finally: c.close()

def res_path(res, ns=None, name=None, sub=None):
    pre, _, namespaced = RES[res]
    p = pre + (f"/namespaces/{ns}" if namespaced and ns else "") + "/" + PLURAL_PATH.get(res, res)
    if name: p += "/" + urllib.parse.quote(name, safe="")
    if sub: p += "/" + sub
    return p

# ---------------------------------------------------------------- the hub: one watch per resource for all scenarios

PREFIX = re.compile(r"gs[a-z0-9]{6}(?![a-z0-9])")

class Hub:
    def __init__(self, api):
        self.api = api; self.scn = {}; self.ready = threading.Semaphore(0); self.started = set()
    def start(self, names):
        todo = [n for n in names if n not in self.started]
        for n in todo:
            self.started.add(n); threading.Thread(target=self.loop, args=(n,), daemon=True).start()
        for n in todo: self.ready.acquire(timeout=30)
    def owner(self, res, o):
        m = o["metadata"]; cand = [m.get("namespace", ""), m["name"]]
        if res == "events": cand = [o["involvedObject"].get("namespace", ""), o["involvedObject"].get("name", "")]
        elif res == "persistentvolumes": cand.append((o.get("spec", {}).get("claimRef") or {}).get("namespace", ""))
        elif res == "volumeattachments": cand.append(o.get("spec", {}).get("nodeName", ""))
        elif res == "servicecidrs" or res == "certificatesigningrequests": pass
        for c in cand:
            x = PREFIX.search(c)
            if x and x.group(0) in self.scn: return self.scn[x.group(0)]
        lab = (m.get("labels") or {}).get("gold/scenario")
        return self.scn.get(lab) if lab else None
    def loop(self, res):
        path = res_path(res); first = True; known = {}
        while True:
            try:
                s, l = self.api.call("GET", path + "?resourceVersion=0" if not first else path)
                if s == 404 or s == 403:
                    if first: self.ready.release(); first = False
                    time.sleep(5); continue
                if s != 200: raise OSError(f"list {res}: {s}")
                fresh = {}
                kind = RES[res][1]
                for o in l.get("items") or []:
                    o["kind"] = kind; fresh[o["metadata"]["uid"]] = o
                    if o["metadata"]["uid"] not in known: self.put("ADDED", res, o)
                    elif known[o["metadata"]["uid"]] != o["metadata"]["resourceVersion"]: self.put("MODIFIED", res, o)
                for uid in list(known):
                    if uid not in fresh: self.gone(res, uid)
                known = {u: o["metadata"]["resourceVersion"] for u, o in fresh.items()}
                if first: self.ready.release(); first = False
                for e in self.api.watch(f"{path}?watch=1&timeoutSeconds=300&resourceVersion={l['metadata']['resourceVersion']}"):
                    o = e["object"]
                    if e["type"] == "ERROR": break
                    if e["type"] == "BOOKMARK": continue
                    u = o["metadata"]["uid"]
                    if e["type"] == "DELETED": known.pop(u, None)
                    else: known[u] = o["metadata"]["resourceVersion"]
                    self.put(e["type"], res, o)
            except Exception as e:
                if os.environ.get("GOLD_DEBUG"): print("hub", res, repr(e), file=sys.stderr)
                time.sleep(0.5)
    def put(self, typ, res, o):
        s = self.owner(res, o)
        if s: s.observe(typ, res, o)
    def gone(self, res, uid):
        for s in list(self.scn.values()):
            for k, o in list(s.cur.items()):
                if k[0] == res and o["metadata"]["uid"] == uid: s.observe("DELETED", res, o)

# ---------------------------------------------------------------- small languages: selectors, paths, conditions

def match_selector(sel, labels):
    if not sel: return True
    labels = labels or {}
    for part in sel.split(","):
        part = part.strip()
        if "!=" in part:
            k, v = part.split("!=", 1)
            if labels.get(k) == v: return False
        elif "=" in part:
            k, v = part.replace("==", "=").split("=", 1)
            if labels.get(k) != v: return False
        elif part.startswith("!"):
            if part[1:] in labels: return False
        elif part not in labels: return False
    return True

TOKEN = re.compile(r"\.([A-Za-z0-9_\-]+)|\[([^\]]*)\]")
def lookup(o, path):
    pos = 0; cur = o
    while pos < len(path):
        m = TOKEN.match(path, pos)
        if not m: raise ValueError("bad path " + path)
        pos = m.end()
        if m.group(1) is not None: cur = cur.get(m.group(1)) if isinstance(cur, dict) else None
        else:
            k = m.group(2)
            if isinstance(cur, list):
                if "=" in k:
                    a, b = k.split("=", 1); cur = next((x for x in cur if isinstance(x, dict) and str(x.get(a)) == b), None)
                else: cur = cur[int(k)] if -len(cur) <= int(k) < len(cur) else None
            elif isinstance(cur, dict): cur = cur.get(k)
            else: cur = None
        if cur is None: return None
    return cur

COND = re.compile(r"^\s*(len\()?((?:\.[A-Za-z0-9_\-]+|\[[^\]]*\])+)\)?\s+(==|!=|>=|<=|>|<|contains|matches|exists|absent)\s*(.*?)\s*$")
def holds(o, cond):
    if cond == "observed": return ((o.get("status") or {}).get("observedGeneration") or 0) >= o["metadata"].get("generation", 0)
    m = COND.match(cond)
    if not m: raise ValueError("bad condition " + cond)
    v = lookup(o, m.group(2)); op, w = m.group(3), m.group(4)
    if m.group(1): v = len(v) if v is not None else 0
    if op == "exists": return v is not None
    if op == "absent": return v is None
    try: w = json.loads(w)
    except ValueError: pass
    if op == "==": return v == w or (v is None and w in (0, "", False))
    if op == "!=": return not (v == w or (v is None and w in (0, "", False)))
    if op == "contains": return v is not None and (w in v if not isinstance(v, str) else str(w) in v)
    if op == "matches": return v is not None and re.search(str(w), str(v)) is not None
    v = 0 if v is None else v
    return {">=": v >= w, "<=": v <= w, ">": v > w, "<": v < w}[op]

def count_ok(n, want):
    if isinstance(want, int): return n == want
    m = re.match(r"(>=|<=|>|<)?\s*(\d+)$", want); k = int(m.group(2))
    return {">=": n >= k, "<=": n <= k, ">": n > k, "<": n < k, None: n == k}[m.group(1)]

# ---------------------------------------------------------------- certificates and tokens, summarised

def der(b, i=0):
    """One TLV: (tag, content bytes, next index)."""
    tag = b[i]; n = b[i + 1]; i += 2
    if n & 0x80:
        k = n & 0x7f; n = int.from_bytes(b[i:i + k], "big"); i += k
    return tag, b[i:i + n], i + n
def ders(b):
    out = []; i = 0
    while i < len(b):
        t, c, i = der(b, i); out.append((t, c))
    return out
def oid(b):
    out = [b[0] // 40, b[0] % 40]; v = 0
    for x in b[1:]:
        v = v << 7 | x & 0x7f
        if not x & 0x80: out.append(v); v = 0
    return ".".join(map(str, out))
OIDS = {"2.5.4.3": "CN", "2.5.4.10": "O", "2.5.4.11": "OU", "1.3.6.1.5.5.7.3.1": "server auth", "1.3.6.1.5.5.7.3.2": "client auth",
        "1.3.6.1.5.5.7.3.3": "code signing", "1.3.6.1.5.5.7.3.4": "email protection", "1.3.6.1.5.5.7.3.8": "timestamping", "2.5.29.37.0": "any"}
KU = ["digital signature", "content commitment", "key encipherment", "data encipherment", "key agreement", "cert sign", "crl sign", "encipher only", "decipher only"]
def rdn(b):
    out = []
    for _, s in ders(b):
        for _, a in ders(s):
            x = ders(a); out.append(f"{OIDS.get(oid(x[0][1]), oid(x[0][1]))}={x[1][1].decode()}")
    return ",".join(out)
def xtime(t, c):
    s = c.decode(); s = s if t == 0x18 else ("20" + s)
    return datetime.datetime.strptime(s, "%Y%m%d%H%M%SZ")
def cert_summary(pem):
    try:
        blocks = re.findall(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", pem, re.S)
        d = base64.b64decode(blocks[0]); tbs = ders(ders(d)[0][1])[0][1]; f = ders(tbs)
        if f[0][0] == 0xa0: f = f[1:]
        nb, na = [xtime(*x) for x in ders(f[3][1])]
        secs = (na - nb).total_seconds()
        out = {"certificates": len(blocks), "subject": rdn(f[4][1]), "validitySeconds": int(secs)}
        for t, c in f[6:]:
            if t != 0xa3: continue
            for _, e in ders(ders(c)[0][1]):
                x = ders(e); o = oid(x[0][1]); crit = len(x) == 3; v = x[-1][1]
                if o == "2.5.29.15":
                    bits = ders(v)[0][1]; n = int.from_bytes(bits[1:], "big"); w = (len(bits) - 1) * 8
                    out["keyUsage"] = [KU[i] for i in range(min(w, 9)) if n >> (w - 1 - i) & 1]; out["keyUsageCritical"] = crit
                elif o == "2.5.29.37": out["extKeyUsage"] = [OIDS.get(oid(y), oid(y)) for _, y in ders(ders(v)[0][1])]
                elif o == "2.5.29.19": out["basicConstraints"] = {"ca": any(y[0] == 1 and y[1] != b"\0" for y in ders(ders(v)[0][1])), "critical": crit}
                elif o == "2.5.29.17": out["subjectAltName"] = [(y.decode() if tt == 0x82 or tt == 0x81 else ".".join(map(str, y)) if tt == 0x87 and len(y) == 4 else y.hex()) for tt, y in ders(ders(v)[0][1])]
                elif o in ("2.5.29.14", "2.5.29.35"): pass
                else: out.setdefault("otherExtensions", []).append(o)
        return out
    except Exception as e: return f"<unreadable certificate: {e}>"
def jwt_summary(tok):
    try:
        h, p = [json.loads(base64.urlsafe_b64decode(x + "=" * (-len(x) % 4))) for x in tok.split(".")[:2]]
        h.pop("kid", None); return {"header": h, "claims": p}
    except Exception as e: return f"<unreadable token: {e}>"

# ---------------------------------------------------------------- normalisation

RE_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
RE_TIME = re.compile(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d(?: \w+)?)")
RANDOM = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}")   # what the server appends to generateName
RE_NODE = re.compile(r"\bsim-\d+\b"); RE_ZONE = re.compile(r"\bzone-\d+\b")
RE_VA = re.compile(r"csi-[0-9a-f]{64}")
RE_KAA = re.compile(r"kube-api-access-[a-z0-9]{5}\b")
DEFAULTS = {  # dropped wherever a pod spec (template) carries exactly this value
    "terminationMessagePath": ["/dev/termination-log"], "terminationMessagePolicy": ["File"], "dnsPolicy": ["ClusterFirst"],
    "imagePullPolicy": ["IfNotPresent", "Always"], "schedulerName": ["default-scheduler"], "terminationGracePeriodSeconds": [30],
    "enableServiceLinks": [True], "preemptionPolicy": ["PreemptLowerPriority"], "priority": [0], "serviceAccount": ["default"],
    "serviceAccountName": ["default"], "restartPolicy": ["Always"], "resources": [{}], "securityContext": [{}],
}
DEFAULT_TOL = [{"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300},
               {"effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300}]
POD_CONDITIONS = {"Initialized", "ContainersReady", "PodReadyToStartContainers", "PodScheduled"}   # dropped: not the controllers'
DROP_EVENT_SOURCES = {"default-scheduler", "kubelet", "apiserver", "ipallocator-repair-controller", "portallocator-repair-controller"}
RACY_EVENT = re.compile(r"the object has been modified|StorageError: invalid object|because it is being terminated")

class Norm:
    """Replaces everything that differs from run to run; built from all objects seen so far in the scenario."""
    def __init__(self, s):
        self.s = s; self.tok = {s.p: "${p}"}; self.uid = {}; self.va = {}; hashes = {}; revs = {}
        rank = {"replicasets": 0, "controllerrevisions": 0, "cronjobs": 0, "jobs": 1, "pods": 3}
        known = sorted(s.seen.values(), key=lambda x: (rank.get(x["res"], 2), x["n"]))   # what names others first; watches are not ordered among each other
        self.owners = {x["o"]["metadata"]["name"] for x in known if x["res"] in ("replicasets", "replicationcontrollers", "daemonsets", "jobs", "services", "endpoints")}
        for x in known:
            o, res = x["o"], x["res"]; m = o["metadata"]; name = m["name"]; gen = m.get("generateName")
            own = x["own"]
            if res == "replicasets" and own and own["kind"] == "Deployment" and name.startswith(own["name"] + "-"):
                h = name[len(own["name"]) + 1:]; hashes.setdefault(h, f"<hash{len(hashes) + 1}>")
                self.tok[h] = hashes[h]; self.tok[name] = f"{own['name']}-{hashes[h]}"
                lab = (m.get("labels") or {}).get("pod-template-hash")
                if lab and lab != h: self.tok.setdefault(lab, f"<hash{len(hashes) + 1}>")
            elif res == "controllerrevisions" and own and name.startswith(own["name"] + "-"):
                h = name[len(own["name"]) + 1:]; revs.setdefault(h, f"<rev{len(revs) + 1}>")
                self.tok[h] = revs[h]; self.tok[name] = f"{own['name']}-{revs[h]}"
            elif gen and name.startswith(gen) and RANDOM.fullmatch(name[len(gen):]): self.tok[name] = self.name(gen) + "<rand>"
            elif res == "jobs" and own and own["kind"] == "CronJob" and re.fullmatch(r"\d{6,10}", name[len(own["name"]) + 1:]):
                self.tok[name] = own["name"] + "-<minute>"
            self.uid[m["uid"]] = f"<uid:{o['kind']}/{self.name(name)}>"
            if res == "pods":
                for ip in [i["ip"] for i in (o.get("status") or {}).get("podIPs") or []]:
                    if ip not in s.literal: self.tok[ip] = f"<ip:{self.name(name)}>"
            if res == "services":
                for ip in o["spec"].get("clusterIPs") or []:
                    if ip != "None" and ip not in s.literal: self.tok[ip] = "<clusterIP>"
            if res == "volumeattachments":
                pv = next((y["o"] for y in known if y["res"] == "persistentvolumes" and y["o"]["metadata"]["name"] == o["spec"]["source"].get("persistentVolumeName")), None)
                sp = (pv or {}).get("spec", {}).get("csi") or (o["spec"]["source"].get("inlineVolumeSpec") or {}).get("csi")
                ok = sp and name == "csi-" + hashlib.sha256((sp["volumeHandle"] + sp["driver"] + o["spec"]["nodeName"]).encode()).hexdigest()
                self.va[name] = "csi-<sha256(volumeHandle+driver+nodeName)>" if ok else name if not RE_VA.fullmatch(name) else "csi-<other hash>"
        # names that the server generated for objects that were refused, known from messages only
        self.refused = re.compile("(?<![A-Za-z0-9])(" + "|".join(sorted((re.escape(o) for o in self.owners), key=len, reverse=True)) + ")-[bcdfghjklmnpqrstvwxz2456789]{5}(?![A-Za-z0-9-])") if self.owners else None
        self.rx = re.compile("(?<![A-Za-z0-9])(?:" + "|".join(re.escape(t) for t in sorted(self.tok, key=len, reverse=True)) + ")(?![A-Za-z0-9])")
    def name(self, n): return re.sub(r"(?<![A-Za-z0-9])[a-z0-9.\-]+", lambda m: self.longest(m.group(0)), n)
    def longest(self, w):
        for t in sorted(self.tok, key=len, reverse=True):
            w = re.sub("(?<![A-Za-z0-9<])" + re.escape(t) + "(?![A-Za-z0-9>])", lambda _: self.tok[t], w)
        return w
    def text(self, t, deep=True):
        if t in self.s.literal and "\n" not in t and len(t) < 200 and self.s.p not in t: return t
        t = RE_VA.sub(lambda m: self.va.get(m.group(0), "csi-<other hash>"), t)
        t = RE_UID.sub(lambda m: self.uid.get(m.group(0), m.group(0) if m.group(0) in self.s.literal else "<uid>"), t)
        if self.refused: t = self.refused.sub(lambda m: m.group(0) if m.group(0) in self.tok else m.group(1) + "-<rand>", t)
        t = self.rx.sub(lambda m: self.tok[m.group(0)], t)
        t = RE_TIME.sub("<time>", t); t = RE_NODE.sub("<node>", t); t = RE_ZONE.sub("<zone>", t); t = RE_KAA.sub("kube-api-access-<rand>", t)
        for sub in self.s.d.get("sub") or []: t = re.sub(sub[0], sub[1], t)
        return t

    def walk(self, x, key=None):
        if isinstance(x, dict):
            out = {}
            for k, v in x.items():
                if v is None or k in ("managedFields", "resourceVersion", "selfLink", "creationTimestamp"): continue
                if k in ("nodePort", "healthCheckNodePort") and isinstance(v, int) and v >= 30000: v = "<nodePort>"
                elif k == "observedGeneration" and isinstance(v, int): v = "<gen>" if v == self.gen else f"<behind generation by {self.gen - v}>"
                else: v = self.walk(v, k)
                out[self.text(k) if len(k) > 6 else k] = v
            return out
        if isinstance(x, list):
            l = [self.walk(i, key) for i in x]
            if key in ("conditions", "ownerReferences", "taints", "endpoints", "addresses", "notReadyAddresses", "subsets", "active", "reservedFor", "volumesAttached", "ports") and all(isinstance(i, dict) for i in l):
                if key == "ports" and not self.sortports: return l
                l.sort(key=lambda i: json.dumps(i, sort_keys=True))
                if key in ("endpoints", "addresses", "notReadyAddresses"): l = group(l)
            elif key == "warnings" : l = [i if not isinstance(i, str) else i for i in l]
            return l
        if isinstance(x, str): return self.text(x)
        return x

    def podspec(self, sp, pod):
        """Drops what API defaulting and admission fill in."""
        sp = copy.deepcopy(sp)
        if "restartPolicy" in sp and sp["restartPolicy"] == "Always": del sp["restartPolicy"]
        for k, vals in DEFAULTS.items():
            if k in sp and sp[k] in vals: del sp[k]
        if pod:
            t = [x for x in sp.get("tolerations") or [] if x not in DEFAULT_TOL]
            sp.pop("tolerations", None)
            if t: sp["tolerations"] = t
        v = [x for x in sp.get("volumes") or [] if not x["name"].startswith("kube-api-access-")]
        sp.pop("volumes", None)
        if v: sp["volumes"] = v
        for cs in ("containers", "initContainers", "ephemeralContainers"):
            for c in sp.get(cs) or []:
                for k, vals in DEFAULTS.items():
                    if k in c and c[k] in vals and not (k == "restartPolicy"): del c[k]
                vm = [x for x in c.get("volumeMounts") or [] if not x["name"].startswith("kube-api-access-")]
                c.pop("volumeMounts", None)
                if vm: c["volumeMounts"] = vm
        return sp

    def object(self, res, o):
        o = copy.deepcopy(o); kind = o["kind"] = RES[res][1]; m = o["metadata"]; self.gen = m.get("generation", 0)
        self.sortports = res in ("endpoints", "endpointslices")
        for k in ("uid", "creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink"): m.pop(k, None)
        o.pop("apiVersion", None); o.pop("kind", None)
        if not RES[res][2] or m.get("namespace") == self.s.ns: m.pop("namespace", None)
        st = o.get("status")
        if res == "pods":
            for k in ("topology.kubernetes.io/region", "topology.kubernetes.io/zone"): (m.get("labels") or {}).pop(k, None)   # set by the server at binding
            o["spec"] = self.podspec(o["spec"], True)
            keep = {k: st[k] for k in ("phase", "reason", "message", "resourceClaimStatuses", "extendedResourceClaimStatus") if st.get(k)}
            conds = [{k: v for k, v in c.items() if k not in ("lastProbeTime", "observedGeneration")} for c in st.get("conditions") or [] if c["type"] not in POD_CONDITIONS]
            if conds: keep["conditions"] = conds
            o["status"] = keep
        elif res == "nodes":
            o["spec"].pop("podCIDR", None)
            if o["spec"].get("podCIDRs"): o["spec"]["podCIDRs"] = [re.sub(r"\d+\.\d+\.\d+\.\d+/", "<cidr>/", c) for c in o["spec"]["podCIDRs"]]
            keep = {"conditions": [c for c in st.get("conditions") or []]}
            for k in ("volumesAttached", "volumesInUse"):
                if st.get(k): keep[k] = st[k]
            o["status"] = keep
        elif res in ("endpoints", "endpointslices") and not self.s.d.get("triggerTime"):
            (m.get("annotations") or {}).pop("endpoints.kubernetes.io/last-change-trigger-time", None)   # there or not by how changes were batched
        elif res == "namespaces": (m.get("labels") or {}).pop("kubernetes.io/metadata.name", None)
        elif res in ("replicasets", "deployments", "statefulsets", "daemonsets", "replicationcontrollers", "jobs"):
            o["spec"]["template"]["spec"] = self.podspec(o["spec"]["template"]["spec"], False)
        elif res == "cronjobs":
            t = o["spec"]["jobTemplate"]["spec"]["template"]; t["spec"] = self.podspec(t["spec"], False)
        elif res == "controllerrevisions":
            o.pop("data", None)   # raw text of the template: its form is the implementation's own
        elif res == "certificatesigningrequests":
            o["spec"] = {k: v for k, v in o["spec"].items() if k not in ("request", "uid", "extra")}
            if (st or {}).get("certificate"): st["certificate"] = cert_summary(base64.b64decode(st["certificate"]).decode())
        elif res == "secrets":
            d = {}
            for k, v in (o.get("data") or {}).items():
                try: t = base64.b64decode(v).decode()
                except Exception: t = v
                d[k] = jwt_summary(t) if k == "token" and t.count(".") == 2 else "<CA bundle>" if t.startswith("-----BEGIN CERT") else t
            if d: o["data"] = d
        elif res == "configmaps":
            for k, v in (o.get("data") or {}).items():
                if "-----BEGIN CERTIFICATE-----" in v: o["data"][k] = "<CA bundle>"
        elif res == "services":
            for k in ("sessionAffinity", "internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy", "status"): o.get("spec", {}).pop(k, None)
        elif res == "customresourcedefinitions": o.pop("spec", None)
        out = self.walk(o)
        if isinstance(out.get("metadata"), dict):
            for k in ("labels", "annotations", "finalizers", "ownerReferences"):
                if not out["metadata"].get(k): out["metadata"].pop(k, None)
        for k in ("status", "spec"):
            if out.get(k) == {}: out.pop(k)
        return out

def group(l):
    """Equal neighbours become one entry with a count."""
    out = []
    for x in l:
        if out and {k: v for k, v in out[-1].items() if k != "count*"} == x: out[-1]["count*"] = out[-1].get("count*", 1) + 1
        else: out.append(dict(x))
    return out

def remove_path(o, path):
    toks = [a or b for a, b in TOKEN.findall(path)]
    def rec(cur, i):
        if cur is None: return
        t = toks[i]; last = i == len(toks) - 1
        if isinstance(cur, list):
            if t == "*": items = list(cur)
            elif "=" in t: a, b = t.split("=", 1); items = [x for x in cur if isinstance(x, dict) and str(x.get(a)) == b]
            else: items = cur[int(t):int(t) + 1]
            for x in items:
                if last: cur.remove(x)
                else: rec(x, i + 1)
        elif isinstance(cur, dict):
            for k in ([t] if t != "*" else list(cur)):
                if k in cur:
                    if last: del cur[k]
                    else: rec(cur[k], i + 1)
    rec(o, 0)

# ---------------------------------------------------------------- one scenario

class Failed(Exception): pass

def strings(x, out):
    if isinstance(x, dict):
        for k, v in x.items(): out.add(k); strings(v, out)
    elif isinstance(x, list):
        for v in x: strings(v, out)
    elif isinstance(x, str): out.add(x)

class Scenario:
    def __init__(self, api, hub, file, data, mode, opts):
        self.api, self.hub, self.file, self.d, self.mode, self.o = api, hub, file, data, mode, opts
        rnd = random.SystemRandom()
        self.p = "gs" + rnd.choice("bcdfghjkmnpqrtvwxz") + "".join(rnd.choice(string.ascii_lowercase + string.digits) for _ in range(5))
        self.ns = self.p; self.vars = {"p": self.p, "ns": self.ns}
        self.cur = {}; self.seen = {}; self.log = []; self.last = time.time(); self.cv = threading.Condition()
        self.created = []; self.snaps = {}; self.literal = set(); strings(data.get("steps", []), self.literal)
        self.n = 0; self.t0 = time.time(); self.err = None
    # -- observation
    def observe(self, typ, res, o):
        with self.cv:
            m = o["metadata"]; k = (res, m.get("namespace", ""), m["name"]); o["kind"] = RES[res][1]
            prev = self.cur.get(k)
            if typ == "DELETED":
                if prev is not None and prev["metadata"]["uid"] == m["uid"]: self.cur.pop(k, None)
            else: self.cur[k] = o
            x = self.seen.get(m["uid"])
            if x is None:
                self.n += 1; x = self.seen[m["uid"]] = {"n": self.n, "res": res, "o": o, "events": []}
                if typ == "MODIFIED": typ = "ADDED"
            if x.get("own") is None: x["own"] = next((r for r in m.get("ownerReferences") or [] if r.get("controller")), None)   # remembered after a release
            if res == "pods" and x["o"].get("status", {}).get("podIPs") and not o.get("status", {}).get("podIPs"): pass
            else: x["o"] = o
            ev = typ
            if typ == "MODIFIED" and prev is not None:
                if m.get("deletionTimestamp") and not prev["metadata"].get("deletionTimestamp"): ev = "DELETING"
                elif res == "pods" and ready(o) and not ready(prev): ev = "READY"
            self.log.append((time.time(), ev, res, o))
            if not (res == "nodes" and ev == "MODIFIED" and prev is not None and strip_beats(prev) == strip_beats(o)): self.last = time.time()
            self.cv.notify_all()
    # -- text
    def sub(self, x):
        if isinstance(x, str): return re.sub(r"\$\{([A-Za-z0-9_.]+)\}", lambda m: str(self.vars.get(m.group(1), m.group(0))), x)
        if isinstance(x, list): return [self.sub(i) for i in x]
        if isinstance(x, dict): return {self.sub(k): self.sub(v) for k, v in x.items()}
        return x
    def target(self, t, ns=None):
        """'pods/web-0', 'pods', 'persistentvolumes/x/status', or a raw path -> (res or None, ns, name, sub, path)"""
        if t.startswith("/"): return None, None, None, None, t
        parts = t.split("/"); res = parts[0]; ns = ns or self.ns
        if not RES[res][2]: ns = None
        name = parts[1] if len(parts) > 1 else None; sub = parts[2] if len(parts) > 2 else None
        return res, ns, name, sub, res_path(res, ns, name, sub)
    def must(self, what, s, j, expect=None):
        if expect is not None:
            if s != expect: raise Failed(f"{what}: status {s} instead of {expect}: {j.get('message', '')}")
        elif not 200 <= s < 300: raise Failed(f"{what}: status {s}: {j.get('message', j)}")
    # -- steps
    def ensure_ns(self, ns, labels=None):
        s, j = self.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": ns, "labels": labels or {}}})
        if s not in (201, 409): raise Failed(f"create namespace: {s} {j.get('message')}")
        self.created.append(f"/api/v1/namespaces/{ns}")
        end = time.time() + 15
        while time.time() < end and not self.d.get("noServiceAccount"):
            if ("serviceaccounts", ns, "default") in self.cur: return
            time.sleep(0.05)
    def step_namespace(self, st): self.ensure_ns(st["namespace"], st.get("labels"))
    def step_create(self, st):
        for i in range(st.get("times", 1)):
            self.vars["i"] = i
            self.post(self.sub(copy.deepcopy(st["create"])), st)
    def post(self, o, st):
        gv = o["apiVersion"]; res = BYKIND.get((gv, o["kind"]))
        if res is None: raise Failed(f"unknown kind {gv} {o['kind']}")
        ns = None
        if RES[res][2]: ns = o["metadata"].setdefault("namespace", self.ns)
        elif o["kind"] != "Namespace" and not PREFIX.search(o["metadata"]["name"]): o["metadata"].setdefault("labels", {})["gold/scenario"] = self.p
        status = st.get("status"); s = 0; j = {}
        for attempt in range(20):
            s, j = self.api.call("POST", res_path(res, ns), o)
            # a fresh namespace's account, quota or class may not have reached every admission cache yet
            if s == 403 and st.get("expectStatus") is None and re.search(r"no API token found|serviceaccount .* not found|status unknown for quota|error looking up service account", str(j.get("message"))): time.sleep(0.3)
            else: break
        if s == 409 and st.get("upsert"):
            s, j = self.api.call("PATCH", res_path(res, ns, o["metadata"]["name"]), o, "application/merge-patch+json")
        self.must(f"create {o['kind']} {o['metadata'].get('name')}", s, j, st.get("expectStatus"))
        if s >= 300: return
        name = j["metadata"]["name"]; self.created.append(res_path(res, ns, name))
        if st.get("as"): self.vars[st["as"]] = name; self.vars[st["as"] + ".uid"] = j["metadata"]["uid"]
        if status is not None:
            s, j = self.api.call("PATCH", res_path(res, ns, name, "status"), {"status": self.sub(copy.deepcopy(status))}, "application/merge-patch+json")
            self.must(f"status of {o['kind']} {name}", s, j)
    def step_apply(self, st): self.post(self.sub(copy.deepcopy(st["apply"])), {**st, "upsert": True})
    def step_patch(self, st):
        *_, path = self.target(st["patch"], st.get("ns"))
        ct = {"merge": "application/merge-patch+json", "strategic": "application/strategic-merge-patch+json", "json": "application/json-patch+json"}[st.get("type", "merge")]
        for _ in range(5):
            s, j = self.api.call("PATCH", path, st["body"], ct)
            if s != 409: break
            time.sleep(0.2)
        self.must("patch " + st["patch"], s, j, st.get("expectStatus"))
    def step_put(self, st):
        """PUT of the live object with a merge patch laid over it (for subresources that take no patch)."""
        *_, path = self.target(st["put"], st.get("ns"))
        for _ in range(5):
            s, j = self.api.call("GET", path.rsplit("/", 1)[0] if st.get("from") == "parent" else path); self.must("get " + st["put"], s, j)
            s, j = self.api.call("PUT", path, merge(j, st["body"]))
            if s != 409: break
        self.must("put " + st["put"], s, j, st.get("expectStatus"))
    def step_delete(self, st):
        res, ns, name, sub, path = self.target(st["delete"], st.get("ns"))
        if st.get("selector"): path += "?labelSelector=" + urllib.parse.quote(st["selector"])
        s, j = self.api.call("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", **st.get("options", {})})
        self.must("delete " + st["delete"], s, j, st.get("expectStatus"))
    def step_post(self, st):
        *_, path = self.target(st["post"], st.get("ns"))
        s, j = self.api.call("POST", path, st["body"]); self.must("post " + st["post"], s, j, st.get("expectStatus"))
    def select(self, res, ns, st):
        return [o for (r, n, _), o in sorted(self.cur.items()) if r == res and (ns is None or n == ns) and match_selector(st.get("selector"), o["metadata"].get("labels")) and all(holds(o, c) for c in st.get("for") or [])]
    def reached(self, st, res, ns, name, path, live):
        conds = st.get("for") or []
        if isinstance(conds, str): conds = [conds]
        if name or res is None:
            if live or res is None or res not in self.hub.started:
                s, o = self.api.call("GET", path); o = o if s == 200 else None
            else: o = self.cur.get((res, ns or "", name))
            if conds == ["absent"]: return o is None
            return o is not None and all(holds(o, c) for c in conds)
        if live or res not in self.hub.started:
            s, l = self.api.call("GET", path + ("?labelSelector=" + urllib.parse.quote(st["selector"]) if st.get("selector") else ""))
            objs = [o for o in l.get("items") or [] if all(holds(o, c) for c in conds)]
        else: objs = self.select(res, ns, {**st, "for": conds})
        return count_ok(len(objs), st.get("count", ">=1"))
    def step_wait(self, st):
        res, ns, name, sub, path = self.target(st["wait"], st.get("ns")); end = time.time() + st.get("timeout", 30) * self.o.slow
        while True:
            with self.cv: n0 = len(self.log)
            if self.reached(st, res, ns, name, path, False) and (res is None or res not in self.hub.started or self.reached(st, res, ns, name, path, True)): return
            if time.time() > end:
                with self.cv:
                    N = Norm(self)
                    objs = [N.object(r, o) for (r, n, m), o in sorted(self.cur.items()) if r == res and (ns is None or n == ns) and (name is None or m == name)]
                raise Failed(f"timed out: wait {st['wait']} {st.get('selector', '')} for {st.get('for')} count {st.get('count', '')}\nnow: " + dumps(objs)[:3000])
            with self.cv:
                if len(self.log) == n0: self.cv.wait(0.3 if res in self.hub.started else 0.2)
    def settle(self, quiet, timeout):
        end = time.time() + timeout * self.o.slow
        with self.cv: self.last = max(self.last, time.time())
        while time.time() < end:
            d = self.last + quiet - time.time()
            if d <= 0: return True
            time.sleep(min(d, 0.25) + 0.01)
        return False
    def step_settle(self, st):
        q = st["settle"] or 1.5
        self.settle(q if self.mode != "record" else max(q, 2.0), st.get("timeout", 30))
    def step_sleep(self, st): time.sleep(st["sleep"])
    def step_pick(self, st):
        res, ns, *_ = self.target(st["pick"], st.get("ns")); end = time.time() + st.get("timeout", 20)
        while True:
            l = sorted(self.select(res, ns, st), key=lambda o: (self.seen[o["metadata"]["uid"]]["n"]))
            i = st.get("index", 0)
            if len(l) > i: break
            if time.time() > end: raise Failed(f"pick {st['pick']}: only {len(l)} objects")
            time.sleep(0.1)
        self.vars[st["as"]] = l[i]["metadata"]["name"]; self.vars[st["as"] + ".uid"] = l[i]["metadata"]["uid"]
        for k, pth in (st.get("values") or {}).items(): self.vars[st["as"] + "." + k] = lookup(l[i], pth)
    def step_trace(self, st):
        """Order of appearance, readiness and deletion of objects, as text lines."""
        res = st["resource"]; what = st.get("what", ["ADDED", "DELETING", "DELETED"])
        def make():
            with self.cv:
                N = Norm(self)
                return [f"{ev} {N.name(o['metadata']['name'])}" for t, ev, r, o in self.log if r == res and ev in what and match_selector(st.get("selector"), o["metadata"].get("labels"))]
        self.compare(st, st["trace"], make)
    def step_snapshot(self, st):
        self.compare(st, st["snapshot"], lambda: self.take(st))
    def compare(self, st, name, make):
        want = (self.d.get("expect") or {}).get(name)
        quiet = st.get("settle", 1.5)
        if quiet: self.settle(quiet if self.mode != "record" or st.get("exact") else max(quiet, 2.5), st.get("settleTimeout", 25))
        got = make()
        if self.mode == "check" and want is not None:
            end = time.time() + st.get("poll", 12) * self.o.slow
            while got != want and time.time() < end: time.sleep(0.5); got = make()
        self.snaps[name] = got
    def take(self, st):
        want = st.get("resources"); out = {}
        with self.cv:
            N = Norm(self); spec = {}
            for w in want or []:
                w = {"resource": w} if isinstance(w, str) else w; spec[w["resource"]] = w
            rows = collections.defaultdict(list)
            for (res, ns, name), o in self.cur.items():
                if res == "events" or (res == "configmaps" and name == "openshift-service-ca.crt"): continue
                w = spec.get(res)
                if want is not None and w is None: continue
                if want is None and (res in NOT_DEFAULT or unremarkable(res, o)): continue
                if w is not None:
                    if w.get("name") and self.sub(w["name"]) != name: continue
                    if w.get("selector") and not match_selector(self.sub(w["selector"]), o["metadata"].get("labels")): continue
                    if w.get("ns") and ns and self.sub(w["ns"]) != ns: continue
                    if not all(holds(o, self.sub(c)) for c in w.get("for") or []): continue
                x = N.object(res, o)
                if w and w.get("fields"):
                    y = {"metadata": {"name": x["metadata"]["name"]}}
                    for f in w["fields"]: v = lookup(x, f); (y.__setitem__(f, v) if v is not None else None)
                    x = y
                for ig in self.d.get("ignore") or []:
                    if ig.get("resource") == res and fnmatch.fnmatchcase(x["metadata"]["name"], ig.get("name", "*")): remove_path(x, ig["path"])
                rows[res].append(x)
            for w in want or []:   # named but empty is information too
                rows.setdefault(w if isinstance(w, str) else w["resource"], [])
            for res in sorted(rows):
                l = sorted(rows[res], key=lambda x: (x["metadata"]["name"], json.dumps(x, sort_keys=True)))
                if res == "endpointslices" and (spec.get(res, {}).get("merge") or st.get("mergeSlices")): l = merge_slices(l)
                out[res] = group(l)
            if st.get("events", True): out["events"] = self.events(N, st)
            cr = st.get("created", ["pods", "replicasets", "jobs", "persistentvolumeclaims", "endpointslices", "volumeattachments", "resourceclaims"])
            if cr:
                n = collections.Counter(x["res"] for x in self.seen.values()); c = {}
                for k in (cr if isinstance(cr, list) else cr.keys()):
                    if isinstance(cr, dict) and cr[k]:
                        lo, hi = cr[k]; c[k] = f"{lo}..{hi}" if lo <= n[k] <= hi else n[k]
                    elif n[k]: c[k] = n[k]
                if c: out["created"] = c
        return out
    def events(self, N, st):
        acc = collections.Counter(); anyc = set(self.d.get("anyCount") or []) | set(st.get("anyCount") or [])
        for (res, _, _), e in self.cur.items():
            if res != "events": continue
            src = (e.get("source") or {}).get("component") or e.get("reportingComponent") or ""
            if src in DROP_EVENT_SOURCES or RACY_EVENT.search(e.get("message", "")): continue
            ob = e["involvedObject"]; msg = e.get("message", "")
            msg = msg.removeprefix("(combined from similar events): ")
            line = f"{ob['kind']}/{N.text(ob['name'])} {e.get('type')} {e.get('reason')} [{src}] {N.text(msg)}"
            if any(re.search(ig["event"], line) for ig in self.d.get("ignore") or [] if "event" in ig): continue
            acc[line] += e.get("count") or ((e.get("series") or {}).get("count")) or 1
        return [l + (" (once)" if n == 1 else " (many)") if l.split()[2] not in anyc else l for l, n in sorted(acc.items())]
    # -- run
    def run(self):
        self.hub.scn[self.p] = self
        try:
            if not self.d.get("noNamespace"): self.ensure_ns(self.ns, self.d.get("namespaceLabels"))
            for i, raw in enumerate(self.d["steps"]):
                kind = next((k for k in ("snapshot", "trace", "namespace", "create", "apply", "patch", "put", "post", "delete", "wait", "pick", "settle", "sleep") if k in raw), None)
                if kind is None: raise Failed(f"step {i}: unknown kind {list(raw)}")
                st = raw if kind in ("create", "apply", "snapshot", "trace") else self.sub(copy.deepcopy(raw))
                try: getattr(self, "step_" + kind)(st)
                except Failed as e: raise Failed(f"step {i + 1} ({kind}): {e}") from None
        except Failed as e: self.err = str(e)
        except Exception as e: self.err = f"internal: {e!r}\n" + traceback.format_exc()
        self.secs = time.time() - self.t0
        try: self.cleanup()
        except Exception as e: print("cleanup", self.d["name"], repr(e), file=sys.stderr)
        return self
    def cleanup(self):
        if self.o.keep: return
        with self.cv: objs = list(self.cur.items())
        for (res, ns, name), o in objs:
            if any("example.com" in f for f in o["metadata"].get("finalizers") or []):
                self.api.call("PATCH", res_path(res, ns or None, name), {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        for path in reversed(self.created):
            if path.startswith("/api/v1/namespaces/") and path.count("/") > 4: continue
            if "/namespaces/" in path and not path.startswith("/api/v1/namespaces/"): continue
            self.api.call("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background", **({"gracePeriodSeconds": 0} if "/nodes/" in path else {})})
        for (res, ns, name), o in objs:
            if not RES[res][2] and res != "namespaces" and res_path(res, None, name) not in self.created: self.api.call("DELETE", res_path(res, None, name))
        for ns in {x for x in self.created if re.fullmatch(r"/api/v1/namespaces/[^/]+", x)}:   # namespaces with foreign finalizers
            s, j = self.api.call("GET", ns)
            if s == 200 and [f for f in j["spec"].get("finalizers") or [] if f != "kubernetes"]:
                j["spec"]["finalizers"] = ["kubernetes"]; self.api.call("PUT", ns + "/finalize", j)
        # pods whose node is gone, or that were told to terminate slowly, would hold the namespace
        for (res, ns, name), o in objs:
            if res == "pods" and (not o["spec"].get("nodeName") or PREFIX.search(o["spec"]["nodeName"]) or "sim/delete-after" in (o["metadata"].get("annotations") or {})):
                self.api.call("DELETE", res_path(res, ns, name), {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        del self.hub.scn[self.p]

def ready(o): return any(c["type"] == "Ready" and c["status"] == "True" for c in (o.get("status") or {}).get("conditions") or [])
def strip_beats(o):
    o = copy.deepcopy(o); o["metadata"].pop("resourceVersion", None); o["metadata"].pop("managedFields", None)
    for c in o.get("status", {}).get("conditions") or []: c.pop("lastHeartbeatTime", None)
    return o
def unremarkable(res, o):
    m = o["metadata"]
    if res == "namespaces": return not m.get("deletionTimestamp") and not (o.get("status") or {}).get("conditions")
    if res == "serviceaccounts": return m["name"] == "default"
    if res == "configmaps": return m["name"] == "kube-root-ca.crt"
    return False
def merge(o, patch):
    if not isinstance(patch, dict): return patch
    o = dict(o) if isinstance(o, dict) else {}
    for k, v in patch.items():
        if v is None: o.pop(k, None)
        else: o[k] = merge(o.get(k), v)
    return o
def merge_slices(l):
    """How endpoints are spread over slices depends on timing: one entry per address type and ports."""
    acc = {}
    for s in l:
        k = json.dumps([s["addressType"], s.get("ports"), s["metadata"].get("labels"), s["metadata"].get("ownerReferences")], sort_keys=True)
        a = acc.setdefault(k, {**s, "endpoints": [], "slices*": 0, "metadata": {k2: v for k2, v in s["metadata"].items() if k2 != "annotations"}})
        a["slices*"] += 1
        if sum(e.get("count*", 1) for e in s.get("endpoints") or []) > 100: a["over100*"] = True
        for e in s.get("endpoints") or []:
            n = e.get("count*", 1); a["endpoints"] += [{k2: v for k2, v in e.items() if k2 != "count*"}] * n
    for a in acc.values():
        a["endpoints"].sort(key=lambda i: json.dumps(i, sort_keys=True)); a["endpoints"] = group(a["endpoints"])
        n = sum(e.get("count*", 1) for e in a["endpoints"]); least = -(-n // 100)
        if a["slices*"] >= least: a["slices*"] = f">={least}"
    return sorted(acc.values(), key=lambda x: json.dumps(x, sort_keys=True))

# ---------------------------------------------------------------- output

def dumps(x, width=140, ind=0):
    """JSON, one line where it fits."""
    flat = json.dumps(x, ensure_ascii=False)
    if len(flat) + ind <= width or not isinstance(x, (dict, list)) or not x: return flat
    sp = " " * (ind + 1)
    if isinstance(x, dict):
        return "{\n" + ",\n".join(sp + json.dumps(k, ensure_ascii=False) + ": " + dumps(v, width, ind + 1) for k, v in x.items()) + "\n" + " " * ind + "}"
    return "[\n" + ",\n".join(sp + dumps(v, width, ind + 1) for v in x) + "\n" + " " * ind + "]"
def lines(x): return dumps(sort(x), 100).splitlines()
def sort(x):
    if isinstance(x, dict): return {k: sort(x[k]) for k in sorted(x)}
    if isinstance(x, list): return [sort(i) for i in x]
    return x
def diff(s):
    out = []
    for name in dict.fromkeys(list(s.d.get("expect") or {}) + list(s.snaps)):
        a, b = (s.d.get("expect") or {}).get(name), s.snaps.get(name)
        if a != b: out += difflib.unified_diff(lines(a), lines(b), f"{s.d['name']}/{name} expected", f"{s.d['name']}/{name} actual", lineterm="", n=2)
    return out

def load(files):
    out = []
    for f in files:
        if os.path.isdir(f): out += load(sorted(os.path.join(r, x) for r, _, fs in os.walk(f) for x in fs if x.endswith(".json")))
        else: out.append((f, json.load(open(f))))
    return out

def ensure_fixtures(api, names):
    """Creates the shared custom resource definitions; returns whether any is new."""
    new = False
    for n in names:
        for o in FIXTURES[n]:
            s, j = api.call("POST", res_path("customresourcedefinitions"), o)
            if s == 201: new = True
            elif s != 409: print(f"fixture {o['metadata']['name']}: {s} {j.get('message')}", file=sys.stderr)
    return new

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("mode", choices=["run", "record", "check", "flags", "list"]); ap.add_argument("files", nargs="+")
    for a in ("server", "ca", "cert", "key", "token"): ap.add_argument("--" + a)
    ap.add_argument("-j", type=int, default=8, help="scenarios at the same time"); ap.add_argument("-k", default="", help="only names matching this regular expression")
    ap.add_argument("--profile", default="std", help="run scenarios of this profile (default std); 'all' for every one")
    ap.add_argument("--slow", type=float, default=1.0, help="factor on all timeouts"); ap.add_argument("--keep", action="store_true", help="do not clean up")
    ap.add_argument("--retry", type=int, default=0, help="check: run failed scenarios again at the end, up to N times (for loaded machines)")
    ap.add_argument("--unrecorded", action="store_true", help="only scenarios without an expectation"); ap.add_argument("--max-diff", type=int, default=60)
    ap.add_argument("--recorded-with", help="text kept in the files when recording: which manager, which server")
    ap.add_argument("--times", action="store_true", help="print seconds per scenario")
    a = ap.parse_args(); sys.stdout.reconfigure(line_buffering=True)
    todo = [(f, d) for f, d in load(a.files) if re.search(a.k, d["name"])]
    prof = lambda d: (d.get("needs") or {}).get("profile", "std")
    if a.mode == "list":
        for f, d in todo: print(f"{d['name']:44} {prof(d):8} {','.join(d['covers']):60.60} {d['description']}")
        return 0
    if a.mode == "flags":
        acc = {}
        for f, d in todo:
            if prof(d) != a.profile: continue
            for fl in (d.get("needs") or {}).get("flags") or []:
                k = fl.split("=", 1)[0]
                if acc.setdefault(k, fl) != fl: print(f"conflict: {fl} ({d['name']}) and {acc[k]}", file=sys.stderr); return 1
        print(" ".join(sorted(acc.values()))); return 0
    skipped = [d["name"] for f, d in todo if a.profile != "all" and prof(d) != a.profile]
    todo = [(f, d) for f, d in todo if a.profile == "all" or prof(d) == a.profile]
    if a.unrecorded: todo = [(f, d) for f, d in todo if not d.get("expect")]
    api = Api(a); need = max([(d.get("needs") or {}).get("nodes", 0) for _, d in todo], default=0)
    s, l = api.call("GET", "/api/v1/nodes")
    if s != 200: print(f"GET /api/v1/nodes: {s} {l.get('message')}", file=sys.stderr); return 2
    if need > sum(ready(n) and not PREFIX.search(n["metadata"]["name"]) for n in l["items"]):
        print(f"these scenarios need {need} Ready node(s): run kcm-devcluster nodes", file=sys.stderr); return 2
    fx = {x for _, d in todo for x in (d.get("needs") or {}).get("fixtures") or []}
    new = ensure_fixtures(api, sorted(fx)); t_fx = time.time()
    hub = Hub(api); hub.start([r for r in RES if r not in UNWATCHED and (r not in ("widgets", "cwidgets") or "widgets" in fx)])
    locks = collections.defaultdict(threading.Lock); it = collections.deque(); mu = threading.Lock(); res = {"pass": 0, "fail": 0}
    tries = collections.Counter(); again = []
    # scenarios on freshly created custom resources wait until controllers have rediscovered the API (30 s period)
    it.extend(sorted(todo, key=lambda x: (bool((x[1].get("needs") or {}).get("fixtures")) and new, -x[1].get("seconds", 0))))
    def one(f, d):
        if new and (d.get("needs") or {}).get("fixtures"): time.sleep(max(0, t_fx + 45 - time.time()))
        ex = (d.get("needs") or {}).get("exclusive")
        if ex:
            with locks[ex]: s = Scenario(api, hub, f, d, a.mode, a).run()
        else: s = Scenario(api, hub, f, d, a.mode, a).run()
        with mu:
            txt = f" {s.secs:.1f}s" if a.times else ""
            if a.mode == "check":
                df = [] if s.err else diff(s)
                if (s.err or df) and d.get("expect") and tries[d["name"]] < a.retry:
                    tries[d["name"]] += 1; again.append((f, d)); print(f"again {d['name']}{txt}")
                elif s.err or df or not d.get("expect"):
                    res["fail"] += 1; print(f"FAIL {d['name']}{txt}")
                    if s.err: print("  " + s.err.replace("\n", "\n  "))
                    elif not d.get("expect"): print("  no expectation recorded")
                    for l in df[:a.max_diff]: print(l)
                    if len(df) > a.max_diff: print(f"  ... {len(df) - a.max_diff} more lines")
                else: res["pass"] += 1; print(f"ok   {d['name']}{txt}" + (f" (try {tries[d['name']] + 1})" if tries[d["name"]] else ""))
            elif s.err: res["fail"] += 1; print(f"ERROR {d['name']}{txt}\n  {s.err}")
            else:
                res["pass"] += 1
                if a.mode == "record":
                    d.pop("expect", None); d["seconds"] = round(s.secs, 1)
                    if a.recorded_with: d["recordedWith"] = a.recorded_with
                    d["expect"] = s.snaps
                    with open(f + ".new", "w") as w: w.write(dumps(d) + "\n")
                    os.replace(f + ".new", f); print(f"recorded {d['name']}{txt}")
                else: print(f"== {d['name']}{txt}"); print(dumps(s.snaps))
    def worker():
        while True:
            with mu:
                if not it: return
                f, d = it.popleft()
            try: one(f, d)
            except Exception:
                with mu: res["fail"] += 1; print(f"ERROR {d['name']}"); traceback.print_exc()
    while it:
        ts = [threading.Thread(target=worker, daemon=True) for _ in range(max(1, a.j))]
        for t in ts: t.start()
        for t in ts: t.join()
        it.extend(again); again.clear()
    if skipped: print(f"{len(skipped)} scenarios of other profiles not run")
    print(f"{res['pass']} passed, {res['fail']} failed"); sys.stdout.flush()
    os._exit(1 if res["fail"] else 0)

if __name__ == "__main__": sys.exit(main())
