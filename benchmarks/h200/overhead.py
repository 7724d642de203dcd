#!/usr/bin/env python3
"""Measures what `fathom record` costs, mode by mode, against the plain program.

usage: overhead.py FATHOM DIRECTORY_OF_PROGRAMS OUTPUT_DIRECTORY

Every program runs in every mode in turn, several times over (REPEATS, SERIALIZED_REPEATS), until
SECONDS_LIMIT is near. Measured are

  wall    the whole command, as a user waits for it
  setup   what the program itself needs to start: the context's creation and a first launch
  loop    the program's own launch loop, up to the end of the last kernel (the median of five loops in the
          launch programs)
  kernel  the median kernel, by CUDA events
  work    wall less the wall time of create_context in the same mode: without the cost at the start

overhead-runs.tsv has every run, overhead.tsv medians, spread and ratios, overhead.txt a table.
Ends with 1 if a run failed or a program's output changed under a profiler.
"""

import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAMS = {
    "create_context": ["create_context"],
    "many_launches": ["many_launches", "10000", "runtime", "8", "5"],
    "many_launches_deep": ["many_launches", "10000", "runtime", "36", "5"],
    "many_launches_driver": ["many_launches", "10000", "driver", "8", "5"],
    "heavy_kernels": ["heavy_kernels", "20"],
}
# In kernel-serialized mode, where a launch takes half a millisecond, one loop is enough.
SERIALIZED_ROUNDS = "1"
MODES = {
    "plain": None,
    "gpu=cuda": "gpu=cuda",
    "gpu=cuda,pc": "gpu=cuda,pc",
    "gpu=cuda,pc=serialized": "gpu=cuda,pc=serialized",
}
METRICS = ("wall", "work", "setup", "loop", "kernel")
REPEATS = int(os.environ.get("REPEATS", "7"))
SERIALIZED_REPEATS = int(os.environ.get("SERIALIZED_REPEATS", "2"))
SECONDS_LIMIT = float(os.environ.get("SECONDS_LIMIT", "480"))
RUN_SECONDS = 90
ONLY = os.environ.get("ONLY", "").split()  # names of programs; empty: all


if ONLY:
    PROGRAMS = {name: PROGRAMS[name] for name in ONLY}


def one_thread_of_each_core():
    """Processors that share no core, as far as the system tells; where it tells nothing, every second one.

    CUPTI works in threads of its own. Whether one of them lands on the second hardware thread of the core that
    launches changes the time of a launch by 40%, in each run anew, so all runs keep to these processors.
    """
    chosen, seen = [], set()
    allowed = sorted(os.sched_getaffinity(0))
    for processor in allowed:
        path = f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list"
        try:
            core = pathlib.Path(path).read_text(encoding="ascii").strip()
        except OSError:
            core = str(processor)
        if core not in seen:
            seen.add(core)
            chosen.append(processor)
    return chosen if len(chosen) < len(allowed) else allowed[::2]


def directory_bytes(directory):
    return sum(p.stat().st_size for p in pathlib.Path(directory).rglob("*") if p.is_file())


def run_once(fathom, programs, program, mode):
    """One run as a dictionary: seconds of each metric, checksum, bytes measured, error."""
    arguments = PROGRAMS[program]
    if mode.endswith("serialized") and arguments[0] == "many_launches":
        arguments = [*arguments[:-1], SERIALIZED_ROUNDS]
    command = [str(programs / arguments[0]), *arguments[1:]]
    scratch = tempfile.mkdtemp(prefix="fathom-overhead-")
    measurement = os.path.join(scratch, "m")
    if MODES[mode]:
        command = [fathom, "record", "-e", MODES[mode], "-o", measurement, "--", *command]
    result = {"program": program, "mode": mode, "error": ""}
    start = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS)
        result["wall"] = time.perf_counter() - start
        if done.returncode != 0:
            result["error"] = f"ended with {done.returncode}: {done.stderr.strip()[-400:]}"
        printed = dict(re.findall(r"^(\w+) (\S+)", done.stdout, re.MULTILINE))
        result["checksum"] = printed.get("checksum", "none")
        for metric, key, factor in (("setup", "setup_seconds", 1), ("loop", "loop_seconds", 1),
                                    ("kernel", "kernel_ms", 1e-3)):
            if key in printed:
                result[metric] = float(printed[key]) * factor
        result["bytes"] = directory_bytes(measurement)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        result["error"] = str(error)
    shutil.rmtree(scratch, ignore_errors=True)
    return result


def run_all(fathom, programs):
    runs = []
    deadline = time.monotonic() + SECONDS_LIMIT
    for program in PROGRAMS:  # the first run of each finds cold caches
        run_once(fathom, programs, program, "plain")
    for repeat in range(REPEATS):
        for program in PROGRAMS:
            for mode in MODES:
                if mode.endswith("serialized") and repeat >= SERIALIZED_REPEATS:
                    continue
                if time.monotonic() > deadline:
                    print(f"out of time in repeat {repeat + 1} of {REPEATS}")
                    return runs
                run = run_once(fathom, programs, program, mode)
                runs.append(run)
                print("{} {:22} {:24} wall {:8.4f} loop {:8.4f} {}".format(
                    repeat + 1, program, mode, run.get("wall", 0), run.get("loop", 0),
                    run["error"]), flush=True)
    return runs


def add_work(runs):
    """The wall time less that of create_context in the same mode."""
    for mode in MODES:
        starts = [r["wall"] for r in runs
                  if r["program"] == "create_context" and r["mode"] == mode and not r["error"]]
        if not starts:
            continue
        start = statistics.median(starts)
        for run in runs:
            if run["mode"] == mode and run["program"] != "create_context" and "wall" in run:
                run["work"] = run["wall"] - start


def summarize(runs):
    """Rows: program, mode, metric, runs, median, lowest, highest, ratio to plain."""
    rows = []
    for program in PROGRAMS:
        for metric in METRICS:
            plain = None
            for mode in MODES:
                values = [r[metric] for r in runs if r["program"] == program and
                          r["mode"] == mode and metric in r and not r["error"]]
                if not values:
                    continue
                median = statistics.median(values)
                plain = median if mode == "plain" else plain
                ratio = median / plain if plain else float("nan")
                rows.append((program, mode, metric, len(values), median, min(values), max(values),
                             ratio))
    return rows


def table(rows):
    lines = ["{:22} {:24} {:7} {:>4} {:>12} {:>12} {:>12} {:>8}".format(
        "program", "mode", "metric", "runs", "median s", "lowest s", "highest s", "ratio")]
    last = None
    for row in rows:
        if last and last != row[0]:
            lines.append("")
        last = row[0]
        lines.append("{:22} {:24} {:7} {:4d} {:12.6f} {:12.6f} {:12.6f} {:8.3f}".format(*row))
    return "\n".join(lines) + "\n"


def find_problems(runs):
    problems = [f"{r['program']} in mode {r['mode']}: {r['error']}" for r in runs if r["error"]]
    for program in PROGRAMS:
        seen = {r["checksum"] for r in runs if r["program"] == program and "checksum" in r
                and not (program.startswith("many") and r["mode"].endswith("serialized"))}
        if len(seen) > 1:
            problems.append(f"{program} printed different checksums: {', '.join(sorted(seen))}")
    return problems


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    fathom, programs, output = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    os.sched_setaffinity(0, one_thread_of_each_core())
    print("on processors", *sorted(os.sched_getaffinity(0)))
    runs = run_all(fathom, programs)
    add_work(runs)
    columns = ("program", "mode", "wall", "work", "setup", "loop", "kernel", "bytes", "checksum",
               "error")
    with open(output / "overhead-runs.tsv", "w") as file:
        print(*columns, sep="\t", file=file)
        for run in runs:
            print(*(" ".join(str(run.get(c, "")).split()) for c in columns), sep="\t", file=file)
    rows = summarize(runs)
    with open(output / "overhead.tsv", "w") as file:
        print("program", "mode", "metric", "runs", "median_s", "lowest_s", "highest_s", "ratio",
              sep="\t", file=file)
        for row in rows:
            print(*row[:4], *(f"{value:.6f}" for value in row[4:]), sep="\t", file=file)
    problems = find_problems(runs)
    text = table(rows) + "".join(f"\nPROBLEM: {problem}" for problem in problems) + "\n"
    (output / "overhead.txt").write_text(text)
    print(text)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
