#!/bin/bash
# Builds the CUDA samples:  samples/cuda/build.sh DIRECTORY [PROGRAM...]
#
# Line tables say /tmp/fathom/samples/cuda/NAME.cu on every machine (build_common.sh).
#
# NVCC names the compiler, CUDA_ARCH the GPU (default sm_90), JOBS how many compile at a time.
# Ends with 1 if a program could not be built; the others are there all the same.
set -u
[ $# -ge 1 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
. "$(dirname "$0")/build_common.sh"
prepare /tmp/fathom "$1"
shift

if [ $# -eq 0 ]; then
  set -- samples/cuda/*.cu
fi
for source; do
  start "$(basename "$source" .cu)" samples/cuda
done
finish
