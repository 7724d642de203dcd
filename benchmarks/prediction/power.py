#!/usr/bin/env python3
"""Learns power from launches measured on the H200, and holds it against kernels left out.

usage: power.py FATHOM
       power.py FATHOM --check

Runs `fathom predict` on every launch of data/h200-power.tsv, trains each family of models
(power_models.py) ten times with a tenth of the kernels left out, and writes
data/h200-power-held-out.tsv and h200-power-zeros-held-out.tsv (what each said about kernels it had
not seen), docs/power-accuracy.md, src/prediction/data/power_h200.json (the model, trained on all kernels; build again to use it) and
tests/fixtures/h200-power/cases.json. Needs numpy, scipy, scikit-learn and xgboost.

--check needs nothing but Python: it ends with 1 if the page does not belong to these files, if power
or energy of the kernels left out is beyond the bars below, or if FATHOM's own power has gone away
from the measured one.
"""

import concurrent.futures
import datetime
import hashlib
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time

import corpus

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "benchmarks/prediction"
HELD_OUT = HERE / "data/h200-power-held-out.tsv"
MODEL = ROOT / "src/prediction/data/power_h200.json"
CASES = ROOT / "tests/fixtures/h200-power/cases.json"
PAGE = ROOT / "docs/power-accuracy.md"
DEALT = "XGBoost, launches dealt"  # into folds instead of whole kernels, to compare
UNTOLD = "buffers' contents untold"  # what is shipped, of kernels left out, where nobody says what buffers hold
ZEROS = HERE / "data/h200-power-zeros-held-out.tsv"
TIMES_ZEROS = 3  # each launch with zeros counts as so many
KEY = ("kernel", "file", "grid", "block", "shared", "arguments")
FOLDS = 10
# For --check: a change for the worse, not the aims, which are 6%, 0.96 and 15%.
MOST_POWER_ERROR, LEAST_R2, MOST_ENERGY_ERROR, MOST_ERROR_OF_SEEN = 0.07, 0.94, 0.12, 0.05


def read_table(path):
    lines = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def launches():
    """Rows of the table of power, with what predict is to be told about trips from that of times."""
    told = {tuple(row[k] for k in KEY): {k: row[k] for k in ("trips", "near", "contents")} for row in read_table(HERE / "data/h200-times.tsv")}
    rows = read_table(HERE / "data/h200-power.tsv")
    return [{**row, **told[tuple(row[k] for k in KEY)]} for row in rows]


def launches_of_zeros():
    """One of each kernel, with zeros for all floats; those left out whose time is another then, as branches differ."""
    told = {tuple(row[k] for k in KEY): row for row in launches()}
    rows = []
    for row in read_table(HERE / "data/h200-power-zeros.tsv"):
        usual = told[tuple(row[k] for k in KEY)]
        contents = re.sub(r"=(f32|f64)", r"=\1:0..0", usual["contents"])
        if abs(float(row["time_us"]) / float(usual["time_us"]) - 1) < 0.1:
            rows.append({**usual, **row, "contents": contents})
    return rows


def predict(fathom, folder, row):
    """As JSON; None where there is no prediction."""
    done = subprocess.run(corpus.predict_command(fathom, folder, row), capture_output=True, text=True)
    if done.returncode:
        return None
    kernel = json.loads(done.stdout)["kernels"][0]
    return {name: kernel[name] for name in ("time_us", "power_w", "energy_mj", "rates")}


def predict_all(fathom, rows):
    with corpus.unpacked() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda row: predict(fathom, folder, row), rows))


def cached(fathom, rows):
    """The same program says the same of the same rows."""
    told = json.dumps([sorted(row.items()) for row in rows]).encode()
    digest = hashlib.sha256(pathlib.Path(fathom).read_bytes() + told).hexdigest()[:16]
    cache = ROOT / f"build/power/predictions-{digest}.json"
    if not cache.exists():
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_text(json.dumps(predict_all(fathom, rows)))
    return json.loads(cache.read_text())


def folds_of(rows):
    """Whole kernels, shuffled once and for all, dealt out."""
    kernels = sorted({row["kernel"] for row in rows})
    random.Random(20250131).shuffle(kernels)
    fold = {kernel: i % FOLDS for i, kernel in enumerate(kernels)}
    return [fold[row["kernel"]] for row in rows]


def train(rows, predictions, untold, zeros, predictions_of_zeros):
    import numpy
    import power_models
    names = list(predictions[0]["rates"])
    x = numpy.array([list(p["rates"].values()) for p in predictions], float)
    x_untold = numpy.array([list(p["rates"].values()) for p in untold], float)
    y = numpy.log([float(row["power_w"]) for row in rows])
    groups = numpy.unique([row["kernel"] for row in rows], return_inverse=True)[1]
    fold = numpy.array(folds_of(rows))
    said = {name: numpy.zeros(len(y)) for name in power_models.FAMILIES}
    for name, make in power_models.FAMILIES.items():
        for i in range(FOLDS):
            seen = fold != i
            said[name][~seen] = make(names).fit(x[seen], y[seen], groups[seen]).predict(x[~seen])
        print(f"{name}: {time.process_time():.0f} s, {100 * numpy.mean(abs(numpy.exp(said[name] - y) - 1)):.2f}%", flush=True)
    x_zeros = numpy.array([list(p["rates"].values()) for p in predictions_of_zeros], float)
    y_zeros = numpy.log([float(row["power_w"]) for row in zeros])
    fold_of = {row["kernel"]: i for row, i in zip(rows, fold)}
    fold_zeros = numpy.array([fold_of[row["kernel"]] for row in zeros])

    def blend(seen, seen_zeros):
        return power_models.Blend(names).fit(
            numpy.concatenate([x[seen]] + [x_zeros[seen_zeros]] * TIMES_ZEROS),
            numpy.concatenate([y[seen]] + [y_zeros[seen_zeros]] * TIMES_ZEROS), None)

    said_untold, said_zeros = numpy.zeros(len(y)), numpy.zeros(len(y_zeros))
    said[power_models.BLEND] = numpy.zeros(len(y))
    for i in range(FOLDS):
        model = blend(fold != i, fold_zeros != i)
        said[power_models.BLEND][fold == i] = model.predict(x[fold == i])
        said_untold[fold == i] = model.predict(x_untold[fold == i])
        said_zeros[fold_zeros == i] = model.predict(x_zeros[fold_zeros == i])
    write_zeros(zeros, numpy.exp(said_zeros))
    dealt = numpy.array([i * 7 % FOLDS for i in range(len(y))])
    seen_kernels = numpy.zeros(len(y))
    for i in range(FOLDS):
        seen = dealt != i
        seen_kernels[~seen] = power_models.Boosted(names).fit(x[seen], y[seen], groups[seen]).predict(x[~seen])
    write_held_out(rows, predictions, {name: numpy.exp(each) for name, each in {DEALT: seen_kernels, UNTOLD: said_untold, **said}.items()})
    model = blend(fold >= 0, fold_zeros >= 0)
    write_model(rows, names, model, x)
    some = list(range(0, len(rows), len(rows) // 24))
    limits = json.loads(MODEL.read_text())
    watts = numpy.clip(numpy.exp(model.predict(x[some])), limits["least_watts"], limits["most_watts"])
    CASES.parent.mkdir(parents=True, exist_ok=True)
    CASES.write_text(json.dumps(
        [{"kernel": rows[i]["kernel"], "features": predictions[i]["rates"], "watts": round(float(w), 3)}
         for i, w in zip(some, watts)], indent=0) + "\n")


def write_held_out(rows, predictions, said):
    lines = ["\t".join([*KEY, "predicted_us", *said])]
    for i, row in enumerate(rows):
        lines.append("\t".join([*(row[k] for k in KEY), f"{predictions[i]['time_us']:.3f}",
                                *(f"{each[i]:.2f}" for each in said.values())]))
    HELD_OUT.write_text("\n".join(lines) + "\n")


def write_zeros(rows, said):
    lines = ["\t".join([*KEY, "power_w", "said_w"])]
    lines += ["\t".join([*(row[k] for k in KEY), row["power_w"], f"{watts:.2f}"]) for row, watts in zip(rows, said)]
    ZEROS.write_text("\n".join(lines) + "\n")


def write_model(rows, names, model, x):
    """One line for each tree, so that a change can be read as one."""
    watts = [float(row["power_w"]) for row in rows]
    head = {"device": "NVIDIA H200", "source": "benchmarks/prediction/power.py; of the logarithm of watts: "
            "energies of events, and trees (XGBoost) of the features and the first",
            "launches": len(rows), "kernels": len({row["kernel"] for row in rows}),
            "trained": datetime.date.today().isoformat(), "least_watts": min(watts), "most_watts": max(watts),
            "features": names}
    parts = model.export(x)
    trees = parts.pop("trees")
    short = lambda value: json.dumps(value, separators=(",", ":"))
    text = ",\n".join(f'"{key}": {short(value)}' for key, value in {**head, **parts}.items())
    text += f',\n"trees": {{"base": {trees["base"]}, "trees": [\n'
    text += ",\n".join(map(short, trees["trees"])) + "]}"
    MODEL.parent.mkdir(parents=True, exist_ok=True)
    MODEL.write_text("{" + text + "}\n")


def errors(said, true):
    return [abs(s - t) / t for s, t in zip(said, true)]


def r_squared(said, true):
    mean = statistics.fmean(true)
    return 1 - sum((s - t) ** 2 for s, t in zip(said, true)) / sum((t - mean) ** 2 for t in true)


def figures():
    """Of the kernels left out: by family, and for the one that is shipped, with energies."""
    measured = {tuple(row[k] for k in KEY): row for row in launches()}
    table = read_table(HELD_OUT)
    rows = [(row, measured[tuple(row[k] for k in KEY)]) for row in table]
    watts = [float(m["power_w"]) for _, m in rows]
    families = {}
    for name in list(table[0])[len(KEY) + 1:]:  # DEALT and UNTOLD first, which are no families
        said = [float(row[name]) for row, _ in rows]
        families[name] = (statistics.fmean(errors(said, watts)), statistics.median(errors(said, watts)),
                          r_squared(said, watts))
    dealt, untold, best = families.pop(DEALT), families.pop(UNTOLD), list(families)[-1]
    energy = [float(m["energy_mj"]) for _, m in rows]
    time_off = errors([float(row["predicted_us"]) for row, _ in rows], [float(m["time_us"]) for _, m in rows])
    predicted = errors([float(row[best]) * float(row["predicted_us"]) / 1000 for row, _ in rows], energy)
    timed = errors([float(row[best]) * float(m["time_us"]) / 1000 for row, m in rows], energy)
    by_kernel = {}
    for (row, m), joules in zip(rows, predicted):
        by_kernel.setdefault(row["kernel"], []).append((float(row[best]), float(m["power_w"]), joules))
    zeros = read_table(ZEROS)
    near = [i for i, off in enumerate(time_off) if off < 0.1]
    return {"families": families, "best": best, "dealt": dealt, "untold": untold,
            "zeros": (len(zeros), statistics.fmean(errors([float(row["said_w"]) for row in zeros],
                                                          [float(row["power_w"]) for row in zeros]))),
            "energy": predicted, "energy_timed": timed, "time": time_off,
            "near": (len(near), statistics.fmean(errors([float(rows[i][0][best]) for i in near],
                                                        [watts[i] for i in near]))),
            "kernels": by_kernel, "launches": len(rows)}


def page():
    f = figures()
    model = json.loads(MODEL.read_text())
    digest = hashlib.sha256(MODEL.read_bytes()).hexdigest()[:12]
    percent = lambda value: f"{100 * value:.1f}%"
    mean, median = statistics.fmean, statistics.median
    lines = [
        "# How good predicted power and energy are", "",
        "Made by `benchmarks/prediction/power.py`. " + f"{f['launches']} launches of {len(f['kernels'])} kernels, "
        "measured on NVIDIA H200s (`benchmarks/prediction/data/h200-power.tsv`) and predicted from their cubins; "
        "no measured time, clock or temperature is a feature.", "",
        f"**What was held out:** whole kernels. They were dealt into {FOLDS} folds; each launch below was predicted by a "
        "model trained on the kernels of the nine other folds only (`data/h200-power-held-out.tsv` has every value). "
        "Settings of all families are the same for all folds, save the widths of the Gaussian process, which each "
        "training set chooses by itself. But those of XGBoost, the features and the blend were chosen by hand while looking at "
        "figures like these, over three ways of dealing the kernels: so they flatter a little, and another corpus may do worse.", "",
        "| family | mean error (MAPE) | median error | R2 |", "| --- | ---: | ---: | ---: |"]
    for name, (mape, middle, r2) in f["families"].items():
        lines.append(f"| {name} | {percent(mape)} | {percent(middle)} | {r2:.3f} |")
    mape, _, r2 = f["families"][f["best"]]
    reached = lambda yes: "reached" if yes else "**not reached**"
    lines += [
        "", f"Shipped: {f['best']} (`src/prediction/data/power_h200.json`, {digest}, trained on all kernels on "
        f"{model['trained']}). The aims are 6% ({reached(mape <= 0.06)}) and R2 0.96 ({reached(r2 >= 0.96)}).", "",
        f"Were single launches dealt into the folds instead, so that the model has seen other launches of the same kernel, XGBoost's "
        f"mean error would be {percent(f['dealt'][0])} and R2 {f['dealt'][2]:.3f}. Such a split is common in publications; it does "
        "not tell how good a new kernel's prediction is.", "",
        f"`predict` was told what buffers hold before the first launch, as the corpus fills them (`contents` in `data/h200-times.tsv`; "
        f"`--arg x=@64M:f32`). Were it told nothing of that, the mean error would be {percent(f['untold'][0])} and R2 "
        f"{f['untold'][2]:.3f}.", "",
        f"{f['zeros'][0]} launches were measured once more with zeros for all floats, and told so (`data/h200-power-zeros.tsv`; such "
        "of the training kernels are part of what the shipped family learns from): mean error of kernels left out "
        f"{percent(f['zeros'][1])}.", "",
        "| energy of a launch, mean error | | median |", "| --- | ---: | ---: |",
        f"| predicted power x predicted time | {percent(mean(f['energy']))} | {percent(median(f['energy']))} |",
        f"| predicted power x measured time | {percent(mean(f['energy_timed']))} | {percent(median(f['energy_timed']))} |",
        f"| for comparison, the predicted time itself | {percent(mean(f['time']))} | {percent(median(f['time']))} |", "",
        f"The aim for energy is 15% ({reached(mean(f['energy']) <= 0.15)}).", "",
        f"On the {f['near'][0]} launches whose time is predicted to 10%, power's mean error is {percent(f['near'][1])}: so much is "
        "left when the time is right. docs/prediction.md says what was tried and what is known of the rest.", "",
        "Mean over the launches of each kernel, left out of training:", "",
        "| kernel | launches | measured W | predicted W | error of power | error of energy |",
        "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for kernel, launched in f["kernels"].items():
        lines.append(f"| {kernel} | {len(launched)} | {mean(m for _, m, _ in launched):.0f} | "
                     f"{mean(s for s, _, _ in launched):.0f} | {100 * mean(abs(s - m) / m for s, m, _ in launched):.0f}% | "
                     f"{100 * mean(e for _, _, e in launched):.0f}% |")
    return "\n".join(lines) + "\n"


def check(fathom):
    problems = []
    if PAGE.read_text() != page():
        problems.append(f"{PAGE.name} does not belong to the model and the table: run power.py")
    f = figures()
    mape, _, r2 = f["families"][f["best"]]
    if mape > MOST_POWER_ERROR or r2 < LEAST_R2:
        problems.append(f"power of kernels left out: mean error {mape:.3f}, R2 {r2:.3f}")
    if statistics.fmean(f["energy"]) > MOST_ENERGY_ERROR:
        problems.append(f"energy of kernels left out: mean error {statistics.fmean(f['energy']):.3f}")
    rows = launches()[::29]  # of kernels that the model has seen: is it still the model of this program?
    said = predict_all(fathom, rows)
    if not all(each and each["power_w"] and each["energy_mj"] for each in said):
        problems.append("a launch has no power")
    else:
        off = statistics.fmean(errors([s["power_w"] for s in said], [float(row["power_w"]) for row in rows]))
        print(f"{len(rows)} launches of kernels that were seen: mean error of power {off:.3f}")
        if off > MOST_ERROR_OF_SEEN:
            problems.append(f"power of kernels that were seen: mean error {off:.3f}; features have changed, run power.py")
    print("\n".join(problems) or f"power of kernels left out: mean error {mape:.3f}, R2 {r2:.3f}")
    return bool(problems)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    if len(arguments) != 1:
        sys.exit(__doc__.split("\n\n")[1])
    fathom = str(pathlib.Path(arguments[0]).resolve())
    if "--check" in sys.argv:
        sys.exit(check(fathom))
    sys.path.insert(0, str(HERE))
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices: threads only get in each other's way
    rows = launches()
    predictions, untold = cached(fathom, rows), cached(fathom, [{**row, "contents": "-"} for row in rows])
    if not all(predictions) or not all(untold):
        sys.exit(f"{predictions.count(None) + untold.count(None)} launches have no prediction")
    zeros = launches_of_zeros()
    train(rows, predictions, untold, zeros, cached(fathom, zeros))
    PAGE.write_text(page())
    print("\n".join(PAGE.read_text().splitlines()[:40]))


main()
