"""Are our trees as good as the peers'? Ten seeds, paired, on tables big and small.

`python -m benchmarks.tree_accuracy [forest | boosting | ngboost] [seeds] [TABLE ...]` prints,
for each table, the mean difference of the test loss (ours less the peer's, nats for NLL) and its
standard error over seeds. "worse" is a mean of more than two standard errors above 0.
Settings are matched: the same number of trees, leaves, rate, least leaf.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn import datasets
from sklearn.base import clone

HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)


def friedman(seed):
    X, y = datasets.make_friedman1(1500, 10, noise=1.0, random_state=seed)
    return X, y


def noisy_line(seed):
    """The scale grows with the second column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 5))
    y = 2 * X[:, 0] + np.exp(0.7 * X[:, 1]) * rng.normal(size=1500)
    return X, y


def steps(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(1500, 6))
    y = 3.0 * (X[:, 0] > 0) * (X[:, 1] > 0) + X[:, 2]
    return X, y + (0.2 + 0.8 * (X[:, 3] > 0)) * rng.normal(size=1500)


def waves(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(1000, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1]
    return X, y + 0.1 * (1 + np.abs(X[:, 2])) * rng.normal(size=1000)


def diabetes(seed):
    return datasets.load_diabetes(return_X_y=True)


def products(seed):
    X, y = datasets.make_friedman3(1500, noise=0.1, random_state=seed)
    return X, y


def cancer(seed):
    return datasets.load_breast_cancer(return_X_y=True)


def wine(seed):
    return datasets.load_wine(return_X_y=True)


def digits(seed):
    return datasets.load_digits(return_X_y=True)


def clusters(seed):
    return datasets.make_classification(
        1500, 12, n_informative=6, flip_y=0.05, random_state=seed
    )


def three_clusters(seed):
    return datasets.make_classification(
        1500, 12, n_informative=6, n_classes=3, flip_y=0.05, random_state=seed
    )


REGRESSION = {
    "friedman1": friedman,
    "friedman3": products,
    "diabetes": diabetes,
    "steps": steps,
    "noisy line": noisy_line,
    "waves": waves,
}
CLASSES = {
    "cancer": cancer,
    "digits": digits,
    "clusters": clusters,
    "three clusters": three_clusters,
}
EIGHT = {
    **{name: (make, False) for name, make in list(REGRESSION.items())[:4]},
    **{name: (make, True) for name, make in CLASSES.items()},
}
"""Tables -> whether y is a class."""


def halves(make: Callable, seed: int):
    X, y = make(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y, cut = X[order], y[order], 2 * len(y) // 3
    return X[:cut], y[:cut], X[cut:], y[cut:]


def normal_nll(y, mean, scale):
    return float(
        np.mean(0.5 * ((y - mean) / scale) ** 2 + np.log(scale) + HALF_LOG_2PI)
    )


def judged(model, classes, X, y, X_new, y_new) -> tuple[float, float]:
    """Error (rate, or root of squares over spread) and NLL on new rows.

    A regressor that gives no distribution gets a normal whose scale is that of the
    residuals which a fit on two thirds of the training rows leaves on the others;
    frequencies of 0 count as 1e-6 on both sides.
    """
    if classes:
        p = np.clip(model.predict_proba(X_new), 1e-6, None)
        p /= p.sum(axis=1, keepdims=True)
        place = np.searchsorted(model.classes_, y_new)
        nll = -np.log(p[np.arange(len(y_new)), place]).mean()
        return float(np.mean(model.predict(X_new) != y_new)), float(nll)
    mean = model.predict(X_new)
    error = np.sqrt(np.mean((mean - y_new) ** 2)) / y_new.std()
    if hasattr(model, "nll"):
        return float(error), model.nll(X_new, y_new)
    cut = 2 * len(y) // 3
    part = clone(model).fit(X[:cut], y[:cut])
    scale = np.sqrt(np.mean((y[cut:] - part.predict(X[cut:])) ** 2))
    return float(error), normal_nll(y_new, mean, scale)


def pairs(kind: str, classes: bool, seed: int):
    import lightgbm
    from sklearn import ensemble

    import likely as lk

    if kind == "forest":
        ours = lk.RandomForestClassifier if classes else lk.RandomForestRegressor
        name = "RandomForestClassifier" if classes else "RandomForestRegressor"
        yield (
            "scikit-learn",
            ours(random_state=seed),
            getattr(ensemble, name)(random_state=seed, n_jobs=1),
        )
        return
    ours = lk.GradientBoostingClassifier if classes else lk.GradientBoostingRegressor
    name = "Classifier" if classes else "Regressor"
    hist = getattr(ensemble, f"HistGradientBoosting{name}")(early_stopping=False)
    yield "scikit-learn", ours(random_state=seed), hist
    light = getattr(lightgbm, f"LGBM{name}")(verbose=-1, n_jobs=1)
    yield "LightGBM", ours(random_state=seed), light


def verdict(label: str, differences: np.ndarray) -> str:
    mean = differences.mean()
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    word = (
        "worse"
        if mean > 2 * error + 1e-12
        else "better"
        if mean < -2 * error
        else "equal"
    )
    return f"{label} {mean:+.4f} ± {error:.4f} {word}"


def matched(kind: str, seeds: int, tables: list[str]) -> None:
    for table, (make, classes) in EIGHT.items():
        if tables and table not in tables:
            continue
        found: dict[str, list] = {}
        for seed in range(seeds):
            X, y, X_new, y_new = halves(make, seed)
            for peer, mine, theirs in pairs(kind, classes, seed):
                a = judged(mine.fit(X, y), classes, X, y, X_new, y_new)
                b = judged(theirs.fit(X, y), classes, X, y, X_new, y_new)
                found.setdefault(peer, []).append(np.subtract(a, b))
        for peer, rows in found.items():
            error, nll = np.array(rows).T
            print(
                f"{kind:9} {table:15} {peer:13}",
                verdict("error", error),
                "|",
                verdict("nll", nll),
                flush=True,
            )


def ngboost(seeds: int, tables: list[str]) -> None:
    """Mean and scale boosted, each with the settings its documentation begins with."""
    from ngboost import NGBRegressor

    import likely as lk
    from likely import families

    for table, make in REGRESSION.items():
        if tables and table not in tables:
            continue
        nll, seconds = [], []
        for seed in range(seeds):
            X, y, X_new, y_new = halves(make, seed)
            start = time.perf_counter()
            ours = lk.GradientBoostingRegressor(
                families.Normal(),
                early_stopping=True,
                n_estimators=500,
                learning_rate=0.05,
                max_leaf_nodes=8,
                random_state=seed,
            ).fit(X, y)
            middle = time.perf_counter()
            peer = NGBRegressor(verbose=False, random_state=seed).fit(X, y)
            seconds.append((middle - start, time.perf_counter() - middle))
            dist = peer.pred_dist(X_new)
            theirs = normal_nll(y_new, dist.params["loc"], dist.params["scale"])
            nll.append(ours.nll(X_new, y_new) - theirs)
        ours_s, peer_s = np.median(seconds, axis=0)
        print(
            f"ngboost   {table:15}",
            verdict("nll", np.array(nll)),
            f"| {peer_s / ours_s:.1f}x faster ({ours_s:.2f} s)",
            flush=True,
        )


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    every = ("forest", "boosting", "ngboost")
    words = [a for a in sys.argv[1:] if not a.isdigit()]
    n_seeds = next((int(a) for a in sys.argv[1:] if a.isdigit()), 10)
    named = [word for word in words if word not in every]
    for kind in [word for word in words if word in every] or every:
        if kind == "ngboost":
            ngboost(n_seeds, named)
        else:
            matched(kind, n_seeds, named)
