#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev demo ended in the middle: by ./dev down, by a second demo, by Ctrl-C, by a kill of its first process; and two demos started at
# once. Every time one clear line, nothing left behind, and no process ended that is not the demo's.
#   demo_ends.sh BUILD-DIR      (all programs built there)
set -uo pipefail
dev=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/dev
work=$(mktemp -d)
export KCM_BUILD_DIR=$1 KCM_DEMO_DIR=$work/state
state=$KCM_DEMO_DIR
failures=0
finish() {
  "$dev" down >/dev/null 2>&1
  [[ -n ${KCM_KEEP:-} ]] || rm -rf "$work"
}
trap finish EXIT

fail() {
  failures=$((failures + 1))
  printf 'FAIL %s: %s\n' "$case" "$1"
  tail -n 40 "$work"/*.out | sed 's/^/     | /'
}
expect() { # WHAT COMMAND...
  local what=$1
  shift
  "$@" || fail "$what"
}
refuse() { # WHAT COMMAND...
  local what=$1
  shift
  if "$@"; then fail "$what"; fi
}
until_true() { # COMMAND...: within a minute
  local i
  for ((i = 0; i < 600; ++i)); do
    "$@" && return
    sleep 0.1
  done
  return 1
}
# demo NAME: starts one in a session of its own, as a terminal would; its process is in $pid, its output in NAME.out.
demo() {
  : >"$work/$1.out"
  env --default-signal=INT setsid "$dev" demo >"$work/$1.out" 2>&1 &
  pid=$!
  disown
}
says() { grep -q -- "$2" "$work/$1.out"; }
lines() { [[ $(grep -c '^demo: ' "$work/$1.out") == "$2" ]]; }
ends() { until_true ended_process "$1"; }
# Without a command line: gone, or waiting for its parent to notice.
ended_process() { [[ -z $(tr -d '\0' 2>/dev/null <"/proc/$1/cmdline") ]] 2>/dev/null; }
serves() { [[ -s $state/server.pid ]] && ! ended_process "$(cat "$state/server.pid")"; }
# Processes of the script: the ones that have its lock open.
at_work() {
  local process
  for process in /proc/[0-9]*; do
    [[ $process/fd/9 -ef $state/lock ]] && return 0
  done
  return 1
}
only_logs() { [[ -z $(find "$state" -mindepth 1 ! -name '*.log' ! -name lock) ]]; }
# In the middle of the second step; or before.
under_way() { until_true says "$1" '^2\. '; }
# The demo NAME, process PID, was ended with the line TEXT and nothing else of that kind, and all of it has gone.
ended_with() { # NAME PID TEXT
  expect "demo $1 goes on" ends "$2"
  expect "demo $1 does not say: $3" says "$1" "^demo: $3\$"
  expect "demo $1 says more than one thing about its end" lines "$1" 1
}
down() {
  "$dev" down >"$work/down.out" 2>&1 || fail "down ends with an error"
  refuse "the server runs after down" serves
  refuse "a process of the script is left" at_work
  expect "down leaves more than logs: $(ls "$state")" only_logs
}

case="down in the middle"
demo first
expect "it does not begin" under_way first
server=$(cat "$state/server.pid")
down
ended_with first "$pid" 'ended by ./dev down'
expect "down does not say that a demo was under way" says down 'under way'
expect "the server has not ended" ended_process "$server"

case="Ctrl-C"
demo first
expect "it does not begin" under_way first
kill -INT -- "-$pid"
ended_with first "$pid" interrupted
expect "it does not say what keeps running" says first "keeps running.*KUBECONFIG=.*down"
expect "the server has ended" serves
refuse "a process of the script is left" at_work

case="a second demo in the middle, and then two at once"
demo first
expect "it does not begin" under_way first
first=$pid
demo second
second=$pid
demo third
third=$pid
ended_with first "$first" 'ended by another ./dev demo'
either_ended() { ended_process "$second" || ended_process "$third"; }
expect "both run" until_true either_ended
if ended_process "$second"; then
  ended_with second "$second" 'ended by another ./dev demo'
  last=third
else
  ended_with third "$third" 'ended by another ./dev demo'
  last=second
fi
expect "the last one does not run" under_way "$last"
down
ended_with "$last" "${!last}" 'ended by ./dev down'

case="its first process is killed"
demo first
expect "it does not begin" until_true says first '^1\. '
kill -KILL "$(cat "$state/lock")"
ends "$pid"
down

case="numbers of other processes in its files"
sleep 600 &
other=$!
for file in lock server.pid host.pid; do echo "$other" >"$state/$file"; done
down
refuse "another's process was ended" ended_process "$other"
kill "$other"

case="a directory with other things"
mkdir -p "$work/mine/plugins"
if KCM_DEMO_DIR=$work/mine "$dev" down >"$work/down.out" 2>&1; then fail "down takes it"; fi
expect "something in it was removed" test -d "$work/mine/plugins"

((failures == 0)) && echo "all cases passed"
