#!/bin/bash
# Predictions beside recordings, on a machine with a GPU, from the repository:
#   OUT=DIRECTORY benchmarks/prediction/recordings.sh [DIRECTORY_OF_FATHOM]
# Records pairs of benchmarks/advice and samples of samples/cuda with their arguments and runs
# `fathom predict` on each recording. The directory (default build/release) holds the fathom program
# and its libraries. In $OUT: log.txt, facts.txt, predict.txt (what fathom predict says),
# predict.tsv (a line for each kernel and shape), recordings.tar.gz. What fails is told and the rest
# go on; the exit code is 0 only if everything worked. PAIRS, SAMPLES, EVENT (gpu=cuda,pc@12) and
# SECONDS_RECORDED (0.2) can be set.
. "$(dirname "$0")/../h200/common.sh"
start_log
work=$root/build/h200/recordings
programs=$work/programs
: "${PAIRS:=dense_layer dense_layer_fixed spectrum_transpose mixed_particles combustion_rates \
  pagerank_batches energy_spectrum julia_bands sparse_product adaptive_filter kalman_tracks}"
: "${SAMPLES:=strided_access strided_access_fixed double_constant local_array call_in_loop \
  dependent_loads few_blocks graph_launch many_launches}"

find_fathom "${1:-build/release}" || exit 1
write_facts "$OUT/facts.txt"

echo "== building"
# Lists of words.
# shellcheck disable=SC2086
time benchmarks/advice/build.sh "$programs" $PAIRS || failed "some pairs could not be built"
# shellcheck disable=SC2046,SC2086
time samples/cuda/build.sh "$programs" $(printf 'samples/cuda/%s.cu ' $SAMPLES) ||
  failed "some samples could not be built"

echo "== what recording arguments costs: 10,000 tiny launches"
for _ in 1 2 3; do
  "$programs/many_launches" 10000 || failed "many_launches ended with $?"
  timeout 60 "$fathom" record -e gpu=cuda -o "$work/cost" -- "$programs/many_launches" 10000 ||
    failed "recording many_launches ended with $?"
  rm -rf "$work/cost"
done

record() {  # NAME ARGUMENT...
  local name=$1 measurement=$work/recordings/$1
  shift
  timeout --kill-after=5 60 "$fathom" record -e "${EVENT:-gpu=cuda,pc@12}" -o "$measurement" \
    -- "$programs/$name" "$@" > "$work/record.txt" 2>&1 ||
    failed "recording $name ended with $?: $(tail -n 5 "$work/record.txt")"
  echo "==== $name"
  timeout --kill-after=5 120 "$fathom" predict "$measurement" --color never ||
    failed "predicting $name ended with $?"
  timeout --kill-after=5 120 "$fathom" predict "$measurement" --format json > "$work/$name.json" ||
    failed "predicting $name as JSON ended with $?"
}

echo "== recording and predicting"
rm -rf "$work/recordings" "$work"/*.json
mkdir -p "$work/recordings"
{
  for name in $PAIRS; do record "$name" "${SECONDS_RECORDED:-0.2}"; done
  for name in $SAMPLES; do record "$name" 50; done
} > "$OUT/predict.txt" 2>&1
grep FAILED "$OUT/predict.txt" && status=1

echo "== predicted beside measured"
python3 benchmarks/prediction/recordings.py "$work"/*.json > "$OUT/predict.tsv" ||
  failed "the table could not be made"
cat "$OUT/predict.tsv"

echo "== packing"
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -cf - recordings |
  gzip -6n > "$OUT/recordings.tar.gz"
size=$(stat -c %s "$OUT/recordings.tar.gz")
echo "recordings.tar.gz: $size bytes"
if [ "$size" -gt 15000000 ]; then  # to be joined with cat
  split -b 15000000 -d "$OUT/recordings.tar.gz" "$OUT/recordings.tar.gz.part" &&
    rm "$OUT/recordings.tar.gz"
fi

echo "== done, status $status"
exit $status
