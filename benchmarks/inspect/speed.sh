#!/usr/bin/env bash
# How fast GPU binaries are read, beside nvdisasm, in one run.
#
#   benchmarks/inspect/speed.sh [BUILD [LIBRARY]]
#
# BUILD is build/release, LIBRARY /usr/local/cuda/lib64/libcublasLt.so.13, unless told otherwise. Needs hyperfine, and
# nvdisasm on PATH or from PyPI (nvidia-cuda-nvdisasm). The cubin is the largest one for sm_90a in the library.
set -euo pipefail
cd "$(dirname "$0")/../.."
case "${1:-}" in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
build=${1:-build/release} library=${2:-/usr/local/cuda/lib64/libcublasLt.so.13}
fathom=$build/fathom
nvdisasm=$(command -v nvdisasm || python3 -c '
import glob, site
print(glob.glob(site.getsitepackages()[0] + "/nvidia/*/bin/nvdisasm")[0])')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$fathom" inspect --arch sm_90a --extract "$work" "$library"
cubin=$(ls -S "$work"/*.cubin | sed -n 1p)
echo "$(basename "$cubin"): $(stat -c %s "$cubin") bytes; $(nproc) processors"
"$fathom" inspect --summary "$cubin" | tail -n1
hyperfine --warmup 1 --runs 5 --style basic --export-json "$work/times.json" \
  -n 'nvdisasm -c' "'$nvdisasm' -c '$cubin' >/dev/null" \
  -n 'fathom inspect --summary' "'$fathom' inspect --summary '$cubin' >/dev/null" \
  -n 'fathom inspect --disassemble' "'$fathom' inspect --disassemble '$cubin' >/dev/null" \
  -n 'fathom inspect --summary, one processor' "taskset -c 0 '$fathom' inspect --summary '$cubin' >/dev/null"
python3 - "$work/times.json" <<'END'
import json, sys
results = json.load(open(sys.argv[1]))["results"]
base = results[0]["median"]
for each in results:
    print("%-42s median %7.3f s, processor time %7.3f s, %6.1f times as fast as nvdisasm" %
          (each["command"], each["median"], each["user"] + each["system"], base / each["median"]))
END
rm -f "$work"/*.cubin

echo "== all sm_90a images of $(basename "$library"): blocks, dominators, loops"
/usr/bin/time -f '%e s, %M KiB' "$fathom" inspect --summary --arch sm_90a "$library" | tail -n1
echo "== all images"
/usr/bin/time -f '%e s, %M KiB' "$fathom" inspect --summary "$library" | tail -n1
