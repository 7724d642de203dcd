#!/usr/bin/env python3
"""Holds predicted times against those measured on the H200.

usage: accuracy.py FATHOM [--check]

Writes docs/prediction-accuracy.md from three launches of each kernel and every model. With --check
it takes one launch of each and the default model only, and ends with 1 if a kernel has no
prediction or the mean error is beyond the bar below.
"""

import collections
import concurrent.futures
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

import corpus

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "benchmarks/prediction/data/h200-times.tsv"
PAGE = ROOT / "docs/prediction-accuracy.md"
MODELS = ("sim", "delay", "list", "roofline")
LAUNCHES = 3
MOST_MEAN_ERROR = 0.45  # for --check: a change for the worse, not the aim


def launches():
    """By kernel, in the order of the table."""
    lines = [line.split("\t") for line in DATA.read_text().splitlines()]
    kernels = collections.defaultdict(list)
    for line in lines[1:]:
        row = dict(zip(lines[0], line))
        kernels[row["kernel"]].append(row)
    return kernels


def choose(rows, count):
    """The first, and others at equal distances."""
    if len(rows) <= count:
        return rows
    return [rows[i * len(rows) // count] for i in range(count)]


def predict(fathom, folder, row, model):
    """Microseconds; None where there is no prediction."""
    done = subprocess.run([*corpus.predict_command(fathom, folder, row), "--model", model], capture_output=True, text=True)
    if done.returncode:
        return None
    return next((k["time_us"] for k in json.loads(done.stdout)["kernels"]), None)


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    for rank, index in enumerate(order):
        result[index] = rank
    return result


def figures(pairs):
    """Of pairs (predicted, measured): MAPE, median, R2 of the logarithms, Spearman."""
    errors = [abs(p - m) / m for p, m in pairs]
    p, m = [math.log(p) for p, _ in pairs], [math.log(m) for _, m in pairs]
    mean = statistics.fmean(m)
    r2 = 1 - sum((a - b) ** 2 for a, b in zip(p, m)) / sum((b - mean) ** 2 for b in m)
    return statistics.fmean(errors), statistics.median(errors), r2, statistics.correlation(ranks(p), ranks(m))


def run_all(fathom, folder, kernels, models):
    jobs = [(row, model) for rows in kernels.values() for row in rows for model in models]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        times = pool.map(lambda job: predict(fathom, folder, *job), jobs)
    return [(row, model, time) for (row, model), time in zip(jobs, times)]


def page(results, kernels):
    by_model = collections.defaultdict(list)
    by_kernel = collections.defaultdict(lambda: collections.defaultdict(list))
    missing = 0
    for row, model, time in results:
        if not time:
            missing += 1
            continue
        pair = (time, float(row["time_us"]))
        by_model[model].append(pair)
        by_kernel[row["kernel"]][model].append(pair)
    lines = ["# How good predicted times are", "",
             "Made by `benchmarks/prediction/accuracy.py`: up to three launches of each kernel of `benchmarks/prediction`, "
             "predicted from its cubin, its scalar arguments and the sizes of its buffers (and the types and bounds of what they hold at first), and held against the time on an H200. What data decide is told where the definition of "
             "the data says it: rounds of loops and shares of branches (`--trips`), and of three kernels how near to each other a warp's addresses lie (`--near`). "
             "The machine's figures are those that `fathom calibrate` measured on another day (`src/machine/data/nvidia_h200.json`); "
             "no constant was fitted to these times by a regression; but what the models "
             "take into account was chosen while looking at these kernels, so this is no test on unseen ones.", "",
             f"{len(kernels)} kernels, {len(by_model['sim'])} launches, {missing} without a prediction.", "",
             "| model | mean error (MAPE) | median error | R2 of log time | Spearman |", "| --- | ---: | ---: | ---: | ---: |"]
    for model in MODELS:
        mape, median, r2, spearman = figures(by_model[model])
        lines.append(f"| {model} | {100 * mape:.1f}% | {100 * median:.1f}% | {r2:.3f} | {spearman:.3f} |")
    lines += ["", "The aims are 17% and 0.97 for `sim`, the default.", "", "Mean error of each kernel:", "",
              "| kernel | launches | " + " | ".join(MODELS) + " |", "| --- | ---: |" + " ---: |" * len(MODELS)]
    for kernel, models in by_kernel.items():
        cells = [f"{100 * statistics.fmean(abs(p - m) / m for p, m in models[model]):.0f}%" if models[model] else ""
                 for model in MODELS]
        lines.append(f"| {kernel} | {len(models['sim'])} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    if len(arguments) != 1:
        sys.exit(__doc__.split("\n\n")[1])
    check = "--check" in sys.argv
    fathom = str(pathlib.Path(arguments[0]).resolve())
    kernels = {k: choose(rows, 1 if check else LAUNCHES) for k, rows in launches().items()}
    with corpus.unpacked() as folder:
        results = run_all(fathom, folder, kernels, ("sim",) if check else MODELS)
    if not check:
        PAGE.write_text(page(results, kernels))
        print(PAGE.read_text())
        return
    none = sorted({row["kernel"] for row, _, time in results if not time})
    mape = figures([(time, float(row["time_us"])) for row, _, time in results if time])[0]
    print(f"{len(results)} launches, mean error {mape:.3f}, without a prediction: {none}")
    sys.exit(bool(none) or mape > MOST_MEAN_ERROR)


main()
