#!/usr/bin/env python3
"""Builds the programs of samples/numa with `fathom cc`, `c++` and `fc`, records them and holds the
advice against pairs.tsv: each planted issue with its kind, fix and line, and nothing in the fixed
twins and the clean programs.

    numa_samples.py FATHOM SOURCE_DIR THREADS...

Exits with 77 where a program cannot be built for lack of a compiler.
"""

import csv
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = {"c": ("cc", "c"), "c++": ("c++", "cpp"), "fortran": ("fc", "f90")}
FLAGS = ["-O2", "-g", "-pthread", "-fopenmp"]


def run(*arguments, **options):
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, **options)


def build(fathom, source, command, folder):
    program = folder / source.stem
    result = run(fathom, command, *FLAGS, source, "-o", program, cwd=folder)
    if result.returncode != 0:
        print(f"{source.name} cannot be built: {result.stderr.strip()}")
        sys.exit(77)
    return program


def findings(fathom, program, threads, folder):
    directory = folder / f"{program.name}-{threads}"
    try:
        result = run(fathom, "record", "-e", "numa", "-o", directory, "--", program, threads, timeout=60)
    except subprocess.TimeoutExpired:
        return [("error", "it did not end within 60 s", 0)]
    advice = run(fathom, "advise", directory, "--format", "json")
    if result.returncode != 0 or advice.returncode != 0:
        return [("error", result.stderr + advice.stderr, 0)]
    return [(f["kind"], f["fix"], f["location"]["line"]) for f in json.loads(advice.stdout)["findings"]]


# Waits are not recorded with their lines: the finding is at the function that the threads start in.
TOLERANCE = {"thread-migration": 10}


def main(fathom, source_dir, *thread_counts):
    fathom, samples, wrong = Path(fathom).resolve(), Path(source_dir).resolve() / "samples/numa", 0
    rows = [r for r in csv.reader(open(samples / "pairs.tsv"), delimiter="\t") if not r[0].startswith("#")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for program, language, kind, fix, _ in rows:
            command, ending = COMMANDS[language]
            source = samples / f"{program}.{ending}"
            marked = [number for number, line in enumerate(source.read_text().splitlines(), 1)
                      if re.search("PLANTED: ", line)]
            planted = build(fathom, source, command, folder)
            twin = build(fathom, samples / f"{program}_fixed.{ending}", command, folder) if kind != "-" else None
            for threads in thread_counts:
                found = findings(fathom, planted, threads, folder)
                matches = [f for f in found if f[0] == kind and f[1] == fix.strip("-")
                           and any(abs(f[2] - line) <= TOLERANCE.get(kind, 0) for line in marked)]
                expected = bool(matches) if kind != "-" else not found
                clean = findings(fathom, twin, threads, folder) if twin else []
                if not expected or clean:
                    wrong += 1
                    print(f"{program}, {threads} threads: found {found}, in the fixed one {clean}; "
                          f"expected {kind} {fix} at one of the lines {marked}")
    print(f"{len(rows)} programs with {len(thread_counts)} numbers of threads: {wrong} judged wrongly")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
