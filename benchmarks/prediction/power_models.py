"""Families of models of power: each is trained on features of launches and on the logarithm of watts."""

import json

import numpy
import xgboost
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize, nnls
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

# What an event costs is at least nothing: the terms of the physical model.
EVENTS = ("lanes_fp32", "lanes_fp64", "lanes_integer", "lanes_multiply", "lanes_special", "lanes_compare",
          "lanes_memory", "lanes_shared", "bits_integer", "bits_float", "spread_integer", "spread_float",
          "spread_loaded", "bits_shared", "bits_l1", "bits_l2_read", "bits_l2_written", "bits_dram_read",
          "bits_dram_written", "registers_moved", "controlling", "constants", "exchanges", "shared_passes",
          "l1_sectors", "l1_lines", "l2_sectors_read", "l2_sectors_written", "l2_atomic", "l2_requests",
          "dram_bytes_read", "dram_bytes_written", "partial_sectors_written", "busy_active", "warps_running")
# The process sees fewer features than the trees: with all of them it follows the kernels it knows too closely.
# Rates cover decades, so that their logarithms are taken; the others are shares or logarithms already.
RATES = ("issue", "lanes", "registers_moved", "lanes_integer", "lanes_fp32", "lanes_fp64", "lanes_special",
         "lanes_memory", "multiplications", "controlling", "shared_passes", "exchanges", "global_accesses",
         "l1_sectors", "l1_lines", "l2_sectors_read", "l2_sectors_written", "l2_atomic", "dram_bytes_read",
         "dram_bytes_written", "partial_sectors_written")
PROCESS = RATES + ("active", "busy", "warps_resident", "warps_running", "balance", "log_waves", "of_lanes",
                   "log_footprint", "of_global", "of_fp32_lanes", "of_registers", "of_integer_lanes", "l2_of_l1",
                   "sectors_of_line", "log_time", "registers", "compute_bound", "memory_bound", "log_list",
                   "log_delay")


class Scaled:
    """Rates as logarithms, all centred and scaled by what the training launches have."""

    def __init__(self, names, x, all_rates=False):
        # The features from the first to "l2_atomic" are the rates.
        rates = names[:names.index("l2_atomic") + 1] if all_rates else RATES
        self.logarithm = numpy.zeros(len(names))
        for i, name in enumerate(names):
            above = x[:, i][x[:, i] > 0]
            if name in rates and len(above):
                self.logarithm[i] = numpy.median(above)
        raw = self.raw(x)
        self.centre, self.scale = raw.mean(0), raw.std(0) + 1e-9

    def raw(self, x):
        logs = numpy.log(numpy.maximum(x, 0) / numpy.where(self.logarithm > 0, self.logarithm, 1) + 0.1)
        return numpy.where(self.logarithm > 0, logs, x)

    def __call__(self, x):
        # What lies far beyond all launches that were seen says no more than that it does.
        return numpy.clip((self.raw(x) - self.centre) / self.scale, -4, 4)


class Physical:
    """Watts = idle + sum of rates x energy of an event, each at least 0, to the least relative error."""

    def __init__(self, names):
        self.names = names

    def terms(self, x):
        columns = {name: x[:, i] for i, name in enumerate(self.names)}
        return numpy.stack([numpy.ones(len(x))] + [columns[name] for name in EVENTS], 1)

    def fit(self, x, y, groups):
        terms, watts = self.terms(x), numpy.exp(y)
        self.scale = terms.max(0) + 1e-30
        self.costs = nnls(terms / self.scale / watts[:, None], numpy.ones(len(y)), maxiter=10000)[0]
        return self

    def predict(self, x):
        return numpy.log(self.terms(x) / self.scale @ self.costs)


class Known:
    """One of scikit-learn's, with scaled features where it needs them."""

    def __init__(self, names, model, scaled):
        self.names, self.model, self.scaled = names, model, scaled

    def fit(self, x, y, groups):
        self.prepare = Scaled(self.names, x, True) if self.scaled else lambda each: each
        self.model.fit(self.prepare(x), y)
        return self

    def predict(self, x):
        return self.model.predict(self.prepare(x))


class Boosted:
    """Gradient boosting of trees, by XGBoost. `rising`: with the last of so many features the answer only rises."""

    def __init__(self, names, trees=250, rate=0.06, seed=0, rising=None):
        self.model = xgboost.XGBRegressor(
            n_estimators=trees, max_depth=5, learning_rate=rate, subsample=0.7, colsample_bytree=0.5,
            min_child_weight=3, tree_method="hist", max_bin=64, n_jobs=1, random_state=seed,
            monotone_constraints=(0,) * (rising - 1) + (1,) if rising else None)

    def fit(self, x, y, groups):
        self.model.fit(x, y)
        return self

    def predict(self, x):
        return self.model.predict(x).astype(float)

    def export(self, x, share):
        """The base and the trees, both times `share`."""
        trees = []
        for text in self.model.get_booster().get_dump(dump_format="json"):
            tree = {"feature": [], "value": [], "right": []}
            add_node(json.loads(text), tree)
            trees.append(tree)
        leaves = numpy.array([sum(walk(tree, row) for tree in trees) for row in x[:20].astype(numpy.float32)])
        base = numpy.mean(self.predict(x[:20]) - leaves)
        for tree in trees:
            tree["value"] = [v if f >= 0 else float(f"{share * v:.5g}") for f, v in zip(tree["feature"], tree["value"])]
        return share * float(base), trees


def add_node(node, tree):
    """Where a value is below the threshold, the next node follows, else that of `right`. Of a leaf, `feature` is -1
    and the value what it adds."""
    at = len(tree["feature"])
    leaf = "leaf" in node
    tree["feature"].append(-1 if leaf else int(node["split"][1:]))
    tree["value"].append(float(f"{node['leaf']:.5g}") if leaf else float(f"{node['split_condition']:.9g}"))
    tree["right"].append(0)
    if not leaf:
        children = {child["nodeid"]: child for child in node["children"]}
        add_node(children[node["yes"]], tree)
        tree["right"][at] = add_node(children[node["no"]], tree)
    return at


def walk(tree, row):
    at = 0
    while tree["feature"][at] >= 0:
        below = row[tree["feature"][at]] < numpy.float32(tree["value"][at])
        at = at + 1 if below else tree["right"][at]
    return tree["value"][at]


def squares(a, b):
    return numpy.maximum((a ** 2).sum(1)[:, None] + (b ** 2).sum(1)[None] - 2 * a @ b.T, 0)


class Process:
    """A Gaussian process: linear terms, a smooth part with a width for each feature, what launches of one
    kernel have in common, and noise. The last two are only trained: a new kernel's is taken to be 0. So
    131 kernels count as that, and not as a thousand launches. Widths and heights are those of the largest
    posterior density on up to `sample` launches of each training kernel."""

    def __init__(self, names, sample=2, rounds=25):
        self.names, self.sample, self.rounds = names, sample, rounds
        self.chosen = [names.index(name) for name in PROCESS]

    def parts(self, theta, a, b):
        width = numpy.exp(theta[4:])
        return (numpy.exp(theta[1]) * numpy.exp(-0.5 * squares(a * width, b * width)),
                numpy.exp(theta[0]) * (a @ b.T))

    def loss(self, theta, x, y, same):
        smooth, linear = self.parts(theta, x, x)
        n = len(y)
        whole = smooth + linear + numpy.exp(theta[2]) * same + (numpy.exp(theta[3]) + 1e-6) * numpy.eye(n)
        factor = cho_factor(whole, lower=True)
        alpha = cho_solve(factor, y)
        inner = 0.5 * (cho_solve(factor, numpy.eye(n)) - numpy.outer(alpha, alpha))
        by_smooth = inner * smooth
        rows = by_smooth.sum(1)
        slope = numpy.concatenate([
            [(inner * linear).sum(), by_smooth.sum(), numpy.exp(theta[2]) * (inner * same).sum(),
             numpy.exp(theta[3]) * numpy.trace(inner)],
            -2 * numpy.exp(2 * theta[4:]) * ((rows[:, None] * x ** 2).sum(0)
                                             - numpy.einsum("ij,ij->j", x, by_smooth @ x))])
        prior = (theta - self.centre) / self.spread
        return (0.5 * y @ alpha + numpy.log(numpy.diag(factor[0])).sum() + 0.5 * (prior ** 2).sum(),
                slope + prior / self.spread)

    def fit(self, x, y, groups):
        self.prepare = Scaled([self.names[i] for i in self.chosen], x[:, self.chosen])
        z, self.mean = self.prepare(x[:, self.chosen]), y.mean()
        features = z.shape[1]
        self.centre = numpy.concatenate([numpy.log([0.01, 0.1, 0.02, 0.002]), numpy.full(features, -1.7)])
        self.spread = numpy.concatenate([[1.5, 1, 1, 1], numpy.ones(features)])
        random = numpy.random.RandomState(0)
        some = numpy.concatenate([random.permutation(numpy.flatnonzero(groups == g))[:self.sample]
                                  for g in numpy.unique(groups)])
        same = (groups[some][:, None] == groups[some][None]).astype(float)
        self.theta = minimize(self.loss, self.centre, args=(z[some], y[some] - self.mean, same), jac=True,
                              method="L-BFGS-B", options={"maxiter": self.rounds}).x
        smooth, linear = self.parts(self.theta, z, z)
        same = (groups[:, None] == groups[None]).astype(float)
        whole = smooth + linear + numpy.exp(self.theta[2]) * same
        whole += (numpy.exp(self.theta[3]) + 1e-6) * numpy.eye(len(y))
        self.alpha, self.rows = cho_solve(cho_factor(whole, lower=True), y - self.mean), z
        return self

    def predict(self, x):
        smooth, linear = self.parts(self.theta, self.prepare(x[:, self.chosen]), self.rows)
        return (smooth + linear) @ self.alpha + self.mean


class Blend:
    """Two sets of trees that see what the energies of events say, too: one says the power, the other how far it is
    from those energies. Of the first a part, of the second less than all: what is left is the energies'. The shares
    were fixed once, for all folds."""
    DIRECT, BEYOND = 0.4, 0.5

    def __init__(self, names):
        self.names = names
        self.physical = Physical(names)
        self.direct, self.beyond = (Boosted(names, 120, 0.1, seed, len(names) + 1) for seed in (0, 10))

    def seen(self, x):
        return numpy.c_[x, self.physical.predict(x)]

    def fit(self, x, y, groups):
        self.physical.fit(x, y, groups)
        self.direct.fit(self.seen(x), y, groups)
        self.beyond.fit(self.seen(x), y - self.physical.predict(x), groups)
        return self

    def predict(self, x):
        seen = self.seen(x)
        return ((1 - self.DIRECT) * self.physical.predict(x) + self.DIRECT * self.direct.predict(seen) +
                self.BEYOND * self.beyond.predict(seen))

    def export(self, x):
        # The trees split at values of the physical model that they have seen: those must stay exact.
        costs, seen = self.physical.costs / self.physical.scale, self.seen(x)
        parts = [self.direct.export(seen, self.DIRECT), self.beyond.export(seen, self.BEYOND)]
        return {
            "physical": {"weight": 1 - self.DIRECT, "idle_watts": float(costs[0]),
                         "features": [self.names.index(name) for name in EVENTS], "watts": [float(v) for v in costs[1:]]},
            "trees": {"base": round(sum(base for base, _ in parts), 6), "trees": parts[0][1] + parts[1][1]}}


FAMILIES = {
    "energy per event (non-negative least squares)": Physical,
    "ridge regression": lambda names: Known(names, Ridge(30), True),
    "nearest neighbours": lambda names: Known(names, KNeighborsRegressor(5, weights="distance"), True),
    "small neural network": lambda names: Known(
        names, MLPRegressor(hidden_layer_sizes=(32,), alpha=3, solver="lbfgs", max_iter=150, random_state=0), True),
    "random forest": lambda names: Known(
        names, RandomForestRegressor(120, max_features=0.3, n_jobs=1, random_state=0), False),
    "extra trees": lambda names: Known(
        names, ExtraTreesRegressor(120, max_features=0.4, min_samples_leaf=3, n_jobs=1, random_state=0), False),
    "XGBoost": Boosted,
    "Gaussian process": Process,
}
BLEND = "energy per event, corrected by XGBoost"
