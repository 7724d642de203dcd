#!/usr/bin/env bash
# Fills the places of README.md that are marked <!-- output: ... --> with what the program prints
# for the shipped recording. With --check it changes nothing and fails if they differ.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-packages.sh build
export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
cmake --preset release >/dev/null </dev/null
cmake --build build/release --target fathom -j "$(nproc)" >/dev/null </dev/null
exec python3 scripts/update_readme.py "$@" build/release/fathom
