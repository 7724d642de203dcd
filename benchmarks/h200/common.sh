# What the scripts here share; sourced, from any directory, with $0 still the script's own.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
cd "$root" || exit 1
export PATH="$PATH:/usr/local/cuda/bin"

# What fails is told and the rest goes on; a script ends with $status.
status=0
failed() { echo "FAILED: $*"; status=1; }

# All output, errors too, goes to the terminal and to $OUT/log.txt.
start_log() {
  OUT=${OUT:-$root/build/h200/out}
  mkdir -p "$OUT" && OUT=$(cd "$OUT" && pwd -P) || exit 1
  exec > >(tee -a "$OUT/log.txt") 2>&1
  echo "== $(basename "$0") on $(uname -sr), $(date -u +%FT%TZ)"
}

# find_fathom DIRECTORY: sets $fathom.
find_fathom() {
  local candidate
  for candidate in "$1"/fathom "$1"/app/fathom "$1"/bin/fathom; do
    if [ -x "$candidate" ] && [ -f "$candidate" ]; then
      fathom=$(readlink -f "$candidate")
      echo "fathom: $fathom"
      return 0
    fi
  done
  echo "no fathom in $1, $1/app or $1/bin"
  return 1
}

write_facts() {
  {
    nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total,clocks.sm,clocks.max.sm,clocks.mem,power.limit,persistence_mode,mig.mode.current --format=csv
    nvcc --version
    uname -a
    nproc
    grep -m1 'model name' /proc/cpuinfo
    ldd --version | head -1
    "$fathom" --version
  } > "$1" 2>&1
  cat "$1"
}
