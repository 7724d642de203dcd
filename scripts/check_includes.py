#!/usr/bin/env python3
"""Checks who includes whom: docs/design.md, section 2.

    check_includes.py              checks src/, collect/, app/ and instrument/
    check_includes.py --self-test  checks that planted violations are found

Prints each violation as file:line and exits with 1 if there is any.
"""

import re
import sys
import tempfile
from pathlib import Path

# A folder may include itself and what stands here: folders, or single headers. To allow something
# new, change docs/design.md in the same commit.
EVERYTHING_UNDER_SRC = ["src/*"]
ALLOWED = {
    "src/base": [],
    "src/model": ["src/base"],
    "src/machine": ["src/base", "src/model"],
    "src/binary": ["src/base", "src/model"],
    "src/flow": ["src/base", "src/model", "src/binary/instruction.h"],
    "src/calibration": ["src/base", "src/model", "src/machine", "src/binary"],
    "src/measurement": ["src/base", "src/model", "collect/record"],
    "src/attribution": ["src/base", "src/model", "src/binary", "src/flow", "src/machine",
                        "src/measurement"],
    "src/advice": ["src/base", "src/model", "src/attribution", "src/machine"],
    "src/prediction": ["src/base", "src/model", "src/binary", "src/flow", "src/machine"],
    "src/numa": ["src/base", "src/model", "src/measurement"],
    "src/database": ["src/base", "src/model"],
    "src/views": ["src/base", "src/model", "src/database"],
    "src/exports": ["src/base", "src/model", "src/database"],
    "src/serve": ["src/base", "src/database", "src/views"],
    "app": EVERYTHING_UNDER_SRC + ["collect/record", "instrument/driver.h"],
    "collect/record": [],
    "collect/core": ["collect/record"],
    # Every other folder of collect/ is a back end.
    "collect/*": ["collect/record", "collect/core"],
    "instrument": ["src/base", "collect/numa/abi.h"],
}

CHECKED = ["src", "collect", "app", "instrument"]
SUFFIXES = {".h", ".hpp", ".inc", ".cpp", ".c", ".cu"}
INCLUDE_ROOTS = ["src", "collect", "."]  # the -I of cmake/module.cmake, then the repository
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def folder_of(path):
    """The part of the house that a file belongs to: "src/flow", "collect/cuda", "app"."""
    parts = path.parts
    return "/".join(parts[:2]) if parts[0] in ("src", "collect") and len(parts) > 2 else parts[0]


def allowed_for(folder):
    if folder in ALLOWED:
        return ALLOWED[folder]
    return ALLOWED["collect/*"] if folder.startswith("collect/") else None


def resolve(root, includer, name):
    """The included file, relative to the repository, or None if it is not part of it."""
    for base in [includer.parent] + [Path(r) for r in INCLUDE_ROOTS]:
        candidate = (root / base / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root)
    return None


def may_include(includer, included):
    own = folder_of(includer)
    target = folder_of(included)
    return own == target or any(
        entry in (target, included.as_posix()) or entry == "src/*" and target.startswith("src/")
        for entry in allowed_for(own))


def violations_in(root, path):
    folder = folder_of(path)
    if allowed_for(folder) is None:
        yield f"{path}:1: {folder} is not in the table of scripts/check_includes.py"
        return
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    for match in INCLUDE.finditer(text):
        quoted, system = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        included = resolve(root, path, quoted or system)
        if included is None:
            if quoted:
                yield f'{path}:{line}: "{quoted}" is not a file of this repository; use <...>'
        elif not may_include(path, included):
            yield f"{path}:{line}: {folder} must not include {included}"


def check(root):
    root = root.resolve()
    files = sorted(path.relative_to(root) for top in CHECKED for path in (root / top).rglob("*")
                   if path.suffix in SUFFIXES and path.is_file())
    return len(files), [found for path in files for found in violations_in(root, path)]


def self_test():
    """A small house, and whether each include in it is allowed."""
    cases = [
        ("src/flow/a.h", '#include "binary/instruction.h"', True),
        ("src/flow/b.h", '#include "binary/decoder.h"', False),
        ("src/flow/c.cpp", '#include "flow/a.h"', True),
        ("src/base/d.h", '#include "model/profile.h"', False),
        ("src/views/e.cpp", "#include <attribution/attribution.h>", False),
        ("src/views/f.cpp", '#include "database/database.h"', True),
        ("src/measurement/g.cpp", '#include "record/layout.h"', True),
        ("src/measurement/h.cpp", '#include "../../collect/core/threads.h"', False),
        ("collect/cuda/i.cpp", '#include "core/threads.h"\n#include <vector>', True),
        ("collect/cuda/j.cpp", '// why\n  #  include "base/result.h"', False),
        ("collect/cuda/k.cpp", '#include "opencl/layer.h"', False),
        ("collect/record/l.h", '#include "core/threads.h"', False),
        ("app/m.cpp", '#include "attribution/attribution.h"\n#include "record/layout.h"', True),
        ("app/n.cpp", '#include "cuda/i.cpp"', False),
        ("app/o.cpp", '#include "no/such/file.h"', False),
        ("src/nowhere/p.h", "", False),
    ]
    others = ["src/binary/instruction.h", "src/binary/decoder.h", "src/model/profile.h",
              "src/attribution/attribution.h", "src/database/database.h", "src/base/result.h",
              "collect/record/layout.h", "collect/core/threads.h", "collect/opencl/layer.h"]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in [(path, text) for path, text, _ in cases] + [(o, "") for o in others]:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text + "\n")
        _, found = check(root)
        for path, text, allowed in cases:
            hits = [violation for violation in found if violation.startswith(path + ":")]
            if bool(hits) == allowed:
                print(f"self-test: {path}: {text!r} was {'refused' if allowed else 'let through'}")
                wrong += 1
        if not any(violation.startswith("collect/cuda/j.cpp:2:") for violation in found):
            print("self-test: the line of a violation is wrong")
            wrong += 1
    print(f"self-test: {len(cases)} includes, {wrong} judged wrongly")
    return wrong == 0


def main(arguments):
    if arguments == ["--self-test"]:
        return 0 if self_test() else 1
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    count, found = check(Path(__file__).resolve().parent.parent)
    for violation in found:
        print(violation)
    print(f"{count} files, {len(found)} forbidden includes")
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
