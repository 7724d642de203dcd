#!/usr/bin/env bash
# Checks that the C++ sources look as clang-format 14 writes them; --fix rewrites those that do not.
# Another version formats differently, so without version 14 this check is skipped (exit code 77).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

for tool in clang-format-14 clang-format; do
  if "$tool" --version 2>/dev/null | grep -q 'version 14\.'; then
    formatter=$tool
    break
  fi
done
if [ -z "${formatter:-}" ]; then
  echo "skipped: clang-format 14 is not installed"
  exit 77
fi

mode=(--dry-run --Werror)
[ "${1:-}" = --fix ] && mode=(-i)
folders=()
for folder in src collect app instrument benchmarks fuzz tests; do
  [ -d "$folder" ] && folders+=("$folder")
done
find "${folders[@]}" -path tests/fixtures -prune -o \( -name '*.h' -o -name '*.cpp' \) -print0 |
  xargs -0 -r "$formatter" "${mode[@]}"
