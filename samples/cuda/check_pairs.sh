#!/bin/bash
# Holds pairs.tsv against the sources: each program and its twin are there with the kernels named,
# the slow one marks the planted line with the kind, the fixed one marks nothing, and no marked
# program is missing from the table. Needs no compiler.
set -u
cd "$(dirname "$0")" || exit 1
status=0
complain() { echo "$*" >&2; status=1; }

has_kernel() { grep -q "__global__ void $2(" "$1" || complain "$1 has no kernel $2"; }

listed=()
while IFS=$'\t' read -r program kind kernel fixed_kernel tolerance; do
  case $program in '#'*) continue ;; esac
  listed+=("$program")
  has_kernel "$program.cu" "$kernel"
  has_kernel "${program}_fixed.cu" "$fixed_kernel"
  [[ $tolerance =~ ^[0-9.e-]+$ ]] || complain "$program: '$tolerance' is no tolerance"
  kinds=$(grep -o 'PLANTED: .*' "$program.cu" | sort -u)
  [ "$kinds" = "PLANTED: $kind" ] || complain "$program.cu marks '$kinds', not '$kind'"
  ! grep -q PLANTED "${program}_fixed.cu" || complain "${program}_fixed.cu marks a line"
done < pairs.tsv

marked=$(grep -l PLANTED ./*.cu | sed 's|.*/||; s|\.cu$||' | sort)
[ "$marked" = "$(printf '%s\n' "${listed[@]}" | sort)" ] || complain "pairs.tsv lists other programs than are marked"
exit $status
