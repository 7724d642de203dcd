#!/usr/bin/env python3
"""Builds the programs of samples/numa with `fathom cc`, `c++` and `fc`, records them and holds the
advice against pairs.tsv: each planted issue with its kind, fix, object and line, and nothing in the
fixed twins and the clean programs. The kinds found must not depend on the number of threads; from 4
threads on, a planted issue's scores must lie within 30%.

    numa_samples.py FATHOM SOURCE_DIR THREADS...

Exits with 77 where a program cannot be built for lack of a compiler.
"""

import concurrent.futures
import csv
import json
import os
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
    """(kind, fix, subject, line, score) of each finding."""
    directory = Path(tempfile.mkdtemp(dir=folder)) / "measurement"
    try:
        result = run(fathom, "record", "-e", "numa", "-o", directory, "--", program, threads, timeout=60)
    except subprocess.TimeoutExpired:
        return [("error", "it did not end within 60 s", "", 0, 0)]
    advice = run(fathom, "advise", directory, "--format", "json")
    if result.returncode != 0 or advice.returncode != 0:
        return [("error", result.stderr + advice.stderr, "", 0, 0)]
    return [(f["kind"], f["fix"], f["subject"], f["location"]["line"], f["evidence"][0]["value"])
            for f in json.loads(advice.stdout)["findings"]]


# An allocation is named after its function and line, and what waits is no object.
NAMED = {"statistics", "next_ticket", "parse"}
MOST_SPREAD, FROM_THREADS, MOST_RETRIES = 1.3, 4, 6


class Machine:
    """How much of the processors went to others since it was made, and how steady its pace was: the host may
    have other guests, of which it does not tell. Scores are divided by processor time, which both lengthen."""

    MOST_SHARE, MOST_DRIFT = 0.1, 1.2

    def __init__(self):
        self.all, self.busy, self.own = self.now()
        self.paces = []

    def take_pace(self):
        """Processor time that the same work takes, on all processors at once."""
        before = sum(os.times()[2:4])
        each = [sys.executable, "-S", "-c", "for _ in range(1500000): pass"]
        for process in [subprocess.Popen(each) for _ in range(os.cpu_count())]:
            process.wait()
        self.paces.append(sum(os.times()[2:4]) - before)

    def drift(self):
        return max(self.paces) / max(min(self.paces), 0.01)

    def complaint(self):
        """Why it tells nothing about scores, or None."""
        if self.others() > self.MOST_SHARE:
            return f"{self.others():.0%} of the machine went to others"
        if self.drift() > self.MOST_DRIFT:
            return f"the same work took up to {self.drift():.2f} times as long as at other moments"
        return None

    @staticmethod
    def now():
        user, nice, system, idle, wait, irq, soft, steal = map(int, open("/proc/stat").readline().split()[1:9])
        busy = user + nice + system + irq + soft + steal
        own = sum(os.times()[:4]) * os.sysconf("SC_CLK_TCK")
        return busy + idle + wait, busy, own

    def others(self):
        everything, busy, own = self.now()
        return max(0, busy - self.busy - (own - self.own)) / max(1, everything - self.all)


class Sample:
    def __init__(self, folder, row):
        self.name, self.language, self.kind, self.fix, self.object = row
        self.source = folder / f"{self.name}.{COMMANDS[self.language][1]}"
        self.twin = None if self.is_clean() else folder / f"{self.name}_fixed.{COMMANDS[self.language][1]}"
        self.marked = [number for number, line in enumerate(self.source.read_text().splitlines(), 1)
                       if "PLANTED: " in line]
        self.scores, self.kinds = {}, {}

    def is_clean(self):
        return self.kind == "-"

    def matches(self, found):
        kind, fix, subject, line, _ = found
        named = self.object not in NAMED or re.search(rf"\b{self.object}\b", subject)
        return kind == self.kind and fix == self.fix.strip("-") and line in self.marked and named

    def complaint(self, threads, found):
        """What is wrong with the findings of the program, or None."""
        matches = [f for f in found if self.matches(f)]
        self.kinds[threads] = sorted({f[0] for f in found})
        if matches:
            self.scores[threads] = max(self.scores.get(threads, 0), matches[0][4])
        if (not found) if self.is_clean() else matches:
            return None
        return f"{self.name}, {threads} threads: found {found}, expected {self.kind} {self.fix} at {self.marked}"

    def spread(self):
        """The largest score over the smallest."""
        scores = [score for threads, score in self.scores.items() if threads >= FROM_THREADS]
        return max(scores) / min(scores) if scores and min(scores) > 0 else 1


def measure_again(fathom, sample, program, thread_counts, folder, machine):
    """Whatever else runs on the machine lengthens processor times and so lowers scores: the best of a few."""
    for _ in range(MOST_RETRIES):
        machine.take_pace()
        if sample.spread() <= MOST_SPREAD:
            return
        for threads in thread_counts:
            if threads >= FROM_THREADS:
                sample.complaint(threads, findings(fathom, program, threads, folder))


def judge(fathom, samples, programs, thread_counts, folder):
    """What is wrong, a line each."""
    complaints, machine = [], Machine()
    for sample in samples:
        for threads in thread_counts:
            complaints.append(sample.complaint(threads, findings(fathom, programs[sample.source], threads, folder)))
            clean = findings(fathom, programs[sample.twin], threads, folder) if sample.twin else []
            if clean:
                complaints.append(f"{sample.name}_fixed, {threads} threads: found {clean}")
        measure_again(fathom, sample, programs[sample.source], thread_counts, folder, machine)
        print(f"{sample.name}: " + ", ".join(f"{score:.4g} with {n}" for n, score in sample.scores.items()))
        if len({tuple(kinds) for kinds in sample.kinds.values()}) > 1:
            complaints.append(f"{sample.name}: the kinds of findings differ: {sample.kinds}")
    return [c for c in complaints if c] + spread_complaints(samples, machine)


def spread_complaints(samples, machine):
    far = {s.name: s.spread() for s in samples if s.spread() > MOST_SPREAD}
    for name, spread in far.items():
        print(f"{name}: its scores differ by a factor of {spread:.2f}")
    if far and machine.complaint():
        print(f"{machine.complaint()}: scores are not judged")
        return []
    return [f"{name}: its scores depend on the number of threads" for name in far]


def main(fathom, source_dir, *thread_counts):
    fathom, samples_dir = Path(fathom).resolve(), Path(source_dir).resolve() / "samples/numa"
    rows = [r for r in csv.reader(open(samples_dir / "pairs.tsv"), delimiter="\t") if not r[0].startswith("#")]
    samples = [Sample(samples_dir, row) for row in rows]
    commands = {s.source: COMMANDS[s.language][0] for s in samples}
    commands |= {s.twin: COMMANDS[s.language][0] for s in samples if s.twin}
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(name)
        built = pool.map(lambda item: build(fathom, item[0], item[1], folder), commands.items())
        programs = dict(zip(commands, built))
        wrong = judge(fathom, samples, programs, [int(t) for t in thread_counts], folder)
    for complaint in wrong:
        print(complaint)
    print(f"{len(rows)} programs with {len(thread_counts)} numbers of threads: {len(wrong)} things wrong")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
