#!/usr/bin/env bash
# usage: gpu_check_test.sh GPU_CHECK FOLDER CUDA_HOST_TESTS
# Runs tools/gpu_check.sh beside programs that only leave traces: which steps are taken, which tests and
# kernels they are about, and what is left in the folder of results. CUDA_HOST_TESTS has the tests of
# cuda_tests, and more.
set -euo pipefail
script=$1 folder=$2 tests=$3
rm -rf "$folder"
mkdir -p "$folder/bundle/bin" "$folder/tools" "$folder/pip/nvidia/cu13/lib"
cp "$script" "$folder/bundle/gpu_check.sh"
touch "$folder/pip/nvidia/cu13/lib/libcublas.so.13"
cat >"$folder/program" <<'EOF'
#!/usr/bin/env bash
# Notes that it was called, writes a report if it was asked for one, and fails or hangs if told to.
echo "$(basename "$0") $*" >>"$TRACE"
[ "$(basename "$0")" != nsbench ] || echo "$LD_LIBRARY_PATH" >"$TRACE.libraries"
while [ $# -gt 0 ]; do
  case $1 in
    --json) printf '{\n"a": 1\n}\n' >"$2" ;;
    --gtest_output=json:*) echo '{"tests": 3}' >"${1#--gtest_output=json:}" ;;
    --output) mkdir -p "$2" && echo sample >>"$2/data.txt" ;;
    --export) echo profile >"$2.ncu-rep" ;;
  esac
  shift
done
[ "$(basename "$0")" != "${FAILING:-}" ] || exit 3
[ "$(basename "$0")" != "${HANGING:-}" ] || sleep 60
EOF
chmod +x "$folder/program"
for name in cuda_tests nsbench neuroshard; do cp "$folder/program" "$folder/bundle/bin/$name"; done
for name in ncu compute-sanitizer nvidia-smi; do cp "$folder/program" "$folder/tools/$name"; done
export TRACE=$folder/trace PATH=$folder/tools:$PATH PYTHONPATH=$folder/pip
results=$folder/results
fail() {
  echo "gpu_check_test.sh: $*" >&2
  exit 1
}
check() { "$folder/bundle/gpu_check.sh" "$results" "$@" >"$folder/screen" 2>&1; }

! check nonsense || fail "an unknown stage was taken"

# The loads come first of all.
check
grep -q '^nsbench kernels --loads-only' <<<"$(grep -v -m 1 '^nvidia-smi' "$TRACE")" || fail "the loads are not measured first"
for part in score plan train scale; do grep -q "^nsbench $part " "$TRACE" || fail "no nsbench $part"; done
grep -q '^neuroshard collect compute' "$TRACE" || fail "nothing was collected"
for tool in memcheck racecheck; do
  grep -q -- "^compute-sanitizer --tool $tool" "$TRACE" || fail "no $tool"
done
# Without the tests that take long: each of the filter's patterns leaves out one at least, and none is left.
filter=$(sed -n 's/^compute-sanitizer --tool memcheck .*--gtest_filter=-//p' "$TRACE")
[ -n "$filter" ] || fail "no filter of tests"
listed() {
  "$tests" --gtest_list_tests "--gtest_filter=$1" | sed "s/ *#.*//" |
    awk '/^[^ ]/ { suite = $1; next } { print suite $1 }'
}
IFS=: read -ra patterns <<<"$filter"
for pattern in "${patterns[@]}"; do
  [ -n "$(listed "$pattern")" ] || fail "no test is called $pattern, which is left out"
done
kept=$(listed "-$filter")
! grep -E 'GoldenTasks|RandomTasks|WholeTrainings|Thousand' <<<"$kept" || fail "these take too long in the sanitizer"
for suite in Placement Plans Operations EmbeddingOperator Training; do
  grep -q "^$suite\." <<<"$kept" || fail "no test of $suite in the sanitizer"
done
# Each kernel is profiled, beside a program that launches it.
regex=$(sed -nE 's/^ncu .*--set full .*--kernel-name regex:([^ ]+) .*/\1/p' "$TRACE" | paste -sd'|')
kernels=$(grep -ohE '\b[a-z_]+_kernel\(' "$(dirname "$script")"/../cuda/*/*.cu | tr -d '(' | sort -u)
[ "$(wc -l <<<"$kernels")" -ge 15 ] || fail "kernels were not found: $kernels"
! grep -vE "$regex" <<<"$kernels" || fail "these kernels are not profiled"
[ "$(tar -tf "$results/profile.tar" | wc -l)" -eq 4 ] || fail "not all profiles"
grep -q pip/nvidia/cu13/lib "$TRACE.libraries" || fail "cuBLAS of pip was not found"
[ "$(ls "$results" | wc -l)" -le 6 ] || fail "more than six files: $(ls "$results")"
python3 - "$results/results.json" <<'EOF'
import json, sys
steps = [json.loads(line)["step"] for line in open(sys.argv[1])]
assert steps[0] == "loads" and len(steps) == len(set(steps)) and "tests" in steps, steps
EOF
grep -q samples/data.txt <<<"$(tar -tf "$results/samples.tar")" || fail "no samples"
! grep -q FAILED "$results/summary.txt" || fail "steps failed: $(cat "$results/summary.txt")"

# Steps that were done are not done again, but collecting goes on.
calls() { grep -vcE '^(nvidia-smi|neuroshard collect compute --backend)' "$TRACE"; }
before=$(calls)
check
[ "$(calls)" -eq "$before" ] || fail "done steps were taken again"
[ "$(grep -c sample "$folder/bundle/work/samples/data.txt")" -eq 2 ] || fail "collecting did not go on"

# A step that failed is, and its stage says so.
rm -r "$results"
! FAILING=cuda_tests check tests || fail "a failure was not told"
grep -q '^tests *FAILED 3' "$results/summary.txt" || fail "no word of the failure"
check tests || fail "the step was not taken again"
grep -q '^tests *ok' "$results/summary.txt" || fail "it was not noted"

# A stage ends in time, and says what it left out. A step needs 5 s to be begun at all.
rm -r "$results"
! HANGING=nsbench STAGE_SECONDS=12 check bench || fail "a step that hung was fine"
grep -q '^bench_score *FAILED 124' "$results/summary.txt" || fail "it was not stopped"
grep -q '^bench_plan *left out' "$results/summary.txt" || fail "more steps than there was time for"
echo "gpu_check.sh: all as it should be"
