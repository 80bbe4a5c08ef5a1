#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev bench: fills an API server, runs kcm-host against it with the bench plugin, and prints what it cost beside the budgets.

Figures come from /proc (resident memory, CPU seconds), from the host's admin API (active, swap pauses) and from the server's objects
(created pods, lease). A budget is for the full size, 33 000 pods, 1 000 nodes and 5 000 ConfigMaps on an idle two-core machine
against a real kube-apiserver; where the size measured differs the table says so instead of judging.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import api as kube  # noqa: E402
import objects  # noqa: E402

FULL_PODS, FULL_NODES, FULL_CONFIG_MAPS = 33000, 1000, 5000
TICK = os.sysconf("SC_CLK_TCK")
LOAD = "bench-load"


def die(text):
    raise SystemExit("bench: " + text)


def note(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Process:
    """A child with a log file, and what /proc knows about it."""

    def __init__(self, command, log):
        self.log = log
        self.started = time.monotonic()
        self.child = subprocess.Popen(command, stdout=open(log, "ab"), stderr=subprocess.STDOUT)

    def alive(self):
        return self.child.poll() is None

    def cpu(self):
        fields = open(f"/proc/{self.child.pid}/stat").read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def memory(self, name="VmRSS"):
        for line in open(f"/proc/{self.child.pid}/status"):
            if line.startswith(name + ":"):
                return int(line.split()[1]) / 1000  # kB to MB
        die(f"no {name} of process {self.child.pid}")

    def last_lines(self):
        return "\n".join(open(self.log, errors="replace").read().splitlines()[-8:])

    def end(self, how=signal.SIGTERM):
        if self.alive():
            self.child.send_signal(how)
            try:
                self.child.wait(15)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()

    # Waits until less than 5 % of a core is used for two seconds: nothing of the start is left.
    def quiet(self, limit=120):
        end, last, calm = time.monotonic() + limit, self.cpu(), 0
        while calm < 4:
            if time.monotonic() > end:
                note(f"still busy after {limit} s; measured all the same")
                return
            time.sleep(0.5)
            now = self.cpu()
            calm = calm + 1 if now - last < 0.03 else 0
            last = now


class Host(Process):
    """A kcm-host and its admin API."""

    def __init__(self, bench, name, flags):
        port = free_port()
        certs = os.path.join(bench.work, name + "-certs")
        os.makedirs(certs, 0o700, exist_ok=True)
        a = bench.args
        command = [os.path.join(a.build, "bin/kcm-host"), "--kubeconfig=" + a.kubeconfig, "--plugin-dir=" + bench.plugins,
                   "--authentication-kubeconfig=" + a.kubeconfig, "--authorization-kubeconfig=" + a.kubeconfig,
                   "--client-ca-file=" + bench.ca, "--cert-dir=" + certs, "--bind-address=127.0.0.1", f"--secure-port={port}",
                   "--kube-api-qps=2000", "--kube-api-burst=4000",
                   # Nobody renews the leases of the nodes that were filled in.
                   "--node-monitor-grace-period=24h"] + flags + a.host_flag
        super().__init__(command, os.path.join(bench.work, name + ".log"))
        self.certs, self.port, self.bench, self.admin = certs, port, bench, None

    def report(self):
        if self.admin is None:
            file = os.path.join(self.certs, "kube-controller-manager.crt")
            if not os.path.exists(file) or not os.path.getsize(file):
                raise OSError("no certificate yet")
            _, _, certificate, key, token = self.bench.credentials
            self.admin = kube.Api(f"https://127.0.0.1:{self.port}", file, certificate, key, token)
        return self.admin.get("/plugins")

    def controllers(self):
        return [c for p in self.report()["plugins"] for c in p.get("controllers") or []]

    def wait(self, what, ready, limit=300, step=0.02):
        end = time.monotonic() + limit
        while True:
            if not self.alive():
                die(f"kcm-host ended while waiting until {what}:\n{self.last_lines()}")
            try:
                if ready():
                    return time.monotonic()
            except (OSError, kube.http.client.HTTPException):
                self.admin = None
            if time.monotonic() > end:
                die(f"not within {limit} s: {what}\n{self.last_lines()}")
            time.sleep(step)

    def all_active(self):
        found = self.controllers()
        return bool(found) and all(c["active"] for c in found)


class Bench:
    def __init__(self, args):
        self.args, self.results, self.children = args, [], []
        self.work = tempfile.mkdtemp(prefix="kcm-bench-")
        self.full = args.pods >= FULL_PODS and args.nodes >= FULL_NODES and args.config_maps >= FULL_CONFIG_MAPS
        self.pauses = []

    # ---- set up

    def start_server(self):
        a = self.args
        self.own_server = not a.kubeconfig
        if self.own_server:
            a.kubeconfig = os.path.join(self.work, "kubeconfig")
            server = Process([os.path.join(a.build, "bin/kcm-devcluster"), "serve", "--port", "0", "--kubeconfig-out", a.kubeconfig],
                             os.path.join(self.work, "server.log"))
            self.children.append(server)
            end = time.monotonic() + 30
            while not os.path.exists(a.kubeconfig):
                if not server.alive() or time.monotonic() > end:
                    die("the API server does not start:\n" + server.last_lines())
                time.sleep(0.05)
        self.credentials = kube.read_kubeconfig(a.kubeconfig, self.work)
        self.ca = self.credentials[1] or die("the kubeconfig names no certificate authority")
        self.api = kube.Api(*self.credentials)

    def copy_plugins(self):
        self.plugins = os.path.join(self.work, "plugins")
        os.mkdir(self.plugins, 0o700)
        source = os.path.join(self.args.build, "plugins")
        self.families = sorted(f for f in os.listdir(source) if f.startswith("kcm-") and f.endswith(".so"))
        for file in [os.path.join(source, f) for f in self.families] + [os.path.join(self.args.build, "bench/kcm-bench.so")]:
            os.chmod(shutil.copy(file, self.plugins), 0o755)
        self.builds = []
        for file in ("demo/kcm-pod-next.so", "plugins/kcm-pod.so"):
            target = os.path.join(self.work, os.path.basename(file))
            os.chmod(shutil.copy(os.path.join(self.args.build, file), target), 0o755)
            self.builds.append(target)

    def many(self, work, count):
        with concurrent.futures.ThreadPoolExecutor(self.args.threads) as pool:
            for _ in pool.map(work, range(count), chunksize=16):
                pass

    def create(self, path, body):
        try:
            return self.api.post(path, body)
        except kube.ApiError as e:
            if e.status != 409:
                raise
            return self.api.get(path + "/" + body["metadata"]["name"])  # of an earlier run

    def fill(self):
        a, began = self.args, time.monotonic()
        for name in [objects.namespace_of(i) for i in range(objects.NAMESPACES)] + [LOAD]:
            self.create("/api/v1/namespaces", {"metadata": {"name": name}})
            self.create(f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})
        self.many(lambda i: self.create("/api/v1/nodes", objects.node(i)), a.nodes)
        self.many(lambda i: self.create(f"/api/v1/namespaces/{objects.namespace_of(i)}/configmaps", objects.config_map(i)), a.config_maps)

        # Pods belong to settled ReplicaSets, as most do: controllers find nothing to write at start.
        def one_set(number):
            size = min(objects.PODS_PER_SET, a.pods - number * objects.PODS_PER_SET)
            space = objects.namespace_of(number)
            owner = self.create(f"/apis/apps/v1/namespaces/{space}/replicasets", objects.replica_set(number, size))
            for index in range(size):
                serial = number * objects.PODS_PER_SET + index
                stored = self.create(f"/api/v1/namespaces/{space}/pods", objects.pod(serial, owner, index, a.nodes))
                self.api.put(f"/api/v1/namespaces/{space}/pods/{stored['metadata']['name']}/status", objects.pod_status(stored, serial))
            self.api.put(f"/apis/apps/v1/namespaces/{space}/replicasets/{owner['metadata']['name']}/status", objects.set_status(owner, size))

        self.many(one_set, -(-a.pods // objects.PODS_PER_SET))
        note(f"filled {a.pods} pods, {a.nodes} nodes, {a.config_maps} ConfigMaps in {time.monotonic() - began:.1f} s")

    # ---- measure

    def add(self, name, value, unit, budget=None, comparable=True, detail=""):
        row = {"name": name, "value": round(value, 3), "unit": unit, "budget": budget, "comparable": comparable, "detail": detail}
        row["within"] = None if budget is None or not comparable else value <= budget
        self.results.append(row)
        note(f"{name}: {value:.3f} {unit}")

    def measure_start(self):
        host = Host(self, "start", ["--leader-elect=false"])
        self.children.append(host)
        synced = host.wait("all controllers are active", host.all_active)
        cpu = host.cpu()
        self.controllers = [c["name"] for c in host.controllers()]
        self.add("start to all caches synced", synced - host.started, "s", 3.5, self.full)
        self.add("CPU until synced", cpu, "CPU s", 3, self.full)
        host.quiet()
        self.add("resident memory, synced", host.memory(), "MB", 100, self.full, f"peak {host.memory('VmHWM'):.1f} MB")
        self.add("CPU until quiet", host.cpu(), "CPU s")
        return host

    def replicas_created(self, name):
        sets = self.api.get(f"/apis/apps/v1/namespaces/{LOAD}/replicasets?labelSelector=app%3D{name}")["items"]
        return sum(s.get("status", {}).get("replicas", 0) for s in sets)

    def measure_deployment(self, host):
        path, count = f"/apis/apps/v1/namespaces/{LOAD}/deployments", self.args.replicas
        for needed in ("deployment-controller", "replicaset-controller"):
            if needed not in self.controllers:
                note(f"no {needed} is loaded: Deployments are not measured")
                return
        cpu, began = host.cpu(), time.monotonic()
        self.api.post(path, objects.deployment(LOAD, "load", count))
        done = host.wait(f"{count} pods are created", lambda: self.replicas_created("load") == count, step=0.1)
        host.quiet()
        used = host.cpu() - cpu
        self.add(f"Deployment to {count} pods, wall", done - began, "s")
        self.add(f"Deployment to {count} pods, manager CPU", used, "CPU s", 0.9, count == 3000)
        self.add("CPU per created pod", 1000 * used / count, "ms", 0.3)
        cpu, began = host.cpu(), time.monotonic()
        self.api.merge(path + "/load", {"spec": {"replicas": 0}})
        done = host.wait("no pod is left", lambda: self.replicas_created("load") == 0, step=0.1)
        host.quiet()
        used = host.cpu() - cpu
        self.add(f"scale {count} pods to 0, wall", done - began, "s")
        self.add(f"scale {count} pods to 0, manager CPU", used, "CPU s", 3, count == 9000 and "garbage-collector-controller" in self.controllers)

    def measure_swaps(self, host):
        path = f"/apis/apps/v1/namespaces/{LOAD}/deployments"
        if "deployment-controller" not in self.controllers or not self.args.swaps:
            return
        self.api.post(path, objects.deployment(LOAD, "churn", 3))
        host.wait("the churn Deployment has pods", lambda: self.replicas_created("churn") == 3)
        for i in range(self.args.swaps):
            want = 6 if i % 2 == 0 else 3
            self.api.merge(path + "/churn", {"spec": {"replicas": want}})  # work is under way while the build is exchanged
            host.admin.post("/plugins/swap", {"file": self.builds[i % 2]})
            pod = next(p for p in host.report()["plugins"] if p["name"] == "pod")
            self.pauses.append(pod["lastPauseMs"])
            host.wait("the new build follows", lambda: self.replicas_created("churn") == want)
        ordered = sorted(self.pauses)
        self.add(f"swap pause, longest of {len(ordered)}", ordered[-1], "ms", 20, True,
                 f"median {statistics.median(ordered):.2f} ms, fastest {ordered[0]:.2f} ms")
        self.add("resident memory after the swaps", host.memory(), "MB")

    def lease(self):
        try:
            return self.api.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager")["spec"]
        except kube.ApiError as e:
            if e.status == 404:
                return {}
            raise

    def measure_failover(self):
        if "deployment-controller" not in self.controllers or not self.args.failovers:
            return
        flags = ["--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms"]
        leader = Host(self, "leader-0", flags)
        self.children.append(leader)
        leader.wait("the first leader is active", leader.all_active)
        found = []
        for i in range(self.args.failovers):
            standby = Host(self, f"leader-{i + 1}", flags)
            self.children.append(standby)
            standby.wait("the standby serves", lambda: standby.controllers())
            standby.quiet()
            holder = self.lease().get("holderIdentity")
            leader.end(signal.SIGKILL)
            self.api.post(f"/apis/apps/v1/namespaces/{LOAD}/deployments", objects.deployment(LOAD, f"failover-{i}", 1))
            reconciled = [0.0]

            def written():
                reconciled[0] = time.time()
                sets = f"/apis/apps/v1/namespaces/{LOAD}/replicasets?labelSelector=app%3Dfailover-{i}"
                return bool(self.api.get(sets)["items"])

            standby.wait("the standby's first reconcile", written, 60, 0.002)
            spec = self.lease()
            if spec.get("holderIdentity") == holder:
                die("the lease did not move")
            acquired = datetime.datetime.fromisoformat(spec["acquireTime"].replace("Z", "+00:00")).timestamp()
            found.append(1000 * (reconciled[0] - acquired))
            leader = standby
        self.add("lease won to first reconcile, worst", max(found), "ms", 50, True,
                 "ReplicaSet seen on the server; all: " + ", ".join(f"{x:.0f}" for x in found) + " ms")
        self.add("resident memory, leader after standby", leader.memory(), "MB")

    # ---- report

    def table(self):
        rows = [("", "measured", "budget", "")]
        for r in self.results:
            verdict = "" if r["budget"] is None else "other size" if r["within"] is None else "within" if r["within"] else "OVER"
            rows.append((r["name"], f"{r['value']:g} {r['unit']}", "" if r["budget"] is None else f"{r['budget']:g} {r['unit']}",
                         "; ".join(x for x in (verdict, r["detail"]) if x)))
        width = [max(len(row[i]) for row in rows) for i in range(3)]
        return "\n".join("  ".join([row[0].ljust(width[0]), row[1].rjust(width[1]), row[2].rjust(width[2]), row[3]]).rstrip() for row in rows)

    def document(self):
        a = self.args
        model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
        return {"machine": {"cpus": os.cpu_count(), "model": model, "loadBefore": self.load},
                "server": "devcluster" if self.own_server else self.credentials[0],
                "size": {"pods": a.pods, "nodes": a.nodes, "configMaps": a.config_maps, "replicas": a.replicas},
                "plugins": self.families + ["kcm-bench.so"], "controllers": len(self.controllers),
                "results": self.results, "swapPausesMs": self.pauses}

    def run(self):
        self.load = list(os.getloadavg())
        try:
            self.start_server()
            self.copy_plugins()
            self.fill()
            host = self.measure_start()
            self.measure_deployment(host)
            self.measure_swaps(host)
            host.end()
            self.measure_failover()
        finally:
            for child in reversed(self.children):
                child.end()
            if not self.args.keep:
                shutil.rmtree(self.work, ignore_errors=True)
        print(self.table())
        if self.load[0] > os.cpu_count() * 0.25:
            note(f"the machine was not idle (load {self.load[0]:.1f}): times are too high")
        if self.args.json:
            with open(self.args.json, "w") as out:
                json.dump(self.document(), out, indent=2)
                out.write("\n")
            note("JSON: " + self.args.json)
        return 1 if self.args.enforce and any(r["within"] is False for r in self.results) else 0


def main():
    p = argparse.ArgumentParser(prog="./dev bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--pods", type=int, default=3000, help=f"pods to fill in (default 3000, full size {FULL_PODS})")
    p.add_argument("--nodes", type=int, help="nodes (default a thirty-third of the pods)")
    p.add_argument("--config-maps", type=int, help="ConfigMaps of 2 kB (default 5 for 33 pods)")
    p.add_argument("--full", action="store_true", help="the size that the budgets are for")
    p.add_argument("--replicas", type=int, default=3000, help="replicas of the measured Deployment (default 3000)")
    p.add_argument("--swaps", type=int, default=20, help="hot swaps to measure (default 20)")
    p.add_argument("--failovers", type=int, default=3, help="fail-overs to measure (default 3)")
    p.add_argument("--kubeconfig", help="an existing API server, without another controller manager, to fill and measure; "
                                        "default: a fresh kcm-devcluster. What is filled in stays there")
    p.add_argument("--threads", type=int, default=8, help="connections that fill (default 8)")
    p.add_argument("--host-flag", action="append", default=[], help="a further flag of kcm-host; repeatable")
    p.add_argument("--json", help="where the report goes as JSON (default bench.json in the build directory; empty: nowhere)")
    p.add_argument("--enforce", action="store_true", help="exit 1 when a comparable figure is over its budget")
    p.add_argument("--keep", action="store_true", help="keep the work directory with the logs")
    args = p.parse_args()
    if args.json is None:
        args.json = os.path.join(args.build, "bench.json")
    if args.full:
        args.pods = FULL_PODS
    if args.nodes is None:
        args.nodes = max(3, args.pods * FULL_NODES // FULL_PODS)
    if args.config_maps is None:
        args.config_maps = args.pods * FULL_CONFIG_MAPS // FULL_PODS
    if min(args.pods, args.nodes, args.config_maps, args.replicas) < 1 or min(args.swaps, args.failovers) < 0:
        p.error("sizes must be positive")
    if args.kubeconfig and not os.path.exists(args.kubeconfig):
        p.error(f"--kubeconfig {args.kubeconfig}: no such file")
    sys.exit(Bench(args).run())


if __name__ == "__main__":
    main()
