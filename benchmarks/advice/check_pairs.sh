#!/bin/bash
# Holds pairs.tsv against the sources: each program and its changed twin are there with the kernels
# named, the first marks the lines that advice should name and the second marks none, and no
# program is missing from the table. Needs no compiler.
set -u
cd "$(dirname "$0")" || exit 1
status=0
complain() { echo "$*" >&2; status=1; }

has_kernel() {  # SOURCE KERNEL
  [ "$2" = - ] || grep -Eq "^(__global__ .*| *)\b$2\(" "$1" || complain "$1 has no kernel $2"
}

listed=()
while IFS=$'\t' read -r name kind fix kernel fixed_kernel tolerance flags fixed_flags; do
  case $name in '#'*) continue ;; esac
  listed+=("$name.cu" "${name}_fixed.cu")
  [ -n "$fixed_flags" ] || complain "$name: too few columns ($kind, $fix, $flags)"
  [[ $tolerance =~ ^[0-9.e-]+$ ]] || complain "$name: '$tolerance' is no tolerance"
  has_kernel "$name.cu" "$kernel"
  grep -q "#include \"$name.cu\"" "${name}_fixed.cu" || has_kernel "${name}_fixed.cu" "$fixed_kernel"
  grep -q '// advise: here$' "$name.cu" || complain "$name.cu marks no line"
  ! grep -q 'advise: here' "${name}_fixed.cu" || complain "${name}_fixed.cu marks a line"
done < pairs.tsv

[ "$(printf "%s\n" *.cu | sort)" = "$(printf '%s\n' "${listed[@]}" | sort)" ] ||
  complain "pairs.tsv lists other programs than there are"
exit $status
