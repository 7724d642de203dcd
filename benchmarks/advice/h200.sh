#!/bin/bash
# Times and records the pairs on a machine with a GPU, from the repository:
#   OUT=DIRECTORY benchmarks/advice/h200.sh [DIRECTORY_OF_FATHOM]
# The directory (default build/release) holds the fathom program and its libraries. In $OUT it
# leaves log.txt, facts.txt, pairs-times.tsv and advice-measurements.tar.gz with two measurements of
# each program before its change, NAME.1 and NAME.2. What fails is told and the rest go on; the exit
# code is 0 only if everything worked. RUNS (5), SECONDS_TIMED (0.1), SECONDS_RECORDED (0.5) and
# SECONDS_LIMIT (270), after which nothing more is recorded, can be set.
. "$(dirname "$0")/../h200/common.sh"
start_log
work=$root/build/h200/advice
programs=$work/programs

find_fathom "${1:-build/release}" || exit 1
write_facts "$OUT/facts.txt"

echo "== building"
time benchmarks/advice/build.sh "$programs" || failed "some programs could not be built"

echo "== without a profiler"
time python3 benchmarks/advice/times.py "$programs" "$OUT/pairs-times.tsv" "${RUNS:-5}" \
  "${SECONDS_TIMED:-0.1}" || failed "a program failed or checksums differ"

record() {  # NAME REPETITION
  local measurement=$work/advice-measurements/$1.$2
  if [ "$SECONDS" -gt "${SECONDS_LIMIT:-270}" ]; then
    failed "no time is left to record $1 ($2)"
    return
  fi
  timeout --kill-after=5 30 "$fathom" record -e "${EVENT:-gpu=cuda,pc@12}" -o "$measurement" \
    -- "$programs/$1" "${SECONDS_RECORDED:-0.5}" > "$work/record.txt" 2>&1 ||
    failed "recording $1 ended with $?: $(tail -n 5 "$work/record.txt")"
  [ -d "$measurement" ] || failed "there is no measurement of $1"
}

echo "== recording"
rm -rf "$work/advice-measurements"
mkdir -p "$work/advice-measurements"
pairs=$(grep -v '^#' benchmarks/advice/pairs.tsv | cut -f1)
time for repetition in 1 2; do
  for name in $pairs; do record "$name" "$repetition"; done
done
du -sk "$work/advice-measurements"/* | sort -rn | head -20

echo "== packing"
archive=$OUT/advice-measurements.tar.gz
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -cf - advice-measurements |
  gzip -6n > "$archive"
size=$(stat -c %s "$archive")
echo "$archive: $size bytes"
[ "$size" -lt 40000000 ] || failed "the measurements are too large to bring back"

echo "== done, status $status"
exit $status
