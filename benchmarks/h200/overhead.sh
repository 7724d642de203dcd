#!/bin/bash
# What recording costs on a machine with a GPU, from the repository:
#   OUT=DIRECTORY benchmarks/h200/overhead.sh [DIRECTORY_OF_FATHOM]
# Builds the programs it needs and leaves overhead.txt, overhead.tsv, overhead-runs.tsv, facts.txt
# and log.txt in $OUT. REPEATS (7), SERIALIZED_REPEATS (2) and SECONDS_LIMIT (480) can be set.
. "$(dirname "$0")/common.sh"
start_log
find_fathom "${1:-build/release}" || exit 1
write_facts "$OUT/facts.txt"
programs=$root/build/h200/samples
samples/cuda/build.sh "$programs" create_context many_launches heavy_kernels || exit 1
python3 benchmarks/h200/overhead.py "$fathom" "$programs" "$OUT"
status=$?
echo "== done, status $status"
exit $status
