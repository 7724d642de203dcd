#!/bin/bash
# Records all CUDA samples on a machine with a GPU, from the repository:
#   OUT=DIRECTORY benchmarks/h200/record_samples.sh [DIRECTORY_OF_FATHOM]
# The directory (default build/release) holds the fathom program and its libraries. In $OUT it
# leaves log.txt, facts.txt, pair-times.tsv, h200-samples.tar.gz (in parts, if it is large) and,
# where the analysis works there, report.txt and advise.txt. What fails is told and the rest go on;
# the exit code is 0 only if everything worked.
. "$(dirname "$0")/common.sh"
start_log
work=$root/build/h200
programs=$work/samples
measurement=$work/h200-samples

find_fathom "${1:-build/release}" || exit 1
write_facts "$OUT/facts.txt"

echo "== building"
time samples/cuda/build.sh "$programs" || failed "some samples could not be built"

echo "== pairs without a profiler"
time python3 benchmarks/h200/time_pairs.py "$programs" "$OUT/pair-times.tsv" ||
  failed "a pair failed or its checksums differ"

echo "== the other programs without a profiler"
for program in "many_launches 10000" "many_launches 10000 driver" "heavy_kernels 3" \
    create_context graph_launch streams_threads forks; do
  echo "-- $program"
  timeout 60 "$programs"/$program || failed "$program ended with $?"
done

echo "== recording"
rm -rf "$measurement"
time timeout --kill-after=10 300 "$fathom" record -e "${EVENT:-gpu=cuda,pc@12}" -o "$measurement" \
  -- benchmarks/h200/samples_driver.sh "$programs" || failed "record ended with $?"
[ -d "$measurement" ] || { failed "there is no measurement"; exit 1; }
du -sh "$measurement"
find "$measurement" -type f -printf '%s %P\n' | sort -rn | head -40

echo "== packing"
archive=$OUT/h200-samples.tar.gz
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -cf - h200-samples | gzip -9n > "$archive"
size=$(stat -c %s "$archive")
echo "$archive: $size bytes"
if [ "$size" -gt 15000000 ]; then  # to be joined with cat
  split -b 15000000 -d "$archive" "$archive.part" && rm "$archive"
  [ "$(ls "$archive".part* | wc -l)" -le 3 ] || failed "the measurement is too large to bring back"
fi

echo "== what Fathom says about it"
for command in report advise; do
  timeout --kill-after=10 100 "$fathom" $command "$measurement" > "$OUT/$command.txt" 2>&1 ||
    failed "$command ended with $?"
  head -c 4000 "$OUT/$command.txt"
done

echo "== done, status $status"
exit $status
