#!/usr/bin/env bash
# What it costs to see the memory accesses of a program: CPU time and peak memory over the plain
# build, beside those of clang's ThreadSanitizer, run in turns.
#
#   overhead.sh [BUILD_FOLDER [RUNS [restart]]]      build/release, 5 runs, 2 threads
#
# Prints medians: CPU seconds of the plain program, then ratios; the last line is the geometric mean.
set -euo pipefail
build=$(realpath "${1:-$(dirname "$0")/../../build/release}") runs=${2:-5} restart=${3:-} threads=2
cd "$(dirname "$0")"
programs=(hydro cluster fluid lookup)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
clang=${CLANGXX:-clang++}
under=(setarch "$(uname -m)" -R)  # the sanitizer maps fixed addresses
"${under[@]}" true 2>/dev/null || under=()

"${CC:-cc}" -O2 measure.c -o "$out/measure"
for program in "${programs[@]}"; do
  "$clang" -O2 -pthread "$program.cpp" -o "$out/$program.plain"
  "$clang" -O2 -g -pthread -fsanitize=thread "$program.cpp" -o "$out/$program.tsan"
  FATHOM_CXX=$clang "$build/fathom" c++ -O2 -pthread "$program.cpp" -o "$out/$program.numa"
done

# One run: CPU seconds and peak kilobytes, appended to a file.
measure() {
  local kind=$1 program=$2
  rm -rf "$out/measured" && mkdir "$out/measured"
  local environment=(env)
  if [ "$kind" = numa ]; then environment=(env FATHOM_NUMA=1 FATHOM_OUTPUT="$out/measured"); fi
  "${environment[@]}" "$out/measure" "$out/$program.$kind.times" ${under[@]+"${under[@]}"} \
    "$out/$program.$kind" "$threads" ${restart:+restart}
}

for ((run = 0; run < runs; ++run)); do
  for program in "${programs[@]}"; do
    for kind in plain numa off tsan; do
      [ "$kind" = off ] && ln -sf "$program.numa" "$out/$program.off"
      measure "$kind" "$program"
    done
  done
done

python3 - "$out" "${programs[@]}" <<'PY'
import math, statistics, sys
out, programs = sys.argv[1], sys.argv[2:]
def medians(program, kind):
    rows = [tuple(map(float, line.split())) for line in open(f"{out}/{program}.{kind}.times")]
    return [statistics.median(column) for column in zip(*rows)]
logs = {"numa": [], "off": [], "tsan": []}
print(f"{'':10} {'plain s':>8} {'fathom':>7} {'not rec.':>8} {'TSan':>7}   {'memory MB':>9} {'fathom':>7} {'TSan':>7}")
for program in programs:
    plain, numa, off, tsan = (medians(program, kind) for kind in ("plain", "numa", "off", "tsan"))
    for kind, value in (("numa", numa), ("off", off), ("tsan", tsan)):
        logs[kind].append(math.log(value[0] / plain[0]))
    print(f"{program:10} {plain[0]:8.2f} {numa[0] / plain[0]:7.2f} {off[0] / plain[0]:8.2f} {tsan[0] / plain[0]:7.2f}   "
          f"{plain[1] / 1024:9.1f} {numa[1] / 1024:7.1f} {tsan[1] / 1024:7.1f}")
mean = {kind: math.exp(statistics.mean(values)) for kind, values in logs.items()}
print(f"{'mean':10} {'':8} {mean['numa']:7.2f} {mean['off']:8.2f} {mean['tsan']:7.2f}")
PY
