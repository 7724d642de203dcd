#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that Fathom needs, and only those that are missing.
# With all of them present it needs neither root nor a network.
#
#   scripts/install-packages.sh [build|test|bench]
#
#   build   compiler, build tools and libraries (default)
#   test    those, and what the test suite calls besides
#   bench   those of `build`, and what benchmarks/ calls besides
set -uo pipefail

readonly BUILD=(cmake g++ make ninja-build libgtest-dev libsqlite3-dev libcli11-dev
                nlohmann-json3-dev libdw-dev libelf-dev zlib1g-dev
                libzstd-dev liblz4-dev python3)
readonly TEST=(python3-jsonschema git)
readonly BENCH=(hyperfine clang)
# The pass for clang is left out of the build without these.
readonly OPTIONAL_BUILD=(llvm-14-dev clang-14)
# Checks that need these are skipped, with a message, where they cannot be had.
readonly OPTIONAL_TEST=(clang-format-14 gfortran)

usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }
say() { echo "install-packages: $*"; }
die() { echo "install-packages: $*" >&2; exit 1; }

missing_of() {
  local name
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
  done
}

# Runs apt-get as root, quietly; its words go to the log.
apt() {
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "not root and no sudo; install by hand: ${wanted[*]}"
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" \
    >>"$log" 2>&1 </dev/null
}

case "${1:-build}" in
  build) required=("${BUILD[@]}"); wanted=("${OPTIONAL_BUILD[@]}") ;;
  test) required=("${BUILD[@]}" "${TEST[@]}"); wanted=("${OPTIONAL_BUILD[@]}" "${OPTIONAL_TEST[@]}") ;;
  bench) required=("${BUILD[@]}" "${BENCH[@]}"); wanted=("${OPTIONAL_BUILD[@]}") ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  say "no dpkg here; Fathom needs the equivalents of: ${required[*]}"
  exit 0
fi
# shellcheck disable=SC2207  # names of packages have no spaces
missing=($(missing_of "${required[@]}")) optional=($(missing_of ${wanted[@]+"${wanted[@]}"}))
[ $((${#missing[@]} + ${#optional[@]})) = 0 ] && exit 0

log=$(mktemp)
trap 'rm -f "$log"' EXIT
wanted=("${missing[@]}" "${optional[@]}")
if [ ${#missing[@]} = 0 ] && [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
  say "not root and no sudo: went on without ${optional[*]}"
  exit 0
fi
say "installing ${wanted[*]}"
apt update || say "apt-get update failed; trying with the package lists at hand"
if [ ${#missing[@]} != 0 ] && ! apt install -y --no-install-recommends "${missing[@]}"; then
  die "could not install ${missing[*]}: $(grep -m1 '^E:' "$log" || tail -n1 "$log")"
fi
if [ ${#optional[@]} != 0 ] && ! apt install -y --no-install-recommends "${optional[@]}"; then
  say "went on without ${optional[*]}: $(grep -m1 '^E:' "$log" || tail -n1 "$log")"
fi
exit 0
