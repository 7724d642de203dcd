#!/bin/bash
# What predictions need from a machine with a GPU, from the repository:
#   OUT=DIRECTORY benchmarks/prediction/h200.sh [calibrate|times|power|zeros|occupancy]...
# calibrate runs `fathom calibrate` (FATHOM: the folder that holds fathom, default build/release),
# times, power and zeros run the corpus of kernels, which nvcc builds first (zeros: one launch of each
# with zeros for floats), and occupancy asks the CUDA runtime how many blocks fit. All of them
# without arguments. All but the last have a time limit
# (CALIBRATE_SECONDS 180, TIMES_SECONDS 170, POWER_SECONDS 450); what fails is told, the rest goes
# on. A table that already stands in KEEP (a folder) is gone on with, and its launches are left out.
# In $OUT: log.txt, facts.txt, machine.json, times.tsv, power.tsv, occupancy.tsv, ptx/, cubin/.
. "$(dirname "$0")/../h200/common.sh"
start_log
here=benchmarks/prediction
work=$root/build/prediction
arch=${CUDA_ARCH:-sm_90}
mkdir -p "$work" "$OUT/ptx" "$OUT/cubin"
[ -z "${KEEP:-}" ] || cp "$KEEP"/{times,power}.tsv "$OUT" 2> /dev/null

build_corpus() {
  [ -x "$work/corpus" ] && return 0
  echo "== building the corpus"
  local file name
  for file in "$here"/kernels/*.cu; do
    name=$(basename "$file" .cu)
    echo "nvcc -std=c++17 -arch=$arch -lineinfo -O3 -c $file -o $work/$name.o"
    [ "$name" = driver ] && continue
    echo "nvcc -std=c++17 -arch=$arch -lineinfo -ptx $file -o $OUT/ptx/$name.ptx"
    echo "nvcc -std=c++17 -arch=$arch -lineinfo -cubin $file -o $OUT/cubin/$name.cubin"
  done | xargs -P "$(nproc)" -I{} sh -c '{} || echo "FAILED: {}"'
  nvcc -std=c++17 -arch="$arch" "$work"/*.o "$here/kernels/nvml.cpp" -o "$work/corpus" -ldl
}

# A launch that faults ends the program; it goes on behind it.
run_corpus() {
  local mode=$1 seconds=$2 table=$3 each=${4:-} tries start=$SECONDS code
  build_corpus || { failed "the corpus could not be built"; return; }
  echo "== $mode"
  for tries in 1 2 3 4 5 6; do
    timeout --kill-after=10 $((seconds - SECONDS + start + 30)) \
      "$work/corpus" "$mode" $((seconds - SECONDS + start)) "$table" $each
    code=$?
    [ $code -eq 3 ] || break
  done
  [ $code -eq 0 ] || failed "$mode ended with $code"
  wc -l "$table"
}

if find_fathom "${FATHOM:-build/release}"; then write_facts "$OUT/facts.txt"; else fathom=; fi
[ $# -gt 0 ] || set -- calibrate times power zeros occupancy
for part in "$@"; do
  case $part in
    calibrate)
      echo "== calibrate"
      timeout --kill-after=10 "${CALIBRATE_SECONDS:-180}" "$fathom" calibrate -o "$OUT/machine.json" ||
        failed "calibrate ended with $?" ;;
    times) run_corpus times "${TIMES_SECONDS:-170}" "$OUT/times.tsv" ;;
    zeros) run_corpus zeros "${POWER_SECONDS:-450}" "$OUT/zeros.tsv" "${EACH:-0.65}" ;;
    power) run_corpus power "${POWER_SECONDS:-450}" "$OUT/power.tsv" "${EACH:-0.65}" ;;
    occupancy)
      nvcc -std=c++17 -arch="$arch" -O3 -o "$work/occupancy" "$here/occupancy.cu" &&
        "$work/occupancy" > "$OUT/occupancy.tsv" || failed "occupancy" ;;
    *) failed "no part $part" ;;
  esac
done
echo "== done, status $status"
exit $status
