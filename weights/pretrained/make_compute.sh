#!/usr/bin/env bash
# usage: weights/pretrained/make.sh FOLDER [NEUROSHARD]
# Makes default.safetensors anew: tables, samples and training, all in FOLDER (about 500 MB). The
# same program gives the same file. docs/model_card.md describes the result.
set -euo pipefail
[ $# -ge 1 ] || {
  sed -n '2,4s/^# //p' "$0" >&2
  exit 2
}
folder=$1
neuroshard=${2:-build/release/tools/neuroshard}
other_tables=$(dirname "$0")/../../tests/data/golden/tables
mkdir -p "$folder"


compute_data=()
# usage: compute NAME TABLES OPTION...
compute() {
  local name=$1 tables=$2
  shift 2
  "$neuroshard" collect compute --backend analytic --table-configs "$tables/table_configs.json" \
    --output "$folder/compute_$name" "$@"
  compute_data+=(--data "$folder/compute_$name")
}
compute published "$folder/like_published" --samples 50000 --seed 11
compute many "$folder/like_published" --samples 12000 --seed 12 --max-tables 60 --memory-gb 40 --max-dim 256
# Analytic costs need no memory, so tables of any size can be drawn.
compute wide "$folder/wide" --samples 50000 --seed 13 --max-dim 256 --memory-gb 1e6
compute wide_few "$folder/wide" --samples 20000 --seed 14 --max-tables 2 --max-dim 256 --memory-gb 1e6
compute wide_many "$folder/wide" --samples 12000 --seed 15 --max-tables 60 --max-dim 256 --memory-gb 1e6
compute wide_odd "$folder/wide" --samples 8000 --seed 16 --max-dim 192 --memory-gb 1e6
# Devices of real plans: hundreds of narrow slices of few tables, or one slice.
compute slices "$folder/wide" --slices --samples 50000 --seed 19 --max-tables 600 --max-dim 256 \
  --memory-gb 1e6
# Drawn by another program; some histograms show fewer touches than so few rows must get.
compute other "$other_tables" --samples 40000 --seed 17
compute other_many "$other_tables" --samples 10000 --seed 18 --max-tables 60 --memory-gb 40 \
  --max-dim 256

source="analytic: costs computed from datasheets, not measured on hardware"
export SOURCE_DATE_EPOCH=1795219200
"$neuroshard" train compute "${compute_data[@]}" --loss relative --epochs 90 --batch 128 --seed 5 --threads 1 \
  --source "$source" --output "$folder/compute2.safetensors" --log "$folder/compute2.csv" > $folder/compute2.log 2>&1
