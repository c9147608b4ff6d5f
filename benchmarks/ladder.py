"""Is the best model of `likely fit` as good as the best peer, and do its intervals cover?

    python -m benchmarks.ladder scores [TABLE ...]
    python -m benchmarks.ladder coverage [TABLE ...] [--splits 10]

Ten tables. `scores`: on the same folds, with columns encoded in the same way, the held-out
log score of our best model against the best of scikit-learn's linear model, random forest,
histogram boosting (calibrated) and tuned network; "worse" is a mean paired difference of
more than two standard errors. Peers that predict numbers only get the scale (or the
dispersion of counts) that maximises the likelihood of held-out rows of inner folds.
`coverage`: how many rows of held-out thirds lie in the stated 90 % intervals and sets of
models saved by runs on the other two thirds.
"""

import argparse
import json
import time
import warnings

import numpy as np
import pyarrow as pa
from scipy import optimize, stats
from sklearn import calibration, ensemble, linear_model, model_selection, neural_network

from likely import workbench
from likely.workbench.ladder import Fold
from likely.workbench.table import prepare, read

BUNDLED = ("diabetes", "breast_cancer", "wine", "digits")


def friedman(rng, n=1000):
    X = rng.uniform(size=(n, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y = y + 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=n)
    return {**_named(X), "y": y}


def noisy(rng, n=1500):
    """The scale grows with the second column."""
    X = rng.normal(size=(n, 5))
    y = 2 * X[:, 0] + np.exp(0.7 * X[:, 1]) * rng.normal(size=n)
    return {**_named(X), "y": y}


def houses(rng, n=900):
    """A positive target, categories, missing values."""
    area, age = rng.uniform(40, 250, n), rng.integers(0, 90, n)
    town = rng.choice(["Bern", "Basel", "Chur", "Genf", "Sion"], n)
    worth = dict(
        zip(["Bern", "Basel", "Chur", "Genf", "Sion"], rng.normal(size=5), strict=True)
    )
    log_price = 5 + 0.9 * np.log(area) - 0.004 * age + [0.3 * worth[t] for t in town]
    price = np.exp(log_price + 0.25 * rng.normal(size=n))
    return {
        "area": pa.array(area, mask=rng.random(n) < 0.1),
        "age": age,
        "town": pa.array(town, mask=rng.random(n) < 0.05),
        "noise": rng.normal(size=n),
        "price": price,
    }


def visits(rng, n=1200):
    """Poisson counts with a non-linear rate."""
    X = rng.normal(size=(n, 5))
    rate = np.exp(0.8 + 0.5 * X[:, 0] - 0.3 * X[:, 1] ** 2 + 0.3 * X[:, 2] * X[:, 3])
    return {**_named(X), "visits": rng.poisson(rate)}


def claims(rng, n=1200):
    """Overdispersed counts."""
    X = rng.normal(size=(n, 4))
    kind = rng.choice(list("abcd"), n)
    log_rate = 1.5 + 0.6 * X[:, 0] + 0.4 * (kind == "b") - 0.5 * (X[:, 1] > 0)
    rate = np.exp(log_rate) * rng.gamma(2.0, 0.5, n)
    return {**_named(X), "kind": kind, "claims": rng.poisson(rate)}


def churn(rng, n=1500):
    """Two classes, categories, missing values."""
    X = rng.normal(size=(n, 8))
    plan = rng.choice(["free", "basic", "gold"], n, p=[0.5, 0.3, 0.2])
    eta = X[:, 0] + X[:, 1] * X[:, 2] - 1.5 * (plan == "gold") + 0.7 * X[:, 3] ** 2 - 1
    left = rng.random(n) < 1 / (1 + np.exp(-eta))
    columns = {k: pa.array(v, mask=rng.random(n) < 0.05) for k, v in _named(X).items()}
    return {**columns, "plan": plan, "left": np.where(left, "yes", "no")}


SYNTHETIC = {f.__name__: f for f in (friedman, noisy, houses, visits, claims, churn)}
TABLES = (*BUNDLED, *SYNTHETIC)


def _named(X: np.ndarray) -> dict:
    return {f"x{j}": X[:, j] for j in range(X.shape[1])}


def table_of(name: str) -> pa.Table:
    if name in BUNDLED:
        return read(name)[1]
    return pa.table(SYNTHETIC[name](np.random.default_rng(7)))


# Peers ----------------------------------------------------------------------------------


def class_peers():
    forest = ensemble.RandomForestClassifier(300, min_samples_leaf=2, random_state=0)
    boosting = ensemble.HistGradientBoostingClassifier(random_state=0)
    network = neural_network.MLPClassifier(
        (64,), early_stopping=True, max_iter=300, random_state=0
    )
    yield "linear", "scaled", linear_model.LogisticRegression(max_iter=2000)
    yield "forest", "ordinal", _calibrated(forest)
    yield "boosting", "ordinal", _calibrated(boosting)
    yield "network", "scaled", _tuned(network)


def number_peers(count: bool):
    linear = (
        linear_model.PoissonRegressor(max_iter=2000)
        if count
        else linear_model.RidgeCV()
    )
    loss = "poisson" if count else "squared_error"
    boosting = ensemble.HistGradientBoostingRegressor(loss=loss, random_state=0)
    network = neural_network.MLPRegressor(
        hidden_layer_sizes=(64,), early_stopping=True, max_iter=300, random_state=0
    )
    forest = ensemble.RandomForestRegressor(300, min_samples_leaf=2, random_state=0)
    yield "linear", "scaled", linear
    yield "forest", "ordinal", forest
    yield "boosting", "ordinal", boosting
    yield "network", "scaled", _tuned(network)


def _calibrated(model):
    return calibration.CalibratedClassifierCV(model, cv=3, ensemble=False)


def _tuned(network):
    grid = {"alpha": [1e-4, 1e-1], "learning_rate_init": [1e-3, 1e-2]}
    return model_selection.GridSearchCV(network, grid, cv=3)


def losses(model, target, train, test) -> np.ndarray:
    """−log p of the held-out rows of a fold."""
    (X, y), (X_new, y_new) = train, test
    if target.is_class:
        p = np.clip(model.fit(X, y.astype(int)).predict_proba(X_new), 1e-9, None)
        column = np.searchsorted(model.classes_, y_new.astype(int))
        return -np.log(p[np.arange(len(p)), column] / p.sum(1))
    positive = target.kind == "positive"
    z, z_new = (np.log(y), np.log(y_new)) if positive else (y, y_new)
    inner = model_selection.cross_val_predict(model, X, z, cv=5)
    predicted = model.fit(X, z).predict(X_new)
    if target.kind == "count":
        return _count_losses(inner, z, predicted, z_new)
    scale = np.sqrt(np.mean((inner - z) ** 2))
    return -stats.norm(predicted, scale).logpdf(z_new) + (z_new if positive else 0.0)


def _count_losses(inner, y, predicted, y_new) -> np.ndarray:
    """A negative binomial around means that are kept above a twentieth of the mean."""
    minimum = 0.05 * y.mean()

    def nll(log_r, mean, y):
        r, mean = np.exp(log_r), np.maximum(mean, minimum)
        return -stats.nbinom(r, r / (r + mean)).logpmf(y)

    found = optimize.minimize_scalar(
        lambda log_r: nll(log_r, inner, y).mean(), bounds=(-4, 12), method="bounded"
    )
    return nll(found.x, predicted, y_new)


# Scores and coverage ----------------------------------------------------------------------


def scores(name: str, effort: str) -> dict:
    frame, start = table_of(name), time.perf_counter()
    result = workbench.run(frame, effort=effort)
    ours_s = time.perf_counter() - start
    table, winner = result.table, result.report.winner
    ours = result.held_out[winner.name]
    target, k = table.target, len(table.folds.train)
    found = {}
    peers = class_peers() if target.is_class else number_peers(target.kind == "count")
    start = time.perf_counter()
    for peer, encoding, model in peers:
        loss = np.full(len(table), np.nan)
        for number in range(k):
            fold = Fold(table, number)
            X, X_new = fold.encoded(encoding)
            train, test = (X, table.y[fold.train]), (X_new, table.y[fold.test])
            loss[fold.test] = losses(model, target, train, test)
        found[peer] = loss
    means = {peer: float(loss.mean()) for peer, loss in found.items()}
    best = min(means, key=lambda peer: means[peer])
    gap = ours.loss - found[best][ours.rows]
    error = gap.std(ddof=1) / np.sqrt(len(gap))
    return {
        "table": name, "rows": len(table), "winner": winner.name,
        "nats": winner.nats, "best_peer": best, "peers": means,
        "difference": float(gap.mean()), "error": float(error),
        "verdict": "worse" if gap.mean() > 2 * error
        else "better" if gap.mean() < -2 * error else "equal",
        "ours_s": ours_s, "peers_s": time.perf_counter() - start,
        "ladder": {row.name: row.nats for row in result.report.ladder},
    }  # fmt: skip


def coverage(name: str, effort: str, splits: int) -> dict:
    frame = table_of(name)
    spec = workbench.Spec(data="frame")
    y_name = frame.column_names[-1]
    whole = prepare(spec, name, frame, ())
    covered, sizes = [], []
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(frame))
        cut = 2 * len(order) // 3
        model = workbench.run(frame.take(order[:cut]), effort=effort, seed=split).model
        new = frame.take(order[cut:])
        y = whole.y[np.searchsorted(whole.rows, order[cut:])]
        if model.target.is_class:
            labels = [
                model.target.classes.index(whole.target.classes[int(c)]) for c in y
            ]
            sets = model.predict_set(new.drop_columns([y_name]))
            inside, size = sets[np.arange(len(y)), labels], sets.sum(1)
        else:
            low, high = model.predict_interval(new.drop_columns([y_name]))
            inside, size = (low <= y) & (y <= high), high - low
        covered.append(inside.mean())
        sizes.append(size.mean())
    return {
        "table": name, "splits": splits, "coverage": float(np.mean(covered)),
        "error": float(np.std(covered, ddof=1) / np.sqrt(splits)),
        "size": float(np.mean(sizes)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("scores", "coverage"))
    parser.add_argument("tables", nargs="*", default=None)
    parser.add_argument("--effort", default=None)
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.tables or TABLES:
        if options.what == "scores":
            row = scores(name, options.effort or "normal")
        else:
            row = coverage(name, options.effort or "quick", options.splits)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
