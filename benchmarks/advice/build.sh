#!/bin/bash
# Builds the pairs:  benchmarks/advice/build.sh DIRECTORY [PROGRAM...]
#
# A PROGRAM is NAME or NAME_fixed of pairs.tsv, which also has each program's extra flags. Line tables
# say /tmp/fathom-advice/benchmarks/advice/NAME.cu on every machine (samples/cuda/build_common.sh).
#
# NVCC names the compiler, CUDA_ARCH the GPU (default sm_90), JOBS how many compile at a time.
# Ends with 1 if a program could not be built; the others are there all the same.
set -u
[ $# -ge 1 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
. "$(dirname "$0")/../../samples/cuda/build_common.sh"
prepare /tmp/fathom-advice "$1"
shift

wanted=" $* "
want() {  # PROGRAM FLAGS
  if [ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]]; then
    # Flags are several words.
    # shellcheck disable=SC2086
    start "$1" benchmarks/advice $2
  fi
}

while IFS=$'\t' read -r name _ _ _ _ _ flags fixed_flags; do
  case $name in '#'*|'') continue ;; esac
  [ "$flags" = - ] && flags=
  [ "$fixed_flags" = - ] && fixed_flags=
  want "$name" "$flags"
  want "${name}_fixed" "$fixed_flags"
done < benchmarks/advice/pairs.tsv
finish
