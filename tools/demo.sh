#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev demo: a cluster on this machine (API server, simulated nodes, kcm-host), a small web shop on it, and what controllers and a
# hot swap do to it, step by step. Every step waits for its outcome and shows it; a step that does not come true ends the demo with 1.
# Everything keeps running afterwards, with a kubeconfig. ./dev down ends it, also in the middle, and removes all but the logs.
#   KCM_BUILD_DIR=DIR  uses the programs of another build     KCM_DEMO_DIR=DIR  where state lives (default .kcm/demo)
set -Eeuo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
state=$(realpath -m -- "${KCM_DEMO_DIR:-$root/.kcm/demo}")
build=$(realpath -m -- "${KCM_BUILD_DIR:-$root/build/release}")
apps=$root/tools/apps
kubeconfig=$state/kubeconfig
lock=$state/lock
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
# pasted WORD...: the words as a line for a shell.
pasted() { printf '%q ' "$@" | sed 's/ $//'; }
end_command=$(pasted "$root/dev" down)
[[ -z ${KCM_DEMO_DIR:-} ]] || end_command="KCM_DEMO_DIR=$(pasted "$state") $end_command"

die() {
  printf '\ndemo: %s\n' "$*" >&2
  if ((step_number)) && [[ -s $state/host.log ]]; then
    printf 'the last lines of %s:\n' "$state/host.log" >&2
    tail -n 8 "$state/host.log" >&2
  fi
  keeps_running >&2
  exit 1
}
keeps_running() {
  pid_of server >/dev/null || pid_of host >/dev/null || return 0
  printf 'What was started keeps running: look at it with KUBECONFIG=%s, end it with %s\n' "$(pasted "$kubeconfig")" "$end_command"
}
trap 'die "step $step_number failed: $BASH_COMMAND (line $LINENO)"' ERR

# ---- server and host

# start_part NAME COMMAND...: in a session of its own, so that neither Ctrl-C nor the end of this script ends it.
start_part() {
  local name=$1
  shift
  # shellcheck disable=SC2016  # for the inner shell
  setsid bash -c 'echo $$ >"$1" && shift && exec "$@"' bash "$state/$name.pid" "$@" >"$state/$name.log" 2>&1 </dev/null 9>&- &
  disown
  within "$name starts" test -s "$state/$name.pid"
}

# pid_of host|server: its process when it runs. The file alone proves nothing, its number may be another process's by now: the command
# line must be that of our program on our kubeconfig.
pid_of() {
  local pid words
  [[ -s $state/$1.pid ]] && pid=$(<"$state/$1.pid") && [[ $pid =~ ^[0-9]+$ ]] || return 1
  words=$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") 2>/dev/null || return 1
  case $1 in
    server) [[ $words == *"/kcm-devcluster serve "*"--kubeconfig-out $kubeconfig "* ]] || return 1 ;;
    host) [[ $words == *"/kcm-host --kubeconfig=$kubeconfig "* ]] || return 1 ;;
  esac
  echo "$pid"
}

# runs host|server: false when it was started and has ended.
runs() { [[ ! -s $state/$1.pid ]] || pid_of "$1" >/dev/null; }

stop_part() {
  local pid
  pid=$(pid_of "$1") || return 0
  kill "$pid" 2>/dev/null || true
  for _ in $(seq 100); do
    pid_of "$1" >/dev/null || return 0
    sleep 0.1
  done
  kill -9 "$pid" 2>/dev/null || true
}

# Ends server and host and removes what they leave, above all private keys; logs stay.
clean() {
  stop_part host
  stop_part server
  rm -rf "$state/certs" "$state/plugins"
  rm -f "$kubeconfig" "$state"/*.key "$state"/*.crt "$state"/*.pid "$state/port" "$state/kcmctl" "$state/kcm-pod-next.so"
}

# ---- one script at a time
# The script that works on $state has $lock open and locked as descriptor 9, and so has every process that it starts except server and
# host. What has that file open there is ours beyond doubt, whatever number stands in a file.

holds() { [[ $1 =~ ^[0-9]+$ && /proc/$1/fd/9 -ef $lock ]]; }

holders() {
  local process
  for process in /proc/[0-9]*; do
    holds "${process#/proc/}" && echo "${process#/proc/}"
  done
  return 0
}

# take_lock SIGNAL: gets the lock, as descriptor 8. A script that has it ($under_way) is sent SIGNAL first, which it knows how to end by.
take_lock() {
  local pid begin=$SECONDS
  under_way=''
  [[ ! -d $state || -e $lock || -e $state/server.log || -e $state/build.txt || -z $(ls -A "$state") ]] ||
    die "$state holds other things than a demo: set KCM_DEMO_DIR to a directory of its own"
  mkdir -p "$state"
  exec 8>>"$lock"
  until flock -w 0.2 8; do
    pid=$(<"$lock")
    if holds "$pid" && ((SECONDS - begin < 20)); then
      [[ -n $under_way ]] || echo "a demo is under way (process $pid): it is ended first"
      under_way=$pid
      kill -"$1" "$pid" 2>/dev/null || true
    else
      # Its first process was killed, or does not end: the others one by one.
      for pid in $(holders); do
        if ((SECONDS - begin < 20)); then kill "$pid"; else kill -9 "$pid"; fi 2>/dev/null || true
      done
    fi
    ((SECONDS - begin < 40)) || die "$lock stays locked by another process"
  done
}

# keep_lock: what take_lock got becomes the lock of a script that others may end. Its number first: nobody is looked for before 9 is open.
keep_lock() {
  echo $$ >"$lock"
  exec 9>&8 8>&-
}

# ended SIGNAL: this script was told to end. What it waits for ends with it.
ended() {
  local pid
  trap '' INT TERM HUP USR1 USR2
  trap - ERR
  set +e
  for pid in $(jobs -p); do kill -- "-$pid" 2>/dev/null || kill "$pid" 2>/dev/null; done
  wait 2>/dev/null
  case $1 in
    USR1) printf '\ndemo: ended by ./dev down\n' >&2; exit 1 ;;
    USR2) printf '\ndemo: ended by another ./dev demo\n' >&2; exit 1 ;;
  esac
  printf '\ndemo: interrupted\n' >&2
  keeps_running >&2
  exit $((128 + $(kill -l "$1")))
}

# ---- build

programs() {
  if [[ -n ${KCM_BUILD_DIR:-} ]]; then
    [[ -e $build/bin/kcmctl && -e $build/demo/kcm-pod-next.so ]] || die "$build is not complete: build target kcm-demo there"
    return
  fi
  # sudo may ask for a password: not in another session, and Ctrl-C reaches it.
  env --default-signal=INT,QUIT "$root/dev" setup 9>&- &
  wait $! || die "packages are missing"
  local log=$state/build.txt took=''
  [[ -e $build/bin/kcm-host ]] || took=': the first time this takes 8 to 18 minutes on two cores'
  echo "building what is not up to date$took (log: $log)"
  # shellcheck disable=SC2016  # for the inner shell
  setsid bash -c 'cd "$1" && cmake --preset release && exec cmake --build --preset release -j "$(nproc)" --target kcm-demo' \
    bash "$root" >"$log" 2>&1 </dev/null &
  progress "$log"
  wait $! || { tail -n 30 "$log" >&2; die "the build failed: $log"; }
}

# progress LOG: until the build ends, how far it is: one line that changes on a terminal, else a line every 30 s.
progress() {
  local begin=$SECONDS next=30 spent at
  while [[ -n $(jobs -pr) ]]; do
    sleep 1
    spent=$((SECONDS - begin))
    [[ -t 1 ]] || ((spent >= next)) || continue
    next=$((spent + 30))
    at=$(tail -c 4000 "$1" | sed -n 's/^\(\[[0-9]*\/[0-9]*\]\).*/\1/p' | tail -n 1)
    printf -v at '%s, %d:%02d min' "${at:-configuring}" $((spent / 60)) $((spent % 60))
    if [[ -t 1 ]]; then printf '\r   %s\e[K' "$at"; else note "$at"; fi
  done
  [[ ! -t 1 ]] || printf '\r\e[K'
}

# ---- what to do: the script itself holds the lock and waits; the steps are done by a second process, in a session of its own, so that
# it can be ended at once and as a whole.

case ${1:-} in
  down)
    if [[ -d $state ]]; then
      take_lock USR1
      running=$under_way$(pid_of host || pid_of server || true)
      clean
      [[ -z $running ]] || { echo "the demo has ended; its logs stay in $state"; exit 0; }
    fi
    echo "no demo is running"
    exit 0
    ;;
  '')
    take_lock USR2
    for signal in INT TERM HUP USR1 USR2; do
      # shellcheck disable=SC2064  # the signal of now
      trap "ended $signal" "$signal"
    done
    keep_lock
    programs
    if pid_of host >/dev/null || pid_of server >/dev/null; then echo "a demo is running: it is ended first"; fi
    clean
    setsid "$BASH" "$root/tools/demo.sh" steps </dev/null &
    wait $! 2>/dev/null && exit 0 || result=$?
    ((result < 128)) || die "the steps were ended by signal $((result - 128))"
    exit "$result"
    ;;
  steps) holds $$ || { echo "demo.sh steps is for demo.sh" >&2; exit 2; } ;;
  *) echo "usage: demo.sh [down]" >&2; exit 2 ;;
esac

# ---- start

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

free_port() { # PORT: itself when nobody uses it, else any free one
  python3 -c 'import socket, sys
s = socket.socket()
try: s.bind(("127.0.0.1", int(sys.argv[1])))
except OSError: s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])' "$1"
}

start() {
  umask 077  # keys and kubeconfigs are written here
  rm -f "$state"/*.log
  mkdir -p "$state/certs" "$state/plugins"
  start_part server "$build/bin/kcm-devcluster" serve --port 0 --nodes 5 --metrics --kubeconfig-out "$kubeconfig"
  within "the API server answers (see $state/server.log)" test -s "$kubeconfig"
  within "the simulated nodes register" grep -q registered "$state/server.log"

  # The plugins get a directory of their own: replacing a file there is a swap too. Group-writable files would be refused.
  cp "$build"/plugins/kcm-*.so "$state/plugins/"
  rm -f "$state"/plugins/kcm-test-*.so  # the build is one with tests
  cp "$build/demo/kcm-pod-next.so" "$state/"
  chmod 0755 "$state"/plugins/*.so "$state/kcm-pod-next.so"
  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=demo-signing-ca \
    -keyout "$state/signing.key" -out "$state/signing.crt" 2>/dev/null
  openssl genrsa -out "$state/sa.key" 2048 2>/dev/null
  "$kubectl" --kubeconfig "$kubeconfig" config view --raw --minify --flatten -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' |
    base64 -d >"$state/ca.crt"
  local port
  port=$(free_port 10257)
  # kcmctl for people to paste: it knows where the host listens.
  printf '#!/bin/sh\nexec %s "$@"\n' \
    "$(pasted "$build/bin/kcmctl" --server="https://127.0.0.1:$port" --cert-dir="$state/certs" --kubeconfig="$kubeconfig")" >"$state/kcmctl"
  chmod 0700 "$state/kcmctl"
  start_part host "$build/bin/kcm-host" --kubeconfig="$kubeconfig" --authentication-kubeconfig="$kubeconfig" \
    --authorization-kubeconfig="$kubeconfig" --client-ca-file="$state/ca.crt" --secure-port="$port" --bind-address=127.0.0.1 \
    --cert-dir="$state/certs" --plugin-dir="$state/plugins" --use-service-account-credentials=true \
    --cluster-signing-cert-file="$state/signing.crt" --cluster-signing-key-file="$state/signing.key" \
    --service-account-private-key-file="$state/sa.key" --root-ca-file="$state/ca.crt" \
    --horizontal-pod-autoscaler-sync-period=2s --horizontal-pod-autoscaler-cpu-initialization-period=1s \
    --kube-api-qps=200 --kube-api-burst=400 -v=2
  within "kcm-host serves (see $state/host.log)" controllers_active
}

ctl() { "$state/kcmctl" "$@"; }
show_ctl() {
  note "\$ $(pasted "$state/kcmctl" "$@")"
  ctl "$@" | indent
}

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
# A line for each pod: when its deletion began, whether it is ready, its image.
pod_lines() {
  k -n shop get pods -l "app=$1" \
    -o 'jsonpath={range .items[*]}{.metadata.deletionTimestamp}|{.status.conditions[?(@.type=="Ready")].status}|{.spec.containers[0].image}{"\n"}{end}'
}
# Images of the pods that are not being deleted, with their number.
images_of() {
  k -n shop get pods -l "app=$1" -o 'jsonpath={range .items[*]}{.metadata.deletionTimestamp}{" "}{.spec.containers[0].image}{"\n"}{end}' |
    sed -n 's/^ //p' | sort | uniq -c | awk '{printf "%s%s x %s", (NR > 1 ? ", " : ""), $1, $2}'
}

# ---- the steps

kubectl=$(command -v kubectl || "$root/tools/kubectl-get" 35) || die "no kubectl: none in PATH, and fetching one failed"
export KUBECONFIG=$kubeconfig

step "A cluster: API server, five simulated nodes, and kcm-host with every plugin that is built"
started=$(date +%s%N)
start
note "up after $((($(date +%s%N) - started) / 1000000)) ms"
show k get nodes
loaded=$(ctl plugins list -o json | python3 -c 'import json, sys
print(*[c["name"] for p in json.load(sys.stdin)["plugins"] for c in p.get("controllers") or []])')
show_ctl plugins list
empty=$(ctl plugins list -o json | python3 -c 'import json, sys
print(*[p["name"] for p in json.load(sys.stdin)["plugins"] if not p.get("controllers")], sep=", ")')
[[ -z $empty ]] || note "Not there yet: $empty are loaded, but have no controller so far; no step below needs one of theirs."
if ! has deployment-controller || ! has replicaset-controller; then
  die "the deployment and replicaset controllers are not in $build/plugins: this demo is about them"
fi

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
# Looks at the pods again and again until six of 1.1 and no other are there; available are ready ones that are not on their way out.
# maxUnavailable, 25 % of 6, is rounded down: 1.
looks=0 available=0 lowest=6 deadline=$((SECONDS + patience)) pods=''
until [[ $available == 6 && $(sort -u <<<"$pods") == "|True|shop/storefront:1.1" ]]; do
  ((SECONDS < deadline)) || die "not within $patience s: six pods of 1.1"
  pods=$(pod_lines storefront)
  available=$(grep -c '^|True|' <<<"$pods") || true
  looks=$((looks + 1)) lowest=$((available < lowest ? available : lowest))
done
note "pods that were available meanwhile: never fewer than $lowest of 6, in $looks looks"
((lowest >= 5)) || die "only $lowest of 6 pods were available: a quarter, rounded down, is one"
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
show_ctl plugins swap "$state/kcm-pod-next.so"
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
show_ctl plugins rollback pod
k -n shop scale deployment/storefront --replicas=6 >/dev/null
rollout_done shop storefront
six() { [[ $(pods_of shop storefront) == 6 ]]; }
within "the old build scales storefront to 6" six
note "the old build scaled storefront to $(pods_of shop storefront)"

runs host || die "kcm-host ended"
ctl_command=$(pasted "$state/kcmctl")
cat <<END

${bold}Everything came true and keeps running.${plain} Use kubectl on it:

   export KUBECONFIG=$(pasted "$kubeconfig")
   kubectl -n shop get all
   kubectl -n shop scale deployment/cart --replicas=20

look into the host, and swap again:

   $ctl_command plugins list
   $ctl_command plugins swap $(pasted "$state/kcm-pod-next.so")
   $ctl_command plugins rollback pod

Logs: $state/host.log, $state/server.log. The end: $end_command
END
