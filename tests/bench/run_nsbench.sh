#!/usr/bin/env bash
# usage: run_nsbench.sh NSBENCH FOLDER COMMAND [OPTION...]
# Runs a command of nsbench; what it leaves in FOLDER must be complete.
set -euo pipefail
nsbench=$1 folder=$2 command=$3
shift 3
rm -rf "$folder"
mkdir -p "$folder"
files=(--json "$folder/result.json")
[[ "$command" = plan || "$command" = train ]] || files+=(--svg "$folder/chart.svg")

"$nsbench" "$command" "$@" "${files[@]}" >"$folder/report.md"
grep -q '^# commit: ' "$folder/report.md"
grep -q '^# openblas: ' "$folder/report.md"
grep -q '^|--' "$folder/report.md"
grep -q '"benchmarks": \[' "$folder/result.json"
grep -q "\"name\": \"$command/" "$folder/result.json"
grep -q '"cpu_flags"' "$folder/result.json"
[ ! -e "$folder/chart.svg" ] || grep -q '</svg>' <<<"$(tail -n 1 "$folder/chart.svg")"
[ "$(ls "$folder" | wc -l)" = $((1 + ${#files[@]} / 2)) ] # No temporary file is left.
! grep -q failed "$folder/report.md"
