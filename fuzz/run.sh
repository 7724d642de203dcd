#!/usr/bin/env bash
# Builds the fuzz targets with clang, runs each, and keeps the smallest set of inputs that reaches all code.
#
#   fuzz/run.sh [SECONDS [TARGET...]]     60 seconds for each target, unless told otherwise
#
# Exits with 1 if a target crashed, hung or took too much memory; the input is then in build/fuzz/found.
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
seconds=${1:-60}
shift || true
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  for source in fuzz/*_fuzz.cpp; do targets+=("$(basename "$source" .cpp)"); done
fi

mkdir -p build
cmake -B build/fuzz -G Ninja -DFATHOM_FUZZ=ON -DFATHOM_TESTS=OFF -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang >build/fuzz-configure.log
cmake --build build/fuzz --target "${targets[@]}"

# Where a target's first inputs come from.
seeds() {
  case $1 in
    binary_fuzz) echo tests/fixtures/cubin tests/fixtures/h200-samples/gpubins ;;
    fatbin_fuzz) echo tests/fixtures/fatbin tests/fixtures/cubin ;;
    measurement_fuzz) echo tests/fixtures/h200-samples ;;
    nvdisasm_text_fuzz) echo tests/fixtures/cubin ;;
    ptx_fuzz) echo tests/fixtures/ptx ;;
    sass_fuzz) echo build/fuzz/seeds/sass_fuzz ;;
  esac
}
# Words of every architecture: the code of the recorded cubins.
mkdir -p build/fuzz/seeds/sass_fuzz build/fuzz/found
python3 fuzz/sass_seeds.py build/fuzz/seeds/sass_fuzz tests/fixtures/cubin

# What decides in the decoder is in its table and not in its code: there values count.
options() {
  case $1 in
    sass_fuzz) echo -use_value_profile=1 ;;
  esac
}

failed=0
for target in "${targets[@]}"; do
  inputs=build/fuzz/inputs/$target
  mkdir -p "$inputs" "fuzz/corpus/$target"
  echo "== $target: $seconds s"
  ASAN_OPTIONS=detect_leaks=0 build/fuzz/fuzz/"$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=65536 -print_final_stats=1 -verbosity=0 -artifact_prefix=build/fuzz/found/"$target"- \
    $(options "$target") "$inputs" "fuzz/corpus/$target" $(seeds "$target") 2>&1 | tail -n 12 || failed=1
  merged=build/fuzz/merged/$target
  rm -rf "$merged"
  mkdir -p "$merged"
  build/fuzz/fuzz/"$target" -merge=1 -max_len=16384 -verbosity=0 $(options "$target") "$merged" "$inputs" \
    "fuzz/corpus/$target" >build/fuzz/merge-"$target".log 2>&1
  rm -rf "fuzz/corpus/$target"
  mv "$merged" "fuzz/corpus/$target"
  echo "$(find "fuzz/corpus/$target" -type f | wc -l) inputs, $(du -sk "fuzz/corpus/$target" | cut -f1) KiB"
done
exit $failed
