#!/bin/bash
# Builds the pairs:  benchmarks/advice/build.sh DIRECTORY [PROGRAM...]
#
# A PROGRAM is NAME or NAME_fixed of pairs.tsv, which also has each program's extra flags. As in
# samples/cuda/build.sh, the compiler sees the sources through a link, here /tmp/fathom-advice, so
# that line tables are the same on every machine.
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

link=/tmp/fathom-advice
if [ ! -e "$link" ] || [ -L "$link" ]; then
  ln -sfn "$root" "$link"
fi
if [ "$(readlink -f "$link")" = "$root" ]; then
  cd "$link/benchmarks/advice"
else
  echo "$link is in the way: line tables will have this machine's paths" >&2
  cd "$root/benchmarks/advice"
fi || exit 1

# compile PROGRAM FLAGS
compile() {
  [ "$2" = - ] && set -- "$1"
  # Flags are several words.
  # shellcheck disable=SC2086
  if "$nvcc" -arch="$arch" -O3 -std=c++17 -lineinfo -g -Xcompiler -Wall,-Wextra \
      -cudart static ${2:-} -o "$output/$1" "$1.cu"; then
    echo "built $1"
  else
    echo "FAILED to build $1" >&2
    return 1
  fi
}

status=0
start() {  # PROGRAM FLAGS
  while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-$(nproc)}" ]; do wait -n || status=1; done
  compile "$@" &
}

wanted=" $* "
while IFS=$'\t' read -r name _ _ _ _ _ flags fixed_flags; do
  case $name in '#'*|'') continue ;; esac
  if [ "$wanted" = "  " ] || [[ $wanted == *" $name "* ]]; then start "$name" "$flags"; fi
  if [ "$wanted" = "  " ] || [[ $wanted == *" ${name}_fixed "* ]]; then
    start "${name}_fixed" "$fixed_flags"
  fi
done < pairs.tsv
while [ -n "$(jobs -p)" ]; do wait -n || status=1; done
exit $status
