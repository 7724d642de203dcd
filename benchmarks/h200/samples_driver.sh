#!/bin/bash
# Runs every CUDA sample in turn, so that one measurement holds them all:
#   samples_driver.sh DIRECTORY
# A program that fails or hangs is reported and the rest go on; ends with 1 if any did.
set -u
programs=${1:?directory of the built samples}
pairs=$(dirname "$0")/../../samples/cuda/pairs.tsv
status=0

run() {
  local name=$1
  timeout --kill-after=10 "${SAMPLE_SECONDS:-60}" "$programs/$@" < /dev/null > /dev/null
  local code=$?
  [ $code -eq 0 ] && return
  echo "samples_driver: $name ended with $code" >&2
  status=1
}

while read -r name _; do
  case $name in '#'*|'') continue ;; esac
  run "$name"
  run "${name}_fixed"
done < "$pairs"
run many_launches 1000
run many_launches 1000 driver
run heavy_kernels 3
run graph_launch
run streams_threads
run forks
exit $status
