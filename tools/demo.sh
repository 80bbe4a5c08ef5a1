#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev demo: a cluster on this machine (API server, simulated nodes, kcm-host), a small web shop on it, and what controllers and a
# hot swap do to it, step by step. Every step waits for its outcome and shows it; a step that does not come true ends the demo with 1.
# Everything keeps running afterwards, with a kubeconfig. ./dev down stops it.
#   KCM_BUILD_DIR=DIR  uses the programs of another build     KCM_DEMO_DIR=DIR  where state lives (default .kcm/demo)
set -Eeuo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
state=${KCM_DEMO_DIR:-$root/.kcm/demo}
build=${KCM_BUILD_DIR:-$root/build/release}
apps=$root/tools/apps
kubeconfig=$state/kubeconfig
patience=${KCM_DEMO_PATIENCE:-120}  # seconds that a step may take: a slow machine is no failure

if [[ -t 1 ]]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi
step_number=0
step() {
  step_number=$((step_number + 1))
  printf '\n%s%d. %s%s\n' "$bold" "$step_number" "$*" "$plain"
}
note() { printf '   %s\n' "$*"; }
indent() { sed 's/^/   /'; }
show() {
  local line="$*"
  [[ $1 == k ]] && line="kubectl ${*:2}"
  printf '   $ %s\n' "$line"
  "$@" 2>&1 | indent
}
die() {
  printf '\ndemo: %s\n' "$*" >&2
  [[ -s $state/server.pid ]] || exit 1
  if [[ -s $state/host.log ]]; then
    printf 'the last lines of %s:\n' "$state/host.log" >&2
    tail -n 8 "$state/host.log" >&2
  fi
  printf 'What was started keeps running: look at it with KUBECONFIG=%s, end it with ./dev down\n' "$kubeconfig" >&2
  exit 1
}
trap 'die "step $step_number failed: $BASH_COMMAND (line $LINENO)"' ERR

# runs host|server: false when it was started and has ended.
runs() { [[ ! -s $state/$1.pid ]] || kill -0 "$(<"$state/$1.pid")" 2>/dev/null; }

# within WHAT COMMAND...: until COMMAND succeeds.
within() {
  local what=$1 deadline=$((SECONDS + patience))
  shift
  until "$@" >/dev/null 2>&1; do
    runs server || die "the API server ended: $(tail -n 3 "$state/server.log")"
    runs host || die "kcm-host ended"
    ((SECONDS < deadline)) || die "not within $patience s: $what"
    sleep 0.2
  done
}

# ---- stop

alive() { [[ -s $state/$1.pid ]] && [[ $(readlink "/proc/$(<"$state/$1.pid")/exe" 2>/dev/null) == */kcm-$2* ]]; }

down() {
  local part name stopped=0
  for part in host:host server:devcluster; do
    name=${part%%:*}
    if alive "$name" "${part##*:}"; then
      local pid
      pid=$(<"$state/$name.pid")
      kill "$pid"
      for _ in $(seq 100); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
      done
      kill -0 "$pid" 2>/dev/null && kill -9 "$pid"
      stopped=1
    fi
    rm -f "$state/$name.pid"
  done
  rm -f "$kubeconfig"
  ((stopped)) && echo "the demo has ended" || echo "no demo is running"
}

case ${1:-} in
  down) trap - ERR; down; exit 0 ;;
  '') ;;
  *) echo "usage: demo.sh [down]" >&2; exit 2 ;;
esac

# ---- start

programs() {
  if [[ -n ${KCM_BUILD_DIR:-} ]]; then
    [[ -e $build/bin/kcmctl && -e $build/demo/kcm-pod-next.so ]] || die "$build is not complete: build target kcm-demo there"
    return
  fi
  echo "building what is not up to date (the first time this takes some minutes)"
  mkdir -p "$state"
  "$root/dev" setup
  (cd "$root" && cmake --preset release && cmake --build --preset release -j "$(nproc)" --target kcm-demo) >"$state/build.txt" 2>&1 ||
    { tail -n 30 "$state/build.txt" >&2; die "the build failed: $state/build.txt"; }
}

free_port() { # PORT: itself when nobody uses it, else any free one
  python3 -c 'import socket, sys
s = socket.socket()
try: s.bind(("127.0.0.1", int(sys.argv[1])))
except OSError: s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])' "$1"
}

start() {
  umask 077  # keys and kubeconfigs are written here
  rm -rf "$state/certs" "$state/plugins"
  rm -f "$kubeconfig" "$state"/*.log "$state"/*.pid
  mkdir -p "$state/certs" "$state/plugins"
  "$build/bin/kcm-devcluster" serve --port 0 --nodes 5 --metrics --kubeconfig-out "$kubeconfig" >"$state/server.log" 2>&1 &
  echo $! >"$state/server.pid"
  disown
  within "the API server answers (see $state/server.log)" test -s "$kubeconfig"
  within "the simulated nodes register" grep -q registered "$state/server.log"

  # The plugins get a directory of their own: replacing a file there is a swap too. Group-writable files would be refused.
  cp "$build"/plugins/kcm-*.so "$state/plugins/"
  cp "$build/demo/kcm-pod-next.so" "$state/"
  chmod 0755 "$state"/plugins/*.so "$state/kcm-pod-next.so"
  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=demo-signing-ca \
    -keyout "$state/signing.key" -out "$state/signing.crt" 2>/dev/null
  openssl genrsa -out "$state/sa.key" 2048 2>/dev/null
  "$kubectl" --kubeconfig "$kubeconfig" config view --raw --minify --flatten -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' |
    base64 -d >"$state/ca.crt"
  port=$(free_port 10257)
  echo "$port" >"$state/port"
  "$build/bin/kcm-host" --kubeconfig="$kubeconfig" --authentication-kubeconfig="$kubeconfig" \
    --authorization-kubeconfig="$kubeconfig" --client-ca-file="$state/ca.crt" --secure-port="$port" --bind-address=127.0.0.1 \
    --cert-dir="$state/certs" --plugin-dir="$state/plugins" --use-service-account-credentials=true \
    --cluster-signing-cert-file="$state/signing.crt" --cluster-signing-key-file="$state/signing.key" \
    --service-account-private-key-file="$state/sa.key" --root-ca-file="$state/ca.crt" \
    --horizontal-pod-autoscaler-sync-period=2s --horizontal-pod-autoscaler-cpu-initialization-period=1s \
    --kube-api-qps=200 --kube-api-burst=400 -v=2 >"$state/host.log" 2>&1 &
  echo $! >"$state/host.pid"
  disown
  within "kcm-host serves (see $state/host.log)" controllers_active
}

ctl() { "$build/bin/kcmctl" --server="https://127.0.0.1:$port" --cert-dir="$state/certs" --kubeconfig="$kubeconfig" "$@"; }

controllers_active() {
  ctl plugins list -o json | python3 -c 'import json, sys
plugins = json.load(sys.stdin)["plugins"]
controllers = [c for p in plugins for c in p.get("controllers") or []]
sys.exit(0 if controllers and all(c["active"] for c in controllers) else 1)'
}

# has CONTROLLER: whether a loaded plugin brings it.
has() { [[ " $loaded " == *" $1 "* ]]; }

k() { "$kubectl" "$@"; }
# Pods run as the namespace's default service account; making it is serviceaccount-controller's work.
needs_account() {
  if ! has serviceaccount-controller; then
    note "Not there yet: no loaded plugin brings serviceaccount-controller; the account is made by hand."
    k -n "$1" create serviceaccount default >/dev/null
  fi
  within "namespace $1 has its default service account" k -n "$1" get serviceaccount default
}
rollout_done() { k -n "$1" rollout status "deployment/$2" --timeout="${patience}s" >/dev/null || die "deployment $1/$2 does not complete"; }
field() { k -n shop get "deployment/$1" -o "jsonpath={$2}"; }
pods_of() { k -n "$1" get pods -l "app=$2" --no-headers 2>/dev/null | wc -l; }
no_pods() { [[ $(pods_of "$1" "$2") == 0 ]]; }
# Images of the pods that are not being deleted, with their number.
images_of() {
  k -n shop get pods -l "app=$1" -o 'jsonpath={range .items[*]}{.metadata.deletionTimestamp}{" "}{.spec.containers[0].image}{"\n"}{end}' |
    sed -n 's/^ //p' | sort | uniq -c | awk '{printf "%s%s x %s", (NR > 1 ? ", " : ""), $1, $2}'
}

# ---- the steps

programs
kubectl=$(command -v kubectl || "$root/tools/kubectl-get" 35) || die "no kubectl: none in PATH, and fetching one failed"
if alive host host || alive server devcluster; then
  echo "a demo is running: it is stopped first"
  down >/dev/null
fi
export KUBECONFIG=$kubeconfig

step "A cluster: API server, five simulated nodes, and kcm-host with every plugin that is built"
started=$(date +%s%N)
start
note "up after $((($(date +%s%N) - started) / 1000000)) ms"
show k get nodes
loaded=$(ctl plugins list -o json | python3 -c 'import json, sys
print(*[c["name"] for p in json.load(sys.stdin)["plugins"] for c in p.get("controllers") or []])')
ctl plugins list | indent
has deployment-controller && has replicaset-controller || die "the deployment and replicaset controllers are not in $build/plugins: this demo is about them"

step "A web shop: four Deployments, three Services, two ConfigMaps, an aggregated ClusterRole"
show k apply -f "$apps/shop/00-namespace.yaml"
needs_account shop
show k apply -f "$apps/shop"
for app in storefront catalog cart mailer; do rollout_done shop "$app"; done
show k -n shop get deployments,pods
if has endpointslice-controller; then
  slices_ready() { [[ $(k -n shop get endpointslices -l kubernetes.io/service-name=storefront -o 'jsonpath={.items[*].endpoints[*].addresses[0]}' | wc -w) == 6 ]]; }
  within "the Service storefront has six endpoints" slices_ready
  show k -n shop get endpointslices
else
  note "Not there yet: no loaded plugin brings endpointslice-controller, so the Services have no endpoints."
fi
if has clusterrole-aggregation-controller; then
  collected() { [[ $(k get clusterrole shop-operator -o 'jsonpath={.rules[*].resources[*]}') == *configmaps*deployments* || $(k get clusterrole shop-operator -o 'jsonpath={.rules[*].resources[*]}') == *deployments*configmaps* ]]; }
  within "shop-operator collects the rules of both roles" collected
  note "ClusterRole shop-operator has no rules of its own; the controller collected:"
  k get clusterrole shop-operator -o 'jsonpath={range .rules[*]}{.resources}{" "}{.verbs}{"\n"}{end}' | indent
else
  note "Not there yet: no loaded plugin brings clusterrole-aggregation-controller; shop-operator stays without rules."
fi

step "Rollout: storefront 1.0 -> 1.1, never more than a quarter of the pods away"
show k -n shop set image deployment/storefront storefront=shop/storefront:1.1
rollout_done shop storefront
image_is() { [[ $(images_of storefront) == "$1 x shop/storefront:$2" ]]; }
within "six pods of 1.1 and none of 1.0" image_is 6 1.1
note "pods now: $(images_of storefront)"
show k -n shop get replicasets -l app=storefront

step "Scale: storefront to 12"
show k -n shop scale deployment/storefront --replicas=12
rollout_done shop storefront
[[ $(field storefront .status.readyReplicas) == 12 ]] || die "$(field storefront .status.readyReplicas) of 12 pods are ready"
note "ready pods: $(field storefront .status.readyReplicas)"

step "Rollback: 1.1 had a bug"
show k -n shop rollout undo deployment/storefront
rollout_done shop storefront
within "twelve pods of 1.0" image_is 12 1.0
note "pods now: $(images_of storefront)"
show k -n shop rollout history deployment/storefront

step "Autoscale: catalog follows its load"
show k apply -f "$apps/load/catalog.yaml"
# The oldest pod: one that scaling down takes last.
pod=$(k -n shop get pods -l app=catalog --sort-by=.metadata.creationTimestamp -o 'jsonpath={.items[0].metadata.name}')
replicas_are() { [[ $(field catalog .spec.replicas) == "$1" && $(k -n shop get horizontalpodautoscaler catalog -o 'jsonpath={.status.currentReplicas}') == "$1" ]]; }
note "all of catalog together uses 250m of cpu now, and a pod should use 25m:"
show k -n shop annotate pod "$pod" sim/cpu-shared=250m
within "the autoscaler sets 10 replicas" replicas_are 10
rollout_done shop catalog
show k -n shop get horizontalpodautoscaler catalog
note "and then 60m:"
show k -n shop annotate --overwrite pod "$pod" sim/cpu-shared=60m
within "the autoscaler goes back to 3 replicas" replicas_are 3
rescales() { k -n shop get events --field-selector involvedObject.kind=HorizontalPodAutoscaler,reason=SuccessfulRescale -o 'jsonpath={range .items[*]}{.message}{"\n"}{end}'; }
told() { [[ $(rescales) == *"New size: 10; "*"New size: 3; "* ]]; }
within "the events tell of both" told
rescales | indent
show k -n shop get horizontalpodautoscaler catalog

step "Delete a Deployment: mailer"
show k -n shop delete deployment mailer
if has garbage-collector-controller; then
  within "the garbage collector removes mailer's pods" no_pods shop mailer
  note "its ReplicaSet and pods are gone: the garbage collector followed the owner references"
else
  show k -n shop get replicasets,pods -l app=mailer
  [[ $(pods_of shop mailer) == 2 ]] || die "mailer has $(pods_of shop mailer) pods, not 2, although nothing collects garbage"
  note "Not there yet: no loaded plugin brings garbage-collector-controller, so what belonged to the Deployment stays."
fi

step "Delete a namespace with everything in it: preview"
show k apply -f "$apps/scratch/preview.yaml"
needs_account preview
rollout_done preview checkout
if has namespace-controller; then
  show k delete namespace preview --timeout="${patience}s"
  gone() { ! k get namespace preview; }
  within "the namespace preview is gone" gone
  note "gone, with its Deployment, Service, ConfigMap and pods"
else
  note "Not there yet: no loaded plugin brings namespace-controller; the namespace preview stays."
fi

step "Replace the pod plugin while a rollout of 40 pods runs"
k -n shop scale deployment/storefront --replicas=40 >/dev/null
rollout_done shop storefront
patch='{"spec":{"template":{"metadata":{"annotations":{"sim/ready-after":"6"}},"spec":{"containers":[{"name":"storefront","image":"shop/storefront:2.0"}]}}}}'
k -n shop patch deployment storefront -p "$patch" >/dev/null
under_way() { (($(field storefront .status.updatedReplicas) >= 5)) && [[ $(k -n shop get pods -l app=storefront -o 'jsonpath={.items[*].spec.containers[0].image}') == *:2.0* ]]; }
within "the rollout starts" under_way
before=$(images_of storefront)
[[ $before == *:1.0* ]] || die "the rollout was over before the swap began: $before"
note "in the middle of it: $before"
note "\$ kcmctl plugins swap kcm-pod-next.so"
ctl plugins swap "$state/kcm-pod-next.so" | indent
note "right after it:      $(images_of storefront)"
rollout_done shop storefront
within "forty pods of 2.0 and none of 1.0" image_is 40 2.0
note "in the end:          $(images_of storefront)"
controllers_active || die "not every controller is active after the swap"
ctl plugins list -o json | python3 -c 'import json, sys
pod = [p for p in json.load(sys.stdin)["plugins"] if p["name"] == "pod"][0]
ok = pod["buildId"] == "next" and not any(c["errors"] for c in pod["controllers"])
print("   build %s, %s, errors %s" % (pod["buildId"], pod["state"], {c["name"]: c["errors"] for c in pod["controllers"]}))
sys.exit(0 if ok else 1)' || die "the new build is not at work without errors"

step "And back: the old build is still in memory while the new one is on probation"
note "\$ kcmctl plugins rollback pod"
ctl plugins rollback pod | indent
k -n shop scale deployment/storefront --replicas=6 >/dev/null
rollout_done shop storefront
six() { [[ $(pods_of shop storefront) == 6 ]]; }
within "the old build scales storefront to 6" six
note "the old build scaled storefront to $(pods_of shop storefront)"

runs host || die "kcm-host ended"
cat <<END

${bold}Everything came true and keeps running.${plain} Use kubectl on it:

   export KUBECONFIG=$kubeconfig
   kubectl -n shop get all
   kubectl -n shop scale deployment/cart --replicas=20

and look into the host:

   $build/bin/kcmctl --server=https://127.0.0.1:$port --cert-dir=$state/certs --kubeconfig=$kubeconfig plugins list

Logs: $state/host.log, $state/server.log. The end: ./dev down
END
