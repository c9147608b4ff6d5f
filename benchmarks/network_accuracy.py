"""Are our networks as good as the peers'? Paired over seeds, on tables big and small.

`python -m benchmarks.network_accuracy defaults [seeds] [TABLE ...]` fits `MLPRegressor()` and
`MLPClassifier()`, the network that stops nowhere (`early_stopping=False`), and
scikit-learn's `MLP*` at their defaults (on scaled columns) to 13 tables, and prints for each
the nats of new rows, RMSE or accuracy, the coverage of 90 % intervals and the processor
seconds of a fit whose program was compiled before. A peer of numbers is given a normal with
the deviation of its residuals. "worse" is one-sided p < 0.05 of the paired differences,
after Holm's correction for the number of tables. `defaults --fresh [seeds] [TABLE ...]` does
so on 13 other tables, at which nobody looked when the defaults were chosen.

`python -m benchmarks.network_accuracy [seeds]` asks whether an ensemble of our networks is as
good as its twin in PyTorch. It prints, for each of six regression and six
classification tables (those of `tree_accuracy` and two more), the held-out nats of both,
the mean difference (ours less the twin's) and its standard error. Both have five members
of 64-64 units, Adam at 1e-3 on batches of 200, at most 200 epochs, a tenth of the rows to
stop by (ten epochs without a better one, the best weights kept). "worse" is a mean of
more than two standard errors, and of more than 0.01 nats, above 0.

The twin's batches are of equal size, as ours are: cut into batches of 200 with the rest as
the last one, 1012 rows end in a batch of 12, and such a noisy step an epoch makes the twin
better by 0.02 nats on the first table.
"""

import sys
import time
import warnings
from typing import NamedTuple

import numpy as np
from scipy import stats
from sklearn import datasets

from benchmarks.tree_accuracy import CLASSES, HALF_LOG_2PI, REGRESSION

MEMBERS, EPOCHS, ROWS, PATIENCE = 5, 200, 200, 10
NEW_ROWS = 2000
HIDDEN = (64, 64)


def wine(seed):
    return datasets.load_wine(return_X_y=True)


def moons(seed):
    return datasets.make_moons(1000, noise=0.3, random_state=seed)


SIX = {**CLASSES, "wine": wine, "moons": moons}


def halves(X, y, seed):
    order = np.random.default_rng(seed).permutation(len(y))
    cut = 3 * len(y) // 4
    train, test = order[:cut], order[cut:]
    return X[train], y[train], X[test], y[test]


def ours(X, y, X_test, y_test, seed, classes):
    import likely as lk

    kind = lk.MLPClassifier if classes else lk.MLPRegressor
    model = kind(
        HIDDEN, solver="adam", n_members=MEMBERS, max_iter=EPOCHS, batch_size=ROWS,
        early_stopping=True, n_iter_no_change=PATIENCE, random_state=seed,
    )  # fmt: skip
    return model.fit(X, y).nll(X_test, y_test)


def twin(X, y, X_test, y_test, seed, classes):
    """The same in PyTorch: scaled rows, members one after another."""
    import torch

    center, scale = X.mean(0), np.where(X.std(0) > 0, X.std(0), 1.0)
    shift, spread = (0.0, 1.0) if classes else (y.mean(), y.std())
    order = np.random.default_rng(seed).permutation(len(y))
    held = max(1, round(0.1 * len(y)))
    single = lambda a: torch.from_numpy(np.asarray(a, np.float32))  # noqa: E731
    inputs = single((X - center) / scale)
    targets = torch.from_numpy(y) if classes else single((y - shift) / spread)
    fit, look = order[held:], order[:held]
    at, said = single((X_test - center) / scale), []
    for member in range(MEMBERS):
        torch.manual_seed(1000 * seed + member)
        model = _member(inputs[fit], targets[fit], inputs[look], targets[look], classes)
        with torch.no_grad():
            said.append(_log_prob(model, at, y_test, classes, shift, spread))
    return float(-(np.logaddexp.reduce(said, axis=0) - np.log(MEMBERS)).mean())


def _member(X, y, X_val, y_val, classes):
    import torch
    from torch import nn

    k = int(y.max()) + 1 if classes else 1
    sizes, layers = (X.shape[1], *HIDDEN, k), []
    for a, b in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [nn.Linear(a, b), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    log_scale = nn.Parameter(torch.zeros(()))
    solver = torch.optim.Adam([*model.parameters(), log_scale], 1e-3, fused=True)

    def loss(X, y):
        if classes:
            return nn.functional.cross_entropy(model(X), y)
        z = (y - model(X)[:, 0]) * torch.exp(-log_scale)
        return (0.5 * z**2).mean() + log_scale

    best, kept, waited = np.inf, None, 0
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(y)).chunk(-(-len(y) // ROWS)):
            solver.zero_grad()
            loss(X[rows], y[rows]).backward()
            solver.step()
        with torch.no_grad():
            now = float(loss(X_val, y_val))
        waited += 1
        if now < best:
            best, waited = now, 0
            kept = [p.detach().clone() for p in (*model.parameters(), log_scale)]
        if waited >= PATIENCE:
            break
    with torch.no_grad():
        for p, value in zip((*model.parameters(), log_scale), kept, strict=True):
            p.copy_(value)
    return model, log_scale


def _log_prob(found, X, y, classes, shift, spread):
    model, log_scale = found
    if classes:
        logs = model(X).log_softmax(1).numpy()
        return logs[np.arange(len(y)), y]
    mean = model(X)[:, 0].numpy() * spread + shift
    scale = float(log_scale.exp()) * spread
    return -0.5 * ((y - mean) / scale) ** 2 - np.log(scale) - HALF_LOG_2PI


# Defaults ----------------------------------------------------------------------------


def line(n):
    """y = x0 + noise, with nine columns more."""

    def make(seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n + NEW_ROWS, 10))
        return X, X[:, 0] + rng.normal(size=n + NEW_ROWS)

    return make, n


def heteroscedastic(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000 + NEW_ROWS, 5))
    return X, 2 * X[:, 0] + np.exp(0.7 * X[:, 1]) * rng.normal(size=len(X))


def friedman(seed):
    return datasets.make_friedman1(1000 + NEW_ROWS, 10, noise=1.0, random_state=seed)


def two_moons(seed):
    return datasets.make_moons(500 + NEW_ROWS, noise=0.3, random_state=seed)


NUMBERS = {
    "line, 30 rows": line(30),
    "line, 50 rows": line(50),
    "line, 500 rows": line(500),
    "friedman1": (friedman, 1000),
    "heteroscedastic": (heteroscedastic, 1000),
    "waves": (REGRESSION["waves"], None),
    "diabetes": (REGRESSION["diabetes"], None),
}
LABELS = {
    "two moons": (two_moons, 500),
    "digits": (CLASSES["digits"], None),
    "breast cancer": (CLASSES["cancer"], None),
    "wine": (wine, None),
    "iris": (lambda seed: datasets.load_iris(return_X_y=True), None),
    "clusters": (CLASSES["clusters"], None),
}


def survey(name, target, *hidden, rows=2000):
    """Rows of a table of statsmodels, in an order of the seed's own, less some columns."""

    def make(seed):
        import statsmodels.api as sm

        table = getattr(sm.datasets, name).load_pandas().data.dropna()
        order = np.random.default_rng(seed).permutation(len(table))[:rows]
        y = target(table).to_numpy(float)[order]
        return table.drop(columns=list(hidden)).to_numpy(float)[order], y

    return make, None


def labels_of(made):
    make, n = made

    def whole(seed):
        X, y = make(seed)
        return X, y.astype(int)

    return whole, n


def hastie(seed):
    X, y = datasets.make_hastie_10_2(1000 + NEW_ROWS, random_state=seed)
    return X, (y > 0).astype(int)


def wide(seed):
    return datasets.make_classification(
        300 + NEW_ROWS, 60, n_informative=10, n_classes=3, random_state=seed
    )


def rings(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=600 + NEW_ROWS)
    angle, radius = (
        rng.uniform(0, 2 * np.pi, len(y)),
        1 + y + rng.normal(0, 0.4, len(y)),
    )
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)], y


def sunspots(seed):
    """The activity of a year from the nine years before it."""
    import statsmodels.api as sm

    series = sm.datasets.sunspots.load_pandas().data["SUNACTIVITY"].to_numpy(float)
    windows = np.lib.stride_tricks.sliding_window_view(series, 10)
    return windows[:, :-1], windows[:, -1]


def friedman_of(make):
    return lambda seed: make(500 + NEW_ROWS, noise=0.1, random_state=seed)


FRESH_NUMBERS = {
    "friedman2": (friedman_of(datasets.make_friedman2), 500),
    "friedman3": (friedman_of(datasets.make_friedman3), 500),
    "engel": survey("engel", lambda t: t["foodexp"], "foodexp"),
    "star98": survey(
        "star98",
        lambda t: t["NBELOW"] / (t["NBELOW"] + t["NABOVE"]),
        "NBELOW",
        "NABOVE",
    ),
    "doctor visits": survey("randhie", lambda t: np.log1p(t["mdvis"]), "mdvis"),
    "years married": survey(
        "fair", lambda t: t["yrs_married"], "yrs_married", "affairs"
    ),
    "sunspots": (sunspots, None),
}
FRESH_LABELS = {
    "affairs": labels_of(survey("fair", lambda t: t["affairs"] > 0, "affairs")),
    "votes": labels_of(survey("anes96", lambda t: t["vote"], "vote")),
    "party": labels_of(survey("anes96", lambda t: t["PID"] // 3, "PID", "vote")),
    "hastie": (hastie, 1000),
    "wide": (wide, 300),
    "rings": (rings, 600),
}


class Scores(NamedTuple):
    nats: float
    point: float
    """RMSE, or the share of classes that are wrong."""
    coverage: float
    seconds: float


def default(X, y, X_test, y_test, seed, classes, **settings):
    import likely as lk

    kind = lk.MLPClassifier if classes else lk.MLPRegressor
    model = kind(random_state=seed, **settings)
    model.fit(X, y)
    began = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - began
    nats = model.nll(X_test, y_test)
    if classes:
        return Scores(nats, 1 - model.score(X_test, y_test), np.nan, seconds)
    low, high = model.predict_interval(X_test, 0.9)
    inside = ((low <= y_test) & (y_test <= high)).mean()
    error = np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2))
    return Scores(nats, error, inside, seconds)


def to_the_end(*rows):
    return default(*rows, hidden_layer_sizes=(64,), early_stopping=False)


def peer(X, y, X_test, y_test, seed, classes):
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.preprocessing import StandardScaler

    began = time.process_time()
    scaler = StandardScaler().fit(X)
    kind = MLPClassifier if classes else MLPRegressor
    model = kind(random_state=seed).fit(scaler.transform(X), y)
    seconds = time.process_time() - began
    Z = scaler.transform(X_test)
    if classes:
        probs = np.clip(model.predict_proba(Z), 1e-15, 1)
        codes = np.searchsorted(model.classes_, y_test)
        nats = -np.log(probs[np.arange(len(codes)), codes]).mean()
        return Scores(nats, 1 - model.score(Z, y_test), np.nan, seconds)
    scale = np.std(y - model.predict(scaler.transform(X)))
    z = (y_test - model.predict(Z)) / scale
    nats = np.mean(0.5 * z**2) + np.log(scale) + HALF_LOG_2PI
    inside = np.mean(np.abs(z) < 1.6449)
    return Scores(nats, scale * np.sqrt(np.mean(z**2)), inside, seconds)


WAYS = {"default": default, "to the end": to_the_end, "scikit-learn": peer}


def worse(gaps):
    """p of "ours is not worse", by a paired t-test."""
    if np.allclose(gaps, gaps[0]):
        return float(gaps[0] <= 0)
    return float(stats.ttest_1samp(gaps, 0, alternative="greater").pvalue)


def compare_defaults(seeds, names, fresh=False) -> None:
    numbers, labels = (FRESH_NUMBERS, FRESH_LABELS) if fresh else (NUMBERS, LABELS)
    print(
        "| table | | nats | RMSE or errors | coverage | seconds |\n" + "|---" * 6 + "|"
    )
    found = {}
    for tables, classes in ((numbers, False), (labels, True)):
        for name, (make, n) in tables.items():
            if names and name not in names:
                continue
            scores = []
            for seed in range(seeds):
                X, y = make(seed)
                rows = (X[:n], y[:n], X[n:], y[n:]) if n else halves(X, y, seed)
                scores.append([way(*rows, seed, classes) for way in WAYS.values()])
            scores = np.array(scores)  # seed, way, score
            for way, mean in zip(WAYS, scores.mean(0), strict=True):
                covers = "" if classes else f"{mean[2]:.2f}"
                numbers = f"{mean[0]:.3f} | {mean[1]:.3f} | {covers} | {mean[3]:.2f}"
                print(f"| {name} | {way} | {numbers} |", flush=True)
            gaps = scores[:, 0] - scores[:, 2]
            error = gaps.std(0, ddof=1) / np.sqrt(seeds) if seeds > 1 else gaps[0] * 0
            for j, what in enumerate(("nats", "RMSE or errors")):
                print(f"<!-- {name}, {what}: ours less scikit-learn's "
                      f"{gaps[:, j].mean():+.4f} ± {error[j]:.4f}, "
                      f"p {worse(gaps[:, j]):.4f} -->", flush=True)  # fmt: skip
            for j, what in enumerate(("nats", "point")):
                found[name, what] = worse(gaps[:, j])
    for what in ("nats", "point"):
        of = sorted((p, name) for (name, score), p in found.items() if score == what)
        bad = [name for i, (p, name) in enumerate(of) if p < 0.05 / (len(of) - i)]
        print(f"worse than scikit-learn in {what}: {', '.join(bad) or 'nowhere'} "
              f"(smallest p {of[0][0]:.3f}, {of[0][1]})")  # fmt: skip


def compare_with_twin(seeds) -> None:
    began = time.perf_counter()
    for classes, tables in ((False, REGRESSION), (True, SIX)):
        for name, make in tables.items():
            pairs = []
            for seed in range(seeds):
                rows = halves(*make(seed), seed)
                pairs.append([f(*rows, seed, classes) for f in (ours, twin)])
            a, b = np.mean(pairs, axis=0)
            gaps = np.subtract(*np.transpose(pairs))
            error = gaps.std(ddof=1) / np.sqrt(seeds) if seeds > 1 else np.nan
            worse = gaps.mean() > max(2 * error, 0.01)
            print(
                f"{name:<16} ours {a:8.4f}  twin {b:8.4f}  difference {gaps.mean():+.4f} "
                f"± {error:.4f}{'  worse' if worse else ''}",
                flush=True,
            )
    print(f"{time.perf_counter() - began:.0f} s")


def main() -> None:
    arguments = sys.argv[1:]
    defaults = bool(arguments) and arguments[0] == "defaults"
    fresh = "--fresh" in arguments
    rest = [a for a in arguments[defaults:] if a != "--fresh"]
    seeds = int(rest[0]) if rest else 5
    if defaults:
        warnings.simplefilter("ignore")
        compare_defaults(seeds, rest[1:], fresh)
    else:
        compare_with_twin(seeds)


if __name__ == "__main__":
    main()
