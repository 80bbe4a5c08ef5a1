#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev bench [ARGS]: builds what is missing and runs bench/bench.py, which measures kcm-host beside the budgets of the design.
# ./dev bench --help lists the arguments.  KCM_BUILD_DIR=DIR uses the programs of another build.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${KCM_BUILD_DIR:-$root/build/release}
for program in bin/kcm-host bin/kcm-devcluster plugins/kcm-pod.so demo/kcm-pod-next.so bench/kcm-bench.so; do
  [[ -e $build/$program ]] && continue
  [[ -z ${KCM_BUILD_DIR:-} ]] || { echo "bench: $build lacks $program: build target kcm-bench-all there" >&2; exit 1; }
  echo "building (the first time this takes some minutes)" >&2
  "$root/dev" setup
  log=$(mktemp)
  (cd "$root" && cmake --preset release && cmake --build --preset release -j "$(nproc)" --target kcm-bench-all) >"$log" 2>&1 ||
    { tail -n 30 "$log" >&2; echo "bench: the build failed: $log" >&2; exit 1; }
  rm -f "$log"
  break
done
exec python3 "$root/bench/bench.py" --build "$build" "$@"
