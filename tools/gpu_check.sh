#!/usr/bin/env bash
# Everything to do on a machine with a GPU, in one command.
#
#   tools/gpu_check.sh --bundle FOLDER [ARCH]       build here what to take along (needs nvcc, no GPU)
#   FOLDER/gpu_check.sh RESULTS [--stage STAGE]     run it there (needs a driver; no network, no packages)
#
# ARCH is the compute capability to build for, default 90. Stages, by default all, in this order:
#   tests    all CUDA tests, then compute-sanitizer memcheck and racecheck
#   bench    nsbench: shards scored, each kernel, plans on 2 to 128 devices, many plans in flight, scale
#   collect  cost samples of the embedding operator; raw samples stay in RESULTS/collect
#   profile  ncu on every kernel
# Logs and JSON go to RESULTS; a summary of one screen comes last. compute-sanitizer, ncu and cuBLAS
# are used if they are there (PATH, /usr/local/cuda). Clocks and modes of the GPU are left alone.
# COLLECT_SAMPLES (20,000) says how much to collect.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

usage() {
  sed -n '2,15s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

# Programs with everything linked in that has a static library; the other libraries go along, but
# for those that belong to the C and C++ compilers of the machine.
make_bundle() {
  local folder=$1 arch=$2 build=$here/../build/gpu_check
  cmake -S "$here/.." -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNEUROSHARD_CUDA=ON \
    -DCMAKE_CUDA_ARCHITECTURES="$arch-real" -DCMAKE_DISABLE_FIND_PACKAGE_OpenBLAS=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON -DCMAKE_BUILD_RPATH="\$ORIGIN/../lib" \
    -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags
  cmake --build "$build" --target cuda_tests nsbench neuroshard_program
  rm -rf "$folder/bin" "$folder/lib" "$folder/data" "$folder/examples"
  mkdir -p "$folder/bin" "$folder/lib"
  cp "$build/tests/cuda/cuda_tests" "$build/bench/nsbench" "$build/tools/neuroshard" "$folder/bin"
  strip "$folder"/bin/*
  cp -r "$here/../tests/data" "$folder/data"
  cp -r "$here/examples" "$folder/examples"
  cp "$here/gpu_check.sh" "$folder/gpu_check.sh"
  ldd "$folder"/bin/* | awk '/=> \//{print $3}' | sort -u |
    grep -vE '/(libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt)\.so' |
    xargs -r cp -Lt "$folder/lib"
  git -C "$here/.." describe --always --abbrev=12 --dirty >"$folder/commit"
  # What the machine's own C and C++ libraries must provide.
  for name in GLIBC GLIBCXX; do
    objdump -T "$folder"/bin/* "$folder"/lib/* | grep -oE "\b${name}_[0-9.]+" | sort -uV | tail -n 1
  done >"$folder/needs"
  echo "bundle: $folder ($(du -sh "$folder" | cut -f1), sm_$arch, needs $(paste -sd' ' "$folder/needs"))"
}

[ $# -ge 1 ] || usage
if [ "$1" = --bundle ]; then
  [ $# -eq 2 ] || [ $# -eq 3 ] || usage
  make_bundle "$2" "${3:-90}"
  exit
fi
results=$1
stages="tests bench collect profile"
shift
if [ $# -gt 0 ]; then
  [ "$1" = --stage ] && [ $# -eq 2 ] || usage
  stages=$2
  case $stages in tests | bench | collect | profile) ;; *) usage ;; esac
fi
[ -x "$here/bin/cuda_tests" ] || {
  echo "gpu_check.sh: no programs beside it; make a bundle first: tools/gpu_check.sh --bundle FOLDER" >&2
  exit 2
}
mkdir -p "$results"
results=$(cd "$results" && pwd)
cd "$here"
export NEUROSHARD_REQUIRE_GPU=1 NEUROSHARD_TEST_DATA="$here/data"
export PATH="$PATH:/usr/local/cuda/bin"
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64"  # cuBLAS
golden=$here/data/golden
nsbench=$here/bin/nsbench
summary=()
ran=" "
failed=0

# usage: step NAME SECONDS COMMAND...   Its output goes to RESULTS/NAME.log.
step() {
  local name=$1 limit=$2 status=0 start=$SECONDS
  shift 2
  ran+="$name "
  echo "== $name"
  timeout "$limit" "$@" >"$results/$name.log" 2>&1 || status=$?
  [ $status -eq 0 ] || failed=1
  summary+=("$(printf '%-22s %-10s %5d s' "$name" \
    "$([ $status -eq 0 ] && echo ok || echo "FAILED $status")" $((SECONDS - start)))")
  return $status
}

skip() { summary+=("$(printf '%-22s skipped: %s' "$1" "$2")"); }

{
  cat "$here/commit" 2>/dev/null || true
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem,clocks.max.sm \
    --format=csv || echo "nvidia-smi failed"
} >"$results/machine.txt" 2>&1

stage_tests() {
  step tests 500 bin/cuda_tests "--gtest_output=json:$results/tests.json" || true
  if ! command -v compute-sanitizer >/dev/null; then
    skip sanitizer "no compute-sanitizer on PATH or in /usr/local/cuda/bin"
    return
  fi
  # All kernels, without the tests that only repeat them on larger inputs.
  local some='-*AThousandDevices:*ManyPieces:*GoldenTasks:*RandomTasks'
  for tool in memcheck racecheck; do
    step "sanitizer_$tool" 400 compute-sanitizer --tool "$tool" --error-exitcode 9 \
      bin/cuda_tests "--gtest_filter=$some" || true
  done
}

stage_bench() {
  local clocks=
  # Clocks while the GPU works; read only.
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu \
      --format=csv -lms 500 >"$results/clocks.csv" 2>&1 &
    clocks=$!
  fi
  step bench_score 200 "$nsbench" score --data "$golden" --backends cuda,avx2 --per-shard 16 \
    --batches 4096,65536,1048576 --threads 1 --json "$results/score.json" || true
  step bench_kernels 150 "$nsbench" kernels --data "$golden" --json "$results/kernels.json" || true
  step bench_plan 200 "$nsbench" plan --data "$golden" --backends cuda,avx2 --threads 1 \
    --sets 2gpu_dim128,4gpu_dim128,8gpu_dim128,16gpu_dim128 --tasks 40 \
    --json "$results/plan.json" || true
  step bench_plan_128 150 "$nsbench" plan --backends cuda,avx2 --threads 1 \
    --task examples/jumbo_128gpu.json --data "$golden" --json "$results/plan_128.json" || true
  for threads in 1 8; do
    step "bench_load_$threads" 150 "$nsbench" plan --data "$golden" --backends cuda \
      --threads $threads --concurrency 1,8 --sets 4gpu_dim128 --batch 2000 --check 0 \
      --json "$results/load_$threads.json" || true
  done
  step bench_scale 150 "$nsbench" scale --data "$golden" --backend cuda --limit-seconds 20 \
    --json "$results/scale.json" || true
  [ -z "$clocks" ] || kill "$clocks" 2>/dev/null || true
}

stage_collect() {
  if ! bin/neuroshard collect compute --help 2>/dev/null | grep -qE -- '--backend .*cuda'; then
    skip collect "this neuroshard has no 'collect compute --backend cuda'"
    return
  fi
  # Enough with what is there by then: samples are written as they come.
  step collect 580 timeout --preserve-status -s INT 560 bin/neuroshard collect compute \
    --backend cuda --table-configs "$golden/tables/table_configs.json" \
    --output "$results/collect" --samples "${COLLECT_SAMPLES:-20000}" || true
}

stage_profile() {
  if ! command -v ncu >/dev/null; then
    skip profile "no ncu on PATH or in /usr/local/cuda/bin"
    return
  fi
  step profile 400 ncu --clock-control none --set full --launch-count 60 --force-overwrite \
    --kernel-name regex:'place_candidates|score_shards|comm_costs|embed_pieces' \
    --export "$results/profile" "$nsbench" kernels --data "$golden" --repetitions 1 \
    --min-seconds 0.0001 || return 0
  ncu --import "$results/profile.ncu-rep" --page details --csv >"$results/profile.csv" 2>&1 || true
}

for stage in $stages; do "stage_$stage"; done

cat "$results/machine.txt"
printf '%s\n' "${summary[@]}"
for name in tests bench_score bench_plan collect; do
  if [[ $ran = *" $name "* ]]; then
    echo "-- $name"
    tail -n 6 "$results/$name.log"
  fi
done
exit $failed
