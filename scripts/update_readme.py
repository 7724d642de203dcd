#!/usr/bin/env python3
"""Fills the marked places of README.md with what the program prints, and the table of planted bottlenecks;
update_readme.sh calls it.

    update_readme.py [--check] FATHOM

A place starts with <!-- output: SUBCOMMAND OPTIONS, N lines --> and ends with <!-- end of output -->.
What stands between is replaced by what that subcommand prints for the shipped recording at 100 columns,
its first N lines if ", N lines" is there. With --check nothing is written, and a difference is an error.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RECORDING = "tests/fixtures/h200-samples"
PLACE = re.compile(
    r"(<!-- output: (\w+)([^,\n]*?)(?:, (\d+) lines)? -->\n).*?(<!-- end of output -->\n)", re.DOTALL)


TABLE = re.compile(r"(<!-- table: planted -->\n).*?(<!-- end of table -->\n)", re.DOTALL)


def run(arguments):
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False,
                          env={**os.environ, "COLUMNS": "100"})
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def filled(readme, fathom, database):
    def replacement(match):
        start, subcommand, options, limit, end = match.groups()
        lines = run([fathom, subcommand, database, *shlex.split(options)]).rstrip("\n").split("\n")
        shown = lines[:int(limit)] if limit else lines
        if len(shown) < len(lines):
            shown.append(f"... ({len(lines) - len(shown)} more lines)")
        body = "\n".join(line.rstrip() for line in shown)
        return f"{start}```\n{body}\n```\n{end}"

    return PLACE.sub(replacement, readme)


def planted_table(fathom, database):
    """Estimated against achieved speedups, from the advice and the fixture's pair-times.tsv."""
    findings = json.loads(run([fathom, "advise", database, "--format", "json"]))["findings"]
    first = {}
    for finding in findings:
        first.setdefault(finding["subject"].split("(")[0], finding)
    kernels = {}
    for line in (ROOT / "samples/cuda/pairs.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            cells = line.split("\t")
            kernels[cells[0]] = (cells[1], cells[2])
    rows = ["| program | kind | estimated | achieved | error |", "| --- | --- | ---: | ---: | ---: |"]
    times = (ROOT / RECORDING / "pair-times.tsv").read_text(encoding="utf-8").splitlines()
    columns = times[0].split("\t")
    for line in times[1:]:
        cells = dict(zip(columns, line.split("\t")))
        kind, kernel = kernels[cells["program"]]
        finding = first.get(kernel)
        if not finding or finding["kind"] != kind:
            rows.append(f"| {cells['program']} | {kind} | no optimizer yet | {float(cells['speedup']):.2f}x | |")
            continue
        estimate, achieved = finding["speedup"]["mid"], float(cells["speedup"])
        rows.append(f"| {cells['program']} | {kind} | {estimate:.2f}x | {achieved:.2f}x | "
                    f"{100 * (estimate - achieved) / achieved:+.0f}% |")
    return "\n".join(rows) + "\n"


def main(arguments):
    check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + check:
        print(__doc__, file=sys.stderr)
        return 2
    fathom = str(Path(arguments[-1]).resolve())
    old = README.read_text(encoding="utf-8")
    if not PLACE.search(old):
        sys.exit("README.md has no <!-- output: ... --> place")
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "demo.fdb")
        run([fathom, "analyze", RECORDING, "-o", database])
        new = filled(old, fathom, database)
        table = planted_table(fathom, database)
        new = TABLE.sub(lambda match: match.group(1) + table + match.group(2), new)
    if check:
        if new != old:
            print("README.md shows other output than the program prints: run scripts/update_readme.sh")
        return int(new != old)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
