#!/usr/bin/env python3
"""Runs each pair of CUDA samples and compares their kernel times and checksums.

usage: time_pairs.py DIRECTORY_OF_PROGRAMS OUTPUT.tsv [REPEATS]

The kernel time of a program is the median over the repeats of the median that the program itself
prints; slow and fixed take turns. Ends with 1 if a program fails or checksums differ.
"""

import pathlib
import statistics
import subprocess
import sys

PAIRS = pathlib.Path(__file__).resolve().parents[2] / "samples" / "cuda" / "pairs.tsv"
COLUMNS = ("program", "kind", "slow_ms", "fixed_ms", "speedup", "checksums", "slow_checksum",
           "fixed_checksum")


def read_pairs():
    for line in PAIRS.read_text().splitlines():
        if line and not line.startswith("#"):
            program, kind, _, _, tolerance = line.split("\t")
            yield program, kind, float(tolerance)


def run(program):
    """What the program printed, as a dictionary; None if it failed."""
    try:
        done = subprocess.run([program], capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{program}: {error}")
        return None
    if done.returncode != 0:
        print(f"{program} ended with {done.returncode}: {done.stderr.strip()}")
        return None
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if " " in line)


def agree(a, b, tolerance):
    if tolerance == 0:
        return a == b
    return abs(float(a) - float(b)) <= tolerance * max(abs(float(a)), abs(float(b)))


def compare(directory, program, kind, tolerance, repeats):
    """One row of the table."""
    slow, fixed = [], []
    for _ in range(repeats):
        for name, runs in ((program, slow), (program + "_fixed", fixed)):
            runs.append(run(directory / name))
            if runs[-1] is None or "kernel_ms" not in runs[-1]:
                return (program, kind, "-", "-", "-", f"{name} failed", "-", "-")
    slow_ms, fixed_ms = (statistics.median(float(r["kernel_ms"]) for r in runs)
                         for runs in (slow, fixed))
    checksums = slow[0]["checksum"], fixed[0]["checksum"]
    if any(r["checksum"] != runs[0]["checksum"] for runs in (slow, fixed) for r in runs):
        verdict = "change from run to run"
    else:
        verdict = "agree" if agree(*checksums, tolerance) else "DIFFER"
    return (program, kind, f"{slow_ms:.4f}", f"{fixed_ms:.4f}", f"{slow_ms / fixed_ms:.3f}",
            verdict, *checksums)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    repeats = int(sys.argv[3]) if len(sys.argv) == 4 else 3
    rows = [compare(directory, *pair, repeats) for pair in read_pairs()]
    pathlib.Path(sys.argv[2]).write_text(
        "".join("\t".join(row) + "\n" for row in [COLUMNS, *rows]))
    for row in [COLUMNS, *rows]:
        print("{:18} {:29} {:>9} {:>9} {:>8}  {}".format(*row[:6]))
    return 0 if all(row[5] == "agree" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
