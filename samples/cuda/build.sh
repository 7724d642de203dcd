#!/bin/bash
# Builds the CUDA samples:  samples/cuda/build.sh DIRECTORY [PROGRAM...]
#
# nvcc puts the absolute path of each source file into the line tables, as the shell sees it. So
# this builds through a link, /tmp/fathom -> the repository: the tables say
# /tmp/fathom/samples/cuda/NAME.cu on every machine.
#
# NVCC names the compiler, CUDA_ARCH the GPU (default sm_90), JOBS how many compile at a time.
# Ends with 1 if a program could not be built; the others are there all the same.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd -P)
[ $# -ge 1 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
mkdir -p "$1" && output=$(cd "$1" && pwd -P) || exit 1
shift

nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || { echo "no nvcc: set NVCC or add it to PATH" >&2; exit 1; }
arch=${CUDA_ARCH:-sm_90}

link=/tmp/fathom
if [ ! -e "$link" ] || [ -L "$link" ]; then
  ln -sfn "$root" "$link"
fi
if [ "$(readlink -f "$link")" = "$root" ]; then
  cd "$link"
else
  echo "$link is in the way: line tables will have this machine's paths" >&2
  cd "$root"
fi || exit 1

compile() {
  if "$nvcc" -arch="$arch" -O3 -std=c++17 -lineinfo -g -Xcompiler -Wall,-Wextra \
      -cudart static -o "$output/$1" "samples/cuda/$1.cu"; then
    echo "built $1"
  else
    echo "FAILED to build $1" >&2
    return 1
  fi
}

if [ $# -eq 0 ]; then
  set -- samples/cuda/*.cu
fi
status=0
for source; do
  while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-$(nproc)}" ]; do wait -n || status=1; done
  compile "$(basename "$source" .cu)" &
done
while [ -n "$(jobs -p)" ]; do wait -n || status=1; done
exit $status
