#!/bin/bash
# Holds pairs.tsv against the sources: each program and its twin are there, the planted one marks
# lines with the kind, the fixed and the clean ones mark nothing, and no program is missing from the
# table. Needs no compiler.
set -u
cd "$(dirname "$0")" || exit 1
status=0
complain() { echo "$*" >&2; status=1; }

listed=()
while IFS=$'\t' read -r program language kind fix object; do
  case $program in '#'*) continue ;; esac
  case $language in c) ending=c ;; c++) ending=cpp ;; fortran) ending=f90 ;; *) ending=none ;; esac
  listed+=("$program.$ending")
  kinds=$(grep -o 'PLANTED: .*' "$program.$ending" | sort -u)
  if [ "$kind" = - ]; then
    [ -z "$kinds" ] || complain "$program is listed as clean and marks '$kinds'"
    continue
  fi
  listed+=("${program}_fixed.$ending")
  [ "$kinds" = "PLANTED: $kind" ] || complain "$program marks '$kinds', not '$kind'"
  grep -q "\b$object\b" "$program.$ending" || complain "$program has no $object"
  [ -n "$fix" ] || complain "$program names no fix"
  ! grep -q PLANTED "${program}_fixed.$ending" || complain "${program}_fixed marks a line"
done < pairs.tsv

there=$(printf '%s\n' *.c *.cpp *.f90 | sort)
[ "$there" = "$(printf '%s\n' "${listed[@]}" | sort)" ] || complain "pairs.tsv lists other programs than are there"
exit $status
