#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real kubectl on kcm-devcluster: every command that people use, its exit code and what is essential of its output.
#   commands.sh PATH-OF-KCM-DEVCLUSTER MINOR     (kubectl 1.MINOR, fetched once by ./dev kubectl)
# No controllers run: what they would write is written here. All checks run; exit code 1 when any failed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
devcluster=$1
kubectl=$("$here/../../dev" kubectl "$2") || exit 1
work=$(mktemp -d)
export HOME=$work KUBECONFIG=$work/kubeconfig KUBECACHEDIR=$work/cache
server=
checks=0 failures=0
finish() {
  [[ -n $server ]] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
  [[ -n ${KCM_KEEP:-} ]] || rm -rf "$work"
}
trap finish EXIT

k() { "$kubectl" "$@"; }

fail() {
  failures=$((failures + 1))
  printf 'FAIL %s\n     %s\n' "$1" "$2"
  # The reason stands at the end, mostly.
  printf '%s\n' "$out" | awk 'NR <= 5 { print; next } { last[NR] = $0 } NR > 35 { delete last[NR - 30] }
    END { if (NR > 35) print "..."; for (i = NR > 35 ? NR - 29 : 6; i <= NR; i++) print last[i] }' | sed 's/^/     | /'
}

# check CODE PATTERN ARGS...: kubectl ARGS ends with CODE and prints something that matches PATTERN (extended regular
# expression over all lines; what is printed is in $out afterwards).
check() {
  local want=$1 pattern=$2 code=0
  shift 2
  checks=$((checks + 1))
  out=$(timeout "${patience:-30}" "$kubectl" "$@" 2>&1 <"${input:-/dev/null}") || code=$?
  if [[ $code != "$want" ]]; then
    fail "kubectl $*" "exit code $code, expected $want"
  elif [[ ! $out =~ $pattern ]]; then
    fail "kubectl $*" "does not match: $pattern"
  fi
}
ok() { check 0 "$@"; }
# lacks PATTERN: the last output must not match.
lacks() { [[ ! $out =~ $1 ]] || fail "the output before this line" "must not match: $1"; }
# file NAME: standard input as a file, its path in $f.
file() {
  f=$work/$1
  cat >"$f"
}

start() {
  "$devcluster" serve --port 0 --nodes 2 --kubeconfig-out "$KUBECONFIG" >"$work/server.log" 2>&1 &
  server=$!
  local i
  for ((i = 0; i < 600; ++i)); do
    [[ -s $KUBECONFIG ]] && grep -q registered "$work/server.log" && return
    kill -0 "$server" 2>/dev/null || break
    sleep 0.05
  done
  cat "$work/server.log"
  echo "kcm-devcluster does not start"
  exit 1
}

start
for part in "$here"/parts/*.sh; do
  # shellcheck source=/dev/null
  source "$part"
done
echo "kubectl 1.$2: $checks checks, $failures failed, $SECONDS s"
exit $((failures > 0))
