#!/usr/bin/env python3
"""Fills the marked places of README.md with what the program prints; update_readme.sh calls it.

    update_readme.py [--check] FATHOM

A place starts with <!-- output: SUBCOMMAND [LINES] --> and ends with <!-- end of output -->. What
stands between is replaced by what that subcommand prints for the shipped recording, its first LINES
lines if a number is given. With --check nothing is written, and a difference is an error.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RECORDING = "tests/fixtures/h200-samples"
PLACE = re.compile(r"(<!-- output: (\w+)(?: (\d+))? -->\n).*?(<!-- end of output -->\n)", re.DOTALL)


def run(arguments):
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def filled(readme, fathom, database):
    def replacement(match):
        start, subcommand, limit, end = match.groups()
        lines = run([fathom, subcommand, database]).rstrip("\n").split("\n")
        shown = lines[:int(limit)] if limit else lines
        if len(shown) < len(lines):
            shown.append(f"... ({len(lines) - len(shown)} more lines)")
        body = "\n".join(line.rstrip() for line in shown)
        return f"{start}```\n{body}\n```\n{end}"

    return PLACE.sub(replacement, readme)


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
    if check:
        if new != old:
            print("README.md shows other output than the program prints: run scripts/update_readme.sh")
        return int(new != old)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
