# What the scripts that build CUDA programs share; sourced, with $0 still the script's own.
#
# nvcc puts the absolute path of each source file into the line tables, as the shell sees it. So
# programs are built through a link to the repository, with which the tables are the same on every
# machine.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
status=0

# prepare LINK OUTPUT_DIRECTORY: finds the compiler and goes to the repository through the link.
prepare() {
  mkdir -p "$2" && output=$(cd "$2" && pwd -P) || exit 1
  nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
  [ -x "$nvcc" ] || { echo "no nvcc: set NVCC or add it to PATH" >&2; exit 1; }
  arch=${CUDA_ARCH:-sm_90}
  if [ ! -e "$1" ] || [ -L "$1" ]; then
    ln -sfn "$root" "$1"
  fi
  if [ "$(readlink -f "$1")" = "$root" ]; then
    cd "$1" || exit 1
  else
    echo "$1 is in the way: line tables will have this machine's paths" >&2
    cd "$root" || exit 1
  fi
}

compile() {  # PROGRAM FOLDER [FLAG...]
  local program=$1 folder=$2
  shift 2
  if "$nvcc" -arch="$arch" -O3 -std=c++17 -lineinfo -g -Xcompiler -Wall,-Wextra \
      -cudart static "$@" -o "$output/$program" "$folder/$program.cu"; then
    echo "built $program"
  else
    echo "FAILED to build $program" >&2
    return 1
  fi
}

# start PROGRAM FOLDER [FLAG...]: in the background, JOBS at a time.
start() {
  while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-$(nproc)}" ]; do wait -n || status=1; done
  compile "$@" &
}

# Waits for all and ends the script, with 1 if one could not be built.
finish() {
  while [ -n "$(jobs -p)" ]; do wait -n || status=1; done
  exit $status
}
