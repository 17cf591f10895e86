#!/usr/bin/env bash
# Everything to do on a machine with one GPU, in stages of at most 8 minutes.
#
#   tools/gpu_check.sh --bundle FOLDER [ARCH]       build here what to take along (needs nvcc, no GPU)
#   FOLDER/gpu_check.sh RESULTS [STAGE...]          run it there (needs a driver; no network, no packages)
#
# ARCH is the compute capability to build for, default 90. Stages, by default all, in this order:
#   loads      costs of loads from shared memory, on which docs/kernels.md's estimates rest
#   tests      all CUDA tests
#   bench      nsbench: shards scored, each kernel, plans on 2 to 128 devices, training
#   collect    cost samples of the embedding operator
#   sanitize   compute-sanitizer memcheck and racecheck
#   profile    ncu on every kernel of cuda/, once for each launch configuration
#   load       nsbench: many plans in flight, scale
# Each stage can be run alone, and again: steps that were done are left out, and collect goes on where
# it was. RESULTS has six files at most: summary.txt, log.txt, results.json (a report a line),
# clocks.csv, samples.tar and profile.tar. Stages pass files to each other in FOLDER/work.
# compute-sanitizer, ncu and cuBLAS are used if they are there (PATH, /usr/local/cuda; cuBLAS also
# from the packages nvidia-cublas of pip). Clocks and modes of the GPU are left alone.
# COLLECT_SAMPLES (20,000) says how much to collect, STAGE_SECONDS (480) how long a stage may take.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

usage() {
  sed -n '2,20s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

# Everything is linked in that has a static library.
make_bundle() {
  local folder=$1 arch=$2 build=$here/../build/gpu_check
  cmake -S "$here/.." -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNEUROSHARD_CUDA=ON \
    -DCMAKE_CUDA_ARCHITECTURES="$arch-real" -DCMAKE_DISABLE_FIND_PACKAGE_OpenBLAS=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON -DCMAKE_BUILD_RPATH="\$ORIGIN/../lib" \
    -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags
  cmake --build "$build" --target cuda_tests nsbench neuroshard_program
  "$here/bundle_programs" "$folder" \
    "$build/tests/cuda/cuda_tests" "$build/bench/nsbench" "$build/tools/neuroshard"
  rm -rf "$folder/data" "$folder/examples"
  cp -r "$here/../tests/data" "$folder/data"
  cp -r "$here/examples" "$folder/examples"
  cp "$here/gpu_check.sh" "$folder/gpu_check.sh"
  git -C "$here/.." describe --always --abbrev=12 --dirty >"$folder/commit"
  echo "bundle: $folder ($(du -sh "$folder" | cut -f1), sm_$arch, needs $(paste -sd' ' "$folder/needs"))"
}

[ $# -ge 1 ] || usage
if [ "$1" = --bundle ]; then
  [ $# -eq 2 ] || [ $# -eq 3 ] || usage
  make_bundle "$2" "${3:-90}"
  exit
fi
case $1 in -*) usage ;; esac
results=$1
shift
stages=("$@")
[ $# -gt 0 ] || stages=(loads tests bench collect sanitize profile load)
for stage in "${stages[@]}"; do
  case $stage in loads | tests | bench | collect | sanitize | profile | load) ;; *) usage ;; esac
done
[ -x "$here/bin/cuda_tests" ] || {
  echo "gpu_check.sh: no programs beside it; make a bundle first: tools/gpu_check.sh --bundle FOLDER" >&2
  exit 2
}
work=$here/work
mkdir -p "$results" "$work"
results=$(cd "$results" && pwd)
cd "$here"
export NEUROSHARD_REQUIRE_GPU=1 NEUROSHARD_TEST_DATA="$here/data"
export PATH="$PATH:/usr/local/cuda/bin"

# Folders of cuBLAS: of a toolkit, and of pip's packages (nvidia/cublas/lib, nvidia/cu13/lib).
cublas_folders() {
  echo /usr/local/cuda/lib64
  local python
  for python in python3 python; do
    command -v "$python" >/dev/null || continue
    "$python" - <<'EOF' || true
import glob, site, sys
for folder in dict.fromkeys(sys.path + site.getsitepackages() + [site.getusersitepackages()]):
    for library in glob.glob(f"{folder}/nvidia/*/lib/libcublas.so.*"):
        print(library.rsplit("/", 1)[0])
EOF
  done
}
LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(cublas_folders | awk '!seen[$0]++' | paste -sd:)
export LD_LIBRARY_PATH
golden=$here/data/golden
nsbench=$here/bin/nsbench
stage_seconds=${STAGE_SECONDS:-480}
stage_start=0
failed=0

left() { echo $((stage_seconds - (SECONDS - stage_start))); }
say() {
  echo "$*"
  echo "$*" >>"$results/summary.txt"
}

# usage: step NAME SECONDS COMMAND...
# Output of COMMAND goes to RESULTS/log.txt; JSON that it writes to WORK/NAME.json becomes a line of
# RESULTS/results.json. Done steps are not run again. 124: no time.
step() {
  local name=$1 limit=$2 status=0 start=$SECONDS
  shift 2
  # collect ends well when its time is up, and at once if there is nothing left to collect.
  if [ "$name" != collect ] && grep -qs "^$name  *ok " "$results/summary.txt"; then
    echo "$name was done"
    return
  fi
  [ "$limit" -le "$(left)" ] || limit=$(left)
  if [ "$limit" -lt 5 ]; then
    say "$(printf '%-20s left out: no time; run its stage again' "$name")"
    failed=1
    return 124
  fi
  rm -f "$work/$name.json"
  echo "== $name, $(date -u +%FT%TZ): $*" >>"$results/log.txt"
  timeout -k 5 "$limit" "$@" >"$work/$name.log" 2>&1 || status=$?
  cat "$work/$name.log" >>"$results/log.txt"
  if [ -s "$work/$name.json" ]; then
    # No line ends within a string of JSON.
    printf '{"step": "%s", "report": %s}\n' "$name" "$(tr -d '\n' <"$work/$name.json")" \
      >>"$results/results.json"
  fi
  [ $status -eq 0 ] || failed=1
  say "$(printf '%-20s %-10s %5d s' "$name" "$([ $status -eq 0 ] && echo ok || echo "FAILED $status")" \
    $((SECONDS - start)))"
  return $status
}

skip() { say "$(printf '%-20s skipped: %s' "$1" "$2")"; }

stage_loads() {
  step loads 100 "$nsbench" kernels --loads-only --data "$golden" --json "$work/loads.json" || true
  grep -h '^|' "$work/loads.log" 2>/dev/null || true
  if command -v ncu >/dev/null; then
    step loads_counters 120 ncu --clock-control none --kernel-name regex:shared_loads \
      --metrics smsp__cycles_active.avg,l1tex__lsu_writeback_active.avg,l1tex__data_bank_reads.avg \
      --launch-count 25 "$nsbench" kernels --loads-only --data "$golden" --repetitions 1 || true
  else
    skip loads_counters "no ncu on PATH or in /usr/local/cuda/bin"
  fi
}

stage_tests() {
  step tests 470 bin/cuda_tests "--gtest_output=json:$work/tests.json" || true
  tail -n 3 "$work/tests.log" 2>/dev/null || true
}

stage_sanitize() {
  if ! command -v compute-sanitizer >/dev/null; then
    skip sanitize "no compute-sanitizer on PATH or in /usr/local/cuda/bin"
    return
  fi
  # All kernels, without the tests that only repeat them on larger inputs.
  local some='-*AThousandDevices:*ManyPieces:*GoldenTasks:*RandomTasks*:*WholeTrainings*' tool
  for tool in memcheck racecheck; do
    step "sanitizer_$tool" 235 compute-sanitizer --tool "$tool" --error-exitcode 9 \
      bin/cuda_tests "--gtest_filter=$some" || true
  done
}

stage_bench() {
  step bench_score 150 "$nsbench" score --data "$golden" --backends cuda,avx2 --per-shard 16 \
    --batches 4096,65536,1048576 --threads 1 --json "$work/bench_score.json" || true
  step bench_edits 60 "$nsbench" score --data "$golden" --backends cuda,avx2 --edits 16 --pieces 400 \
    --batches 4096,65536,1048576 --threads 1 --json "$work/bench_edits.json" || true
  step bench_kernels 100 "$nsbench" kernels --data "$golden" --json "$work/bench_kernels.json" || true
  step bench_plan 120 "$nsbench" plan --data "$golden" --backends cuda,avx2 --threads 1 \
    --sets 2gpu_dim128,4gpu_dim128,8gpu_dim128,16gpu_dim128 --tasks 40 --searches published \
    --json "$work/bench_plan.json" || true
  # The search that is the default improves plans on the CPU, for most of its time.
  step bench_plan_default 90 "$nsbench" plan --data "$golden" --backends cuda,avx2 --threads 1 \
    --sets 4gpu_dim128,8gpu_dim128,16gpu_dim128 --tasks 8 --rounds 3 --check 0 \
    --json "$work/bench_plan_default.json" || true
  step bench_plan_128 60 "$nsbench" plan --backends cuda,avx2 --threads 1 --rounds 2 --check 0 \
    --task examples/jumbo_128gpu.json --data "$golden" --searches published,fast \
    --json "$work/bench_plan_128.json" || true
  step bench_train 60 "$nsbench" train --data "$golden" --backends cpu,cuda --rounds 3 \
    --json "$work/bench_train.json" || true
}

stage_load() {
  local threads
  for threads in 1 8; do
    step "bench_load_$threads" 150 "$nsbench" plan --data "$golden" --backends cuda \
      --threads $threads --concurrency 1,8 --sets 4gpu_dim128 --batch 2000 --check 0 \
      --searches published \
      --json "$work/bench_load_$threads.json" || true
  done
  step bench_scale 170 "$nsbench" scale --data "$golden" --backend cuda --limit-seconds 20 \
    --json "$work/bench_scale.json" || true
}

stage_collect() {
  # As many as there is time for: samples are written as they come, and the next run goes on.
  local seconds=$(($(left) - 30))
  step collect $((seconds + 25)) timeout --preserve-status -s INT "$seconds" \
    bin/neuroshard collect compute --backend cuda \
    --table-configs "$golden/tables/table_configs.json" --output "$work/samples" \
    --samples "${COLLECT_SAMPLES:-20000}" || true
  [ ! -d "$work/samples" ] || tar -C "$work" -cf "$results/samples.tar" samples
}

# usage: profile NAME SECONDS KERNELS COMMAND...
# Profiles kernels that COMMAND launches and KERNELS, a regular expression, names: one launch of
# each grid, block and shared memory.
profile() {
  local name=profile_$1 limit=$2 kernels=$3
  shift 3
  step "$name" "$limit" ncu --clock-control none --set full --filter-mode per-launch-config --launch-count 1 \
    --kernel-name "regex:$kernels" --force-overwrite --export "$work/$name" "$@" || return 0
  step "${name}_details" 20 ncu --import "$work/$name.ncu-rep" --page details || true
}

stage_profile() {
  if ! command -v ncu >/dev/null; then
    skip profile "no ncu on PATH or in /usr/local/cuda/bin"
    return
  fi
  profile plans 230 'place_candidates|search_beams|score_shards|comm_costs|embed_pieces' \
    "$nsbench" kernels --data "$golden" --repetitions 1 --min-seconds 0.0001
  rm -rf "$work/profiled_samples"
  profile operator 110 'pool_bags|write_lookup_keys|update_rows|join_rows|fill_random' \
    bin/neuroshard collect compute --backend cuda --table-configs "$golden/tables/table_configs.json" \
    --output "$work/profiled_samples" --samples 1 --warm-up 1 --iterations 1
  profile replicas 20 step_weights bin/cuda_tests --gtest_filter=EmbeddingOperator.ReplicasTakeAStep
  profile training 80 \
    'gather_rows|clear_rows|pool_rows|rectify|stop_at_zero|spread_gradients|take_losses|update_parameters' \
    "$nsbench" train --data "$golden" --backends cuda --rounds 1
  local reports=("$work"/profile_*.ncu-rep)
  [ ! -e "${reports[0]}" ] || tar -C "$work" -cf "$results/profile.tar" "${reports[@]##*/}"
}

# Clocks while the GPU works; read only.
clocks=
stop_clocks() { [ -z "$clocks" ] || kill "$clocks" 2>/dev/null || true; }
trap stop_clocks EXIT
if [ ! -e "$results/summary.txt" ]; then
  say "$(cat "$here/commit" 2>/dev/null || echo "no commit")"
  say "$(nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem,clocks.max.sm \
    --format=csv 2>&1 || echo "nvidia-smi failed")"
fi
if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu \
    --format=csv,noheader -lms 500 >>"$results/clocks.csv" 2>/dev/null &
  clocks=$!
fi

for stage in "${stages[@]}"; do
  stage_start=$SECONDS
  "stage_$stage"
done
exit $failed
