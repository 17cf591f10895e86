#!/usr/bin/env bash
# usage: weights/pretrained/make.sh FOLDER [NEUROSHARD]
# Makes default.safetensors anew: tables, samples and training, all in FOLDER (about 300 MB). The
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

"$neuroshard" generate --count 2000 --seed 1 --output "$folder/like_published" >"$folder/tables.txt"
"$neuroshard" generate --wide --count 4000 --seed 2 --output "$folder/wide"

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
compute many "$folder/like_published" --samples 15000 --seed 12 --max-tables 60 --memory-gb 40 --max-dim 256
# Analytic costs need no memory, so tables of any size can be drawn.
compute wide "$folder/wide" --samples 50000 --seed 13 --max-dim 256 --memory-gb 1e6
compute wide_few "$folder/wide" --samples 20000 --seed 14 --max-tables 2 --max-dim 256 --memory-gb 1e6
compute wide_many "$folder/wide" --samples 15000 --seed 15 --max-tables 60 --max-dim 256 --memory-gb 1e6
compute wide_odd "$folder/wide" --samples 10000 --seed 16 --max-dim 192 --memory-gb 1e6
# Drawn by another program; some histograms show fewer touches than so few rows must get.
compute other "$other_tables" --samples 40000 --seed 17
compute other_many "$other_tables" --samples 10000 --seed 18 --max-tables 60 --memory-gb 40 \
  --max-dim 256

comm_data=()
# usage: comm NAME DIVISOR OPTION...
comm() {
  local name=$1 divisor=$2 count
  shift 2
  # Device counts, and samples of each. The last three keep the model sane up to 1,024 devices.
  for count in 1:2000 2:10000 3:4000 4:10000 6:4000 8:10000 12:3000 16:8000 24:2000 32:5000 \
    48:1500 64:3000 96:1000 128:2000 256:600 512:300 1024:150; do
    local devices=${count%:*}
    "$neuroshard" collect comm --backend analytic --devices "$devices" \
      --samples $((${count#*:} / divisor)) --output "$folder/comm_${name}_$devices" "$@"
    comm_data+=(--data "$folder/comm_${name}_$devices")
  done
}
comm published 1 --seed 21
# Well balanced devices; many tables on few devices.
comm balanced 2 --seed 22 --start-offset-scale 0.1 --min-tables-per-device 0.5 \
  --max-tables-per-device 60
# Badly balanced ones.
comm uneven 4 --seed 23 --start-offset-scale 6 --min-tables-per-device 0.5 \
  --max-tables-per-device 100

source="analytic: costs computed from datasheets, not measured on hardware"
"$neuroshard" train compute "${compute_data[@]}" --loss relative --epochs 80 --batch 256 --seed 5 \
  --source "$source" --output "$folder/compute.safetensors" --log "$folder/compute.csv"
"$neuroshard" train comm "${comm_data[@]}" --loss relative --epochs 80 --batch 256 --seed 5 \
  --source "$source" --base "$folder/compute.safetensors" --output "$folder/default.safetensors" \
  --log "$folder/comm.csv"
echo "done: $folder/default.safetensors"
