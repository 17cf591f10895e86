#!/usr/bin/env bash
# Everything to do on a machine with a GPU, in one command.
#
#   tools/gpu_check.sh --bundle FOLDER              build here what to take along (needs nvcc, no GPU)
#   FOLDER/gpu_check.sh RESULTS [--stage STAGE]     run it there (needs a driver, nothing else)
#
# Stages: tests (correctness, compute-sanitizer), bench (nsbench), profile (ncu); default: all three,
# in this order. Logs and JSON go to RESULTS; a summary of one screen comes last. compute-sanitizer
# and ncu are used if they are on PATH. Clocks and modes of the GPU are left alone.
# There is no stage 'collect': cost-data collection on a GPU is not built yet.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

usage() {
  sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

make_bundle() {
  local folder=$1 build=$here/../build/gpu_check
  cmake -S "$here/.." -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNEUROSHARD_CUDA=ON \
    -DNEUROSHARD_BUILD_TOOLS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_OpenBLAS=ON
  cmake --build "$build" --target cuda_tests nsbench
  mkdir -p "$folder/bin" "$folder/lib" "$folder/data"
  cp "$build/tests/cuda/cuda_tests" "$build/bench/nsbench" "$folder/bin"
  cp -r "$here/../tests/data/." "$folder/data"
  cp "$0" "$folder/gpu_check.sh"
  # Libraries that a bare machine may lack; the C and C++ libraries are any machine's own.
  ldd "$folder"/bin/* | awk '/=> \//{print $3}' | sort -u |
    grep -vE '/(libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt)\.so' |
    xargs -r cp -Lt "$folder/lib"
  git -C "$here/.." rev-parse HEAD >"$folder/commit"
  echo "bundle: $folder ($(du -sh "$folder" | cut -f1))"
}

[ $# -ge 1 ] || usage
if [ "$1" = --bundle ]; then
  [ $# -eq 2 ] || usage
  make_bundle "$2"
  exit
fi
results=$1
stages="tests bench profile"
shift
if [ $# -gt 0 ]; then
  [ "$1" = --stage ] && [ $# -eq 2 ] || usage
  stages=$2
  case $stages in tests | bench | profile) ;; *) usage ;; esac
fi
[ -x "$here/bin/cuda_tests" ] || {
  echo "gpu_check.sh: no programs beside it; make a bundle first: tools/gpu_check.sh --bundle FOLDER" >&2
  exit 2
}
mkdir -p "$results"
results=$(cd "$results" && pwd)
export NEUROSHARD_REQUIRE_GPU=1 NEUROSHARD_TEST_DATA="$here/data"
golden=$here/data/golden
summary=()
failed=0

# usage: step NAME SECONDS COMMAND...   Its output goes to RESULTS/NAME.log.
step() {
  local name=$1 limit=$2 status=0 start=$SECONDS
  shift 2
  echo "== $name"
  LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
    timeout "$limit" "$@" >"$results/$name.log" 2>&1 || status=$?
  [ $status -eq 0 ] || failed=1
  summary+=("$(printf '%-22s %-10s %5d s' "$name" \
    "$([ $status -eq 0 ] && echo ok || echo "FAILED $status")" $((SECONDS - start)))")
}

skip() { summary+=("$(printf '%-22s skipped: %s' "$1" "$2")"); }

{
  cat "$here/commit" 2>/dev/null || true
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem,clocks.max.sm \
    --format=csv || echo "nvidia-smi failed"
} >"$results/machine.txt" 2>&1

stage_tests() {
  step tests 500 "$here/bin/cuda_tests" "--gtest_output=json:$results/tests.json"
  if command -v compute-sanitizer >/dev/null; then
    local some='Placement.NothingFits:Placement.EqualPiecesTie:Placement.ManyTasksInOneCall:Operations.*'
    for tool in memcheck racecheck; do
      step "sanitizer_$tool" 300 compute-sanitizer --tool "$tool" --error-exitcode 9 \
        "$here/bin/cuda_tests" "--gtest_filter=$some"
    done
  else
    skip sanitizer "no compute-sanitizer on PATH"
  fi
}

stage_bench() {
  local nsbench=$here/bin/nsbench
  step bench_score 200 "$nsbench" score --data "$golden" --backends cuda avx2 --per-shard 16 \
    --threads 1 --json "$results/score.json"
  step bench_plan 200 "$nsbench" plan --data "$golden" --backends cuda --threads 1 \
    --json "$results/plan.json"
  step bench_load 200 "$nsbench" plan --data "$golden" --backends cuda --threads 1 \
    --sets 4gpu_dim128 --batch 600 --json "$results/plan_load.json"
  step bench_scale 200 "$nsbench" scale --data "$golden" --backend cuda --limit-seconds 20 \
    --json "$results/scale.json"
}

stage_profile() {
  if command -v ncu >/dev/null; then
    step profile 300 ncu --clock-control none --set full --launch-skip 20 --launch-count 6 \
      --force-overwrite --export "$results/profile" \
      "$here/bin/cuda_tests" --gtest_filter=Plans.GoldenTasks
  else
    skip profile "no ncu on PATH"
  fi
}

for stage in $stages; do "stage_$stage"; done

cat "$results/machine.txt"
printf '%s\n' "${summary[@]}"
for name in tests bench_score bench_plan; do
  if [ -f "$results/$name.log" ]; then
    echo "-- $name"
    tail -n 6 "$results/$name.log"
  fi
done
exit $failed
