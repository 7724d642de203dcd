#!/usr/bin/env python3
"""Checks the order of the house: what CONTRIBUTING.md asks for and a script can see.

    check_house.py CHECK...      runs checks; without any name, all of them
    check_house.py --self-test   checks that each one finds a planted violation

Prints each violation as file:line and exits with 1 if there is any.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

MAX_LINES = 800
MAX_MAIN_LINES = 30
# Files beyond MAX_LINES, with the reason why each is not split.
LONG_FILES = {}

SOURCE_FOLDERS = ("src", "collect", "app", "instrument", "scripts", "tests", "benchmarks", "fuzz",
                  "samples", "cmake")
SOURCE_SUFFIXES = {".h", ".hpp", ".cpp", ".c", ".cu", ".py", ".sh", ".cmake", ".js", ".txt"}
# Recorded or expected data: kept as it came.
DATA_FOLDERS = ("tests/fixtures", "tests/golden", "fuzz/corpus")
MODULE_PARENTS = ("src", "collect")
FOLDERS_WITH_README = ("app", "benchmarks", "docs", "fuzz", "instrument", "samples", "scripts",
                       "tests")
EXECUTABLES = ("demo", "test", ".ci/run")

# Written in pieces, so that this file does not find itself.
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]) + r")\b")
CONFLICT = re.compile(r"^(<{7}|>{7}) ")
HOME = re.compile(r"/(?:home|Users)/\w+/")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CHUNK_TYPE = re.compile(r"  (\w+) = (\d+),\s+// (?:text|fixed)$")
FENCE = re.compile(r"^\s*```")


def tracked_files(root):
    """What git knows or would add; every file where there is no git."""
    listing = subprocess.run(
        ["git", "-C", str(root), "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"], capture_output=True, check=False) if (root / ".git").exists() else None
    if listing and listing.returncode == 0:
        names = sorted(set(listing.stdout.decode().split("\0")) - {""})
        return [Path(name) for name in names if (root / name).is_file()]
    return sorted(path.relative_to(root) for path in root.rglob("*")
                  if path.is_file() and path.relative_to(root).parts[0] not in ("build", ".git"))


def under(path, folders):
    return any(path.as_posix().startswith(folder + "/") for folder in folders)


def text_of(root, path):
    """The lines of a text file; None for a binary one."""
    data = (root / path).read_bytes()
    return None if b"\0" in data else data.decode("utf-8", errors="replace").split("\n")


def is_source(path):
    return (under(path, SOURCE_FOLDERS) and not under(path, DATA_FOLDERS)
            and path.suffix in SOURCE_SUFFIXES)


def check_readmes(root, files):
    """Each module, each further folder of the house and each fixture has a README.md."""
    folders = {Path(folder) for folder in FOLDERS_WITH_README if under_any(files, folder)}
    folders |= {Path(*path.parts[:2]) for path in files
                if path.parts[0] in MODULE_PARENTS and len(path.parts) > 2}
    folders |= {Path(*path.parts[:3]) for path in files
                if under(path, ["tests/fixtures"]) and len(path.parts) > 3}
    for folder in sorted(folders):
        if folder / "README.md" not in files:
            what = "recipe" if under(folder, ["tests/fixtures"]) else "purpose"
            yield f"{folder}/README.md:1: missing; it tells the folder's {what}"


def under_any(files, folder):
    return any(under(path, [folder]) for path in files)


def check_sizes(root, files):
    """No source file beyond 800 lines without a reason in LONG_FILES; main.cpp stays tiny."""
    for path in filter(is_source, files):
        lines = text_of(root, path) or []
        limit = MAX_MAIN_LINES if path.as_posix() == "app/main.cpp" else MAX_LINES
        count = len(lines) - 1
        if count > limit and path.as_posix() not in LONG_FILES:
            yield f"{path}:{limit + 1}: {count} lines, more than {limit}"
    for name in LONG_FILES:
        if Path(name) not in files or len(text_of(root, Path(name)) or []) - 1 <= MAX_LINES:
            yield f"scripts/check_house.py:1: LONG_FILES names {name}, which is not that long"


def check_hygiene(root, files):
    """No leftovers in text files; scripts can be executed."""
    for path in files:
        if under(path, DATA_FOLDERS) and path.name != "README.md":
            continue
        lines = text_of(root, path)
        if lines is None:
            yield f"{path}:1: a binary file outside tests/fixtures"
            continue
        if lines[-1] != "":
            yield f"{path}:{len(lines)}: no newline at the end"
        for number, line in enumerate(lines, 1):
            for problem in line_problems(path, line):
                yield f"{path}:{number}: {problem}"
    for path in files:
        if path.as_posix() in EXECUTABLES or under(path, ["scripts"]) and has_shebang(root, path):
            if not (root / path).stat().st_mode & 0o100:
                yield f"{path}:1: not executable"


def line_problems(path, line):
    if line != line.rstrip() and path.suffix != ".md":
        yield "white space at the end of the line"
    if CONFLICT.match(line):
        yield "a conflict marker"
    if UNFINISHED.search(line):
        yield "unfinished work: do it, or describe it as a limit in the documentation"
    if HOME.search(line):
        yield "a path in somebody's home folder"
    if "\t" in line and path.suffix in {".h", ".cpp", ".py", ".cmake"}:
        yield "a tab"


def has_shebang(root, path):
    return (root / path).read_bytes()[:2] == b"#!"


def check_links(root, files):
    """Relative links in Markdown files lead somewhere."""
    for path in files:
        if path.suffix != ".md":
            continue
        fenced = False
        for number, line in enumerate(text_of(root, path) or [], 1):
            fenced ^= bool(FENCE.match(line))
            for target in [] if fenced else LINK.findall(line):
                place = target.split("#")[0]
                if place and "://" not in place and not place.startswith("mailto:"):
                    if not (root / path.parent / place).exists():
                        yield f"{path}:{number}: the link to {target} leads nowhere"


def check_format_page(root, files):
    """docs/measurement-format.md lists the chunk types of collect/record/layout.h."""
    header, page = Path("collect/record/layout.h"), Path("docs/measurement-format.md")
    if header not in files:
        return
    written = "\n".join(text_of(root, page) or []) if page in files else ""
    for number, line in enumerate(text_of(root, header) or [], 1):
        chunk = CHUNK_TYPE.match(line)
        if chunk and f"| {chunk[2]} | `{chunk[1]}` |" not in written:
            yield f"{header}:{number}: {page} does not list {chunk[1]} as number {chunk[2]}"


CHECKS = {"format_page": check_format_page, "readmes": check_readmes, "sizes": check_sizes, "hygiene": check_hygiene,
          "links": check_links}


def violations(root, names):
    files = tracked_files(root)
    return [found for name in names for found in CHECKS[name](root, files)]


def self_test():
    """Plants one violation of each kind in an otherwise orderly house."""
    orderly = {
        "src/base/README.md": "Base.\n", "src/base/a.h": "#pragma once\n", "app/README.md": "App.\n",
        "app/main.cpp": "int main() {}\n", "README.md": "See [base](src/base/README.md#top).\n",
        "tests/README.md": "Tests.\n", "tests/fixtures/one/README.md": "Made by one command.\n",
        "tests/fixtures/one/data.bin": "\0\0"}
    planted = {
        "readmes": {"src/flow/a.h": "\n", "tests/fixtures/two/data.bin": "\0"},
        "sizes": {"src/base/long.cpp": "int x;\n" * (MAX_LINES + 1),
                  "app/main.cpp": "\n" * (MAX_MAIN_LINES + 1)},
        "hygiene": {"src/base/b.h": "int x; \n", "src/base/c.h": "int x;", "src/base/d.bin": "\0",
                    "src/base/e.h": "// TO" + "DO later\n", "src/base/f.h": "<" * 7 + " main\n",
                    "src/base/g.h": "// /ho" + "me/me/x\n", "src/base/h.h": "\tint x;\n",
                    "demo": "#!/bin/sh\n"},
        "links": {"docs.md": "[gone](docs/gone.md)\n"},
        "format_page": {"collect/record/layout.h": "  kernel = 13,  // fixed\n"}}
    wrong = 0
    for name in CHECKS:
        for place, text in [(None, None)] + list(planted[name].items()):
            with tempfile.TemporaryDirectory() as folder:
                for path, content in {**orderly, **({place: text} if place else {})}.items():
                    (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                    (Path(folder) / path).write_text(content)
                if bool(violations(Path(folder), [name])) != bool(place):
                    print(f"self-test: {name}: {'missed ' + place if place else 'a false alarm'}")
                    wrong += 1
    print(f"self-test: {sum(map(len, planted.values()))} violations planted, {wrong} errors")
    return wrong == 0


def main(arguments):
    if arguments == ["--self-test"]:
        return 0 if self_test() else 1
    if not set(arguments) <= set(CHECKS):
        print(__doc__, file=sys.stderr)
        return 2
    found = violations(Path(__file__).resolve().parent.parent, arguments or list(CHECKS))
    for violation in found:
        print(violation)
    print(f"{len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
