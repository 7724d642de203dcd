#!/usr/bin/env bash
# Compares the native decoder with nvdisasm over all samples for every architecture that nvcc targets, and over
# millions of instructions out of CUDA's libraries.
#
#   tests/sass_differential/run.sh [BUILD [INSTRUCTIONS [LIBRARY...]]]
#
# BUILD is build/release, INSTRUCTIONS for each library and architecture are 200,000, libraries those of
# /usr/local/cuda/lib64, unless told otherwise. SEED=N chooses other images. Takes some 30 minutes on 2 cores.
set -euo pipefail
cd "$(dirname "$0")/../.."
case "${1:-}" in -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
build=${1:-build/release} most=${2:-200000}
shift $(($# < 2 ? $# : 2))
libraries=("$@")
[ ${#libraries[@]} != 0 ] || libraries=(/usr/local/cuda/lib64/lib*.so.*)
compare=$build/tests/sass_differential/sass_differential
work=$build/sass_differential
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
mkdir -p "$work"

# Samples: specific architectures too (sm_90a has what sm_90 has not).
archs=$("$nvcc" --list-gpu-code | sed 's/^sm_//')
for sample in samples/cuda/*.cu tests/fixtures/cubin/*.cu; do
  for arch in $archs 90a 100a 103a 110a 120a 121a; do
    echo "$sample $arch"
  done
done | NVCC=$nvcc WORK=$work xargs -P "$(nproc)" -L1 bash -c '
  out=$WORK/$(basename "$0" .cu).sm_$1.cubin
  [ "$out" -nt "$0" ] || "$NVCC" -std=c++17 -O3 -lineinfo -cubin -arch="sm_$1" -o "$out" "$0" 2>/dev/null ||
    echo "$0 is not for sm_$1"' | sort | uniq
echo "== samples: $(ls "$work"/*.cubin | wc -l) cubins"
status=0
"$compare" "$work"/*.cubin || status=1

echo "== libraries: $most instructions for each library and architecture, seed ${SEED:-1}"
"$compare" --most "$most" --seed "${SEED:-1}" "${libraries[@]}" 2>"$work/errors" || status=1
sort "$work/errors" | uniq -c | sort -rn | head -n 20
exit $status
