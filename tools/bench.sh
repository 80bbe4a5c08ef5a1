#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev bench [ARGS]: builds what is missing and runs bench/bench.py, which measures kcm-host beside the budgets of the design.
# ./dev bench --help lists the arguments.
# ./dev bench devcluster [ARGS]: the same for the API server, with bench/devcluster.  KCM_BUILD_DIR=DIR uses the programs of another build.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${KCM_BUILD_DIR:-$root/build/release}
target=kcm-bench-all
[[ ${1:-} == devcluster ]] && target=kcm-bench-devcluster-all
if [[ -n ${KCM_BUILD_DIR:-} ]]; then
  [[ $target == kcm-bench-devcluster-all && -e $build/bin/kcm-bench-devcluster && -e $build/bin/kcm-devcluster ]] ||
    [[ -e $build/bench/kcm-bench.so && -e $build/demo/kcm-pod-next.so && -e $build/bin/kcm-devcluster ]] ||
    { echo "bench: $build is not complete: build target $target there" >&2; exit 1; }
else
  echo "building what is not up to date (the first time this takes some minutes)" >&2
  "$root/dev" setup
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  (cd "$root" && cmake --preset release && cmake --build --preset release -j "$(nproc)" --target "$target") >"$log" 2>&1 ||
    { tail -n 30 "$log" >&2; echo "bench: the build failed" >&2; exit 1; }
fi
if [[ $target == kcm-bench-devcluster-all ]]; then
  shift
  exec "$build/bin/kcm-bench-devcluster" --server "$build/bin/kcm-devcluster" "$@"
fi
python3 "$root/bench/bench.py" --build "$build" "$@"
