#!/usr/bin/env python3
"""Runs each pair of programs without a profiler and compares their times and checksums.

usage: times.py DIRECTORY_OF_PROGRAMS OUTPUT.tsv [RUNS [SECONDS]]

A program's time is the median over its runs (5) of the median of a launch that it prints; before
and after take turns. SECONDS (0.15) is how long the launches of a run take together. Also written
are the lowest and highest time of the runs. Ends with 1 if a program fails or checksums differ.
"""

import pathlib
import statistics
import subprocess
import sys

PAIRS = pathlib.Path(__file__).resolve().parent / "pairs.tsv"
COLUMNS = ("name", "kind", "before_us", "after_us", "speedup", "before_low", "before_high",
           "after_low", "after_high", "checksums", "before_checksum", "after_checksum")


def read_pairs():
    for line in PAIRS.read_text().splitlines():
        if line and not line.startswith("#"):
            name, kind, _, _, _, tolerance, _, _ = line.split("\t")
            yield name, kind, float(tolerance)


def run(program, seconds):
    """What the program printed, as a dictionary; None if it failed."""
    try:
        done = subprocess.run([program, seconds], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"FAILED: {program}: {error}")
        return None
    printed = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if " " in line)
    if done.returncode != 0 or not {"time_us", "checksum"} <= printed.keys():
        print(f"FAILED: {program} ended with {done.returncode}: {done.stderr.strip()}")
        return None
    return printed


def verdict(before, after, tolerance):
    """Whether the runs agree on the checksum."""
    values = [float(r["checksum"]) for r in before + after]
    if tolerance == 0:
        return "agree" if len({r["checksum"] for r in before + after}) == 1 else "DIFFER"
    largest = max(map(abs, values))
    return "agree" if max(values) - min(values) <= tolerance * largest else "DIFFER"


def compare(directory, name, kind, tolerance, runs, seconds):
    """One row of the table."""
    before, after = [], []
    for _ in range(runs):
        for program, results in ((name, before), (name + "_fixed", after)):
            results.append(run(directory / program, seconds))
            if results[-1] is None:
                return (name, kind, *["-"] * 7, f"{program} FAILED", "-", "-")
    times = [[float(r["time_us"]) for r in results] for results in (before, after)]
    medians = [statistics.median(values) for values in times]
    spread = [f"{limit(values):.3f}" for values in times for limit in (min, max)]
    return (name, kind, *(f"{median:.3f}" for median in medians), f"{medians[0] / medians[1]:.4f}",
            *spread, verdict(before, after, tolerance), before[0]["checksum"], after[0]["checksum"])


def main():
    if not 3 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    directory, output = map(pathlib.Path, sys.argv[1:3])
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    seconds = sys.argv[4] if len(sys.argv) > 4 else "0.15"
    rows = []
    with output.open("w") as table:
        print(*COLUMNS, sep="\t", file=table)
        for pair in read_pairs():
            rows.append(compare(directory, *pair, runs, seconds))
            print(*rows[-1], sep="\t", file=table, flush=True)
            print("{:18} {:28} {:>11} {:>11} {:>8}".format(*rows[-1][:5]), rows[-1][9], flush=True)
    return 0 if all(row[9] == "agree" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
