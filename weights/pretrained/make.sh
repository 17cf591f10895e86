#!/usr/bin/env bash
# usage: weights/pretrained/make.sh HARDWARE FOLDER [NEUROSHARD]
# Makes HARDWARE.safetensors anew (HARDWARE: as --gpu of 'neuroshard collect' knows it): tables,
# samples and training, all in FOLDER (about 700 MB). A run that was stopped goes on with the same
# command. One program always gives the same file, whatever the number of threads (THREADS, default:
# one per core). After each round of training FOLDER has the weights so far. docs/model_card.md
# describes the result.
set -euo pipefail
# Training and collecting that Ctrl-C ends early end well, and bash would go on with half of them.
trap 'exit 130' INT
[ $# -ge 2 ] || {
  sed -n '2,6s/^# //p' "$0" >&2
  exit 2
}
hardware=$1
folder=$2
neuroshard=${3:-build/release/tools/neuroshard}
# nproc heeds these variables, too.
threads=${THREADS:-$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)}
other_tables=$(dirname "$0")/../../tests/data/golden/tables
mkdir -p "$folder"

"$neuroshard" generate --count 2000 --seed 1 --output "$folder/like_published" >"$folder/tables.txt"
"$neuroshard" generate --wide --count 4000 --seed 2 --output "$folder/wide"

compute_data=()
# usage: compute NAME TABLES OPTION...
compute() {
  local name=$1 tables=$2
  shift 2
  "$neuroshard" collect compute --backend analytic --gpu "$hardware" --table-configs "$tables/table_configs.json" \
    --output "$folder/compute_$name" "$@"
  compute_data+=(--data "$folder/compute_$name")
}
compute published "$folder/like_published" --samples 12000 --seed 11
compute many "$folder/like_published" --samples 4000 --seed 12 --max-tables 60 --memory-gb 40 \
  --max-dim 256 --batches
# Analytic costs need no memory, so tables of any size can be drawn.
roomy=(--max-dim 256 --memory-gb 1e6)
compute wide "$folder/wide" --samples 12000 --seed 13 "${roomy[@]}"
compute wide_few "$folder/wide" --samples 14000 --seed 14 --max-tables 2 "${roomy[@]}" --batches --table-kinds
# Dims that are no powers of two.
compute wide_odd "$folder/wide" --samples 4000 --seed 16 --max-dim 200 --memory-gb 1e6 --batches
compute wide_odd2 "$folder/wide" --samples 3000 --seed 26 --max-dim 144 --memory-gb 1e6 --batches
# Devices of real plans: hundreds of narrow slices of few tables, or one slice.
compute slices "$folder/wide" --slices --samples 16000 --seed 19 --max-tables 600 "${roomy[@]}" \
  --batches --table-kinds
compute batches "$folder/wide" --samples 18000 --seed 20 "${roomy[@]}" --batches
compute batches_many "$folder/wide" --samples 6000 --seed 21 --max-tables 60 "${roomy[@]}" --batches \
  --table-kinds
compute blocks "$folder/wide" --samples 12000 --seed 22 "${roomy[@]}" --batches --row-blocks \
  --max-tables 60 --table-kinds
# Replicas: small tables, and a device's part of the samples.
replicas=("${roomy[@]}" --shares --max-rows 1000000)
compute shares "$folder/wide" --samples 12000 --seed 23 "${replicas[@]}" --max-tables 100
compute shares_few "$folder/wide" --samples 4000 --seed 24 "${replicas[@]}" --max-tables 3
# Drawn by another program; some histograms show fewer touches than so few rows must get.
compute other "$other_tables" --samples 12000 --seed 17
compute other_many "$other_tables" --samples 5000 --seed 18 --max-tables 60 --memory-gb 40 \
  --max-dim 256 --batches
compute other_few "$other_tables" --samples 5000 --seed 25 --max-tables 2 --max-dim 256 --batches

comm_data=()
# usage: comm NAME DEVICES SAMPLES OPTION...
comm() {
  local name=$1 devices=$2 samples=$3
  shift 3
  "$neuroshard" collect comm --backend analytic --network "$hardware" --devices "$devices" --samples "$samples" \
    --output "$folder/comm_${name}_$devices" "$@"
  comm_data+=(--data "$folder/comm_${name}_$devices")
}
# As published; badly balanced devices.
for count in 1:1000 2:5000 3:2000 4:5000 6:2000 8:5000 12:2000 16:5000 24:1500 32:3000 48:1000 \
  64:2000 96:800 128:1500 256:400 512:200 1024:100; do
  comm published "${count%:*}" "${count#*:}" --seed 21
  comm uneven "${count%:*}" $((${count#*:} / 4)) --seed 23 --start-offset-scale 6 \
    --min-tables-per-device 0.5 --max-tables-per-device 100
done
# Few columns or thousands, on as many devices as there can be. Beyond one node the network is told
# how many nodes there are, so that few counts between full nodes are needed.
for count in 1:2000 2:7000 3:6000 4:6000 5:5000 6:5000 7:5000 8:7000 10:3500 12:3500 16:12000 18:4000 \
  24:12000 28:4000 32:12000 40:8000 48:8000 56:6000 64:6000; do
  comm wide "${count%:*}" "${count#*:}" --wide --seed 31
done
for devices in 80 96 112 128 144 160 176 224 256 288 320 352 416 448 512 576 640 704 832 896 960 \
  1024; do
  comm wide "$devices" 1500 --wide --seed 31
done

source="analytic: costs computed from datasheets, not measured on hardware"
"$neuroshard" collect all-reduce --backend analytic --gpu "$hardware" --network "$hardware" \
  --samples 4000 --seed 41 --output "$folder/all_reduce"
# usage: train ROUND COMPUTE_EPOCHS COMM_EPOCHS
train() {
  local round="$folder/round_$1"
  if [ -e "$round.safetensors" ]; then return; fi
  # A state beside it is of training that was stopped.
  if [ ! -e "$round.compute.safetensors" ] || [ -e "$round.compute.safetensors.compute.partial" ]; then
    "$neuroshard" train compute --features operator "${compute_data[@]}" --loss relative --epochs "$2" \
      --batch 128 --seed 5 --source "$source" --output "$round.compute.safetensors" \
      --log "$round.compute.csv" --threads "$threads" --resume
  fi
  if [ -e "$round.compute.safetensors.compute.partial" ]; then return 1; fi  # Stopped.
  "$neuroshard" train comm "${comm_data[@]}" --loss relative --epochs "$3" --batch 32 --seed 5 \
    --source "$source" --base "$round.compute.safetensors" --output "$round.comm.safetensors" \
    --log "$round.comm.csv" --threads "$threads" --resume
  if [ -e "$round.comm.safetensors.comm.symmetric.partial" ]; then return 1; fi
  "$neuroshard" train all-reduce --data "$folder/all_reduce" --source "$source" \
    --base "$round.comm.safetensors" --output "$folder/$hardware.safetensors"
  cp "$folder/$hardware.safetensors" "$round.safetensors"
}

# A search goes where its models err in its favour, and samples that are drawn are seldom there. So
# the plans that it finds with the weights of a round are priced, and the next round learns from them
# too. Only the last round is trained at length.
# usage: plan ROUND
plan() {
  local round=$1 counts=(2 3 4 5 6 8 10 12 14 16 24 28 32 40 48 64 96 128 160 256 320 448 512 640 832
    1024) count tables
  local weights="$folder/round_$round.safetensors"
  for count in "${counts[@]}"; do
    for tables in wide like_published; do
      echo "$count $tables"
    done
  done | xargs -P "$threads" -L 1 bash -c '
    [ -e "$0/plans_$1_$5_$6/comm/data.txt" ] ||
      "$2" collect plans --backend analytic --gpu "$3" --network "$3" --weights "$4" --devices "$5" \
        --table-configs "$0/$6/table_configs.json" --tasks 40 --seed "5$1" \
        --output "$0/plans_$1_$5_$6"' "$folder" "$round" "$neuroshard" "$hardware" "$weights"
  for count in "${counts[@]}"; do
    for tables in wide like_published; do
      compute_data+=(--data "$folder/plans_${round}_${count}_$tables/compute")
      comm_data+=(--data "$folder/plans_${round}_${count}_$tables/comm")
    done
  done
}

train 0 12 20
plan 0
train 1 15 30
plan 1
train 2 150 120
echo "done: $folder/$hardware.safetensors"
