#!/usr/bin/env python3
"""A table of what `fathom predict DIR --format json` said of recordings, and its summary on standard error.

    recordings.py FILE.json...
"""

import json
import statistics
import sys
from pathlib import Path

COLUMNS = ("recording", "kernel", "launches", "measured_us", "predicted_us", "ratio", "verdict", "arguments",
           "pointers_of_known_size", "first_reason")


def rows(path):
    for kernel in json.loads(path.read_text())["kernels"]:
        pointers = [each for each in kernel["arguments"] if "buffer_bytes" in each]
        reasons = [each["title"] for each in kernel["differs"]]
        yield (path.stem, kernel["name"].split("(")[0], kernel["measured"]["launches"], f"{kernel['measured_us']:.2f}",
               f"{kernel['predicted_us']:.2f}", f"{kernel['ratio']:.3f}", kernel["verdict"], len(kernel["arguments"]),
               f"{sum(each['buffer_bytes'] > 0 for each in pointers)}/{len(pointers)}", reasons[0] if reasons else "")


def main(files):
    if not files:
        print(__doc__, file=sys.stderr)
        return 2
    table = [row for file in files for row in rows(Path(file))]
    print("\t".join(COLUMNS))
    for row in table:
        print("\t".join(map(str, row)))
    errors = [abs(float(row[5]) - 1) for row in table if row[6] != "unknown"]
    if errors:
        print(f"{len(table)} kernels, {len(errors)} with all arguments that count: mean error "
              f"{statistics.mean(errors):.1%}, median {statistics.median(errors):.1%}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
