#!/usr/bin/env bash
# usage: bench/run_all.sh MACHINE [PART...]
# Measures speed, quality and growth, or the parts named (plan_no_reuse, plan, plan_load, train, score,
# quality, scale), and leaves it in bench/results/MACHINE: a report (Markdown) and charts for each
# command of nsbench. Takes some minutes on two cores. Close other programs first; the
# spreads in the reports tell whether the machine was quiet. NSBENCH names another program.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || {
  sed -n '2,6s/^# //p' "$0" >&2
  exit 2
}
results=bench/results/$1
nsbench=${NSBENCH:-build/release/bench/nsbench}
parts=" ${*:2} "
[ -x "$nsbench" ] || {
  echo "run_all.sh: no program '$nsbench'; build it: cmake --build --preset release" >&2
  exit 2
}
mkdir -p "$results"

# usage: measure NAME OPTION...
measure() {
  local name=$1
  shift
  [[ $parts == "  " || $parts == *" $name "* ]] || return 0
  echo "== $name: nsbench $* ($SECONDS s so far)"
  "$nsbench" "$@" >"$results/$name.part"
  { printf '%s\n\n' "nsbench $*" && cat "$results/$name.part"; } >"$results/$name.md"
  rm "$results/$name.part"
}

# Without reuse everything is computed anew: one pass of one thread over a few tasks of each set will do.
measure plan_no_reuse plan --no-reuse --threads 1 --tasks 6 --rounds 3 --check 0
measure plan plan --rounds 7 --searches default,fast,published,as_published
measure plan_load plan --sets 4gpu_dim128 --threads 1 --concurrency 1,2,8 --batch 600 --rounds 5
measure train train
measure score score --svg "$results/score.svg"
measure quality quality --svg "$results/quality.svg"
# The built-in weights serve every device count, the golden ones only a few.
measure scale scale --weights builtin --svg "$results/scale.svg" --limit-seconds 30 \
  --task-files tools/examples/jumbo_128gpu.json
echo "== done in $SECONDS s: $results"
