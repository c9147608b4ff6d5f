"""Do conformal intervals and sets cover what they promise? Four tables each, 200 splits.

`python -m benchmarks.conformal [--table NAME ...] [--splits 200] [--time]` prints, for every method
and estimator, the mean coverage over random splits with its standard error, the width of intervals
or the size of sets, and whether the mean lies within 2.6 standard errors of the promise: between
1 − α and 1 − α + 1/(n + 1) where n rows are held out once, not below 1 − α where every fold or row
is held out in turn. Where the promise is made in every group of rows, or for the rows of every
class, each of them has a line of its own. A random split makes the rows of a fixed table
exchangeable, so the promise holds for the mean over splits exactly. Of a hundred promises that
are kept, a half or so looks broken by chance. `--time` compares leave-one-out as one program
with a loop of fits.

The tables are independent jobs: `--table diabetes petals` in one process, `--table alcohol
compactness` in another. The last line of each is JSON.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets, linear_model
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likely as lk

COVERAGE = 0.9
FIT_ROWS, NEW_ROWS = 40, 60
PART_FIT_ROWS = 80
"""Rows of the fit where coverage is promised for parts of them."""
MAX_ERRORS = 2.6
"""Standard errors that a mean may be away from the promise."""


class Found(NamedTuple):
    """The coverage of one method on one table."""

    table: str
    estimator: str
    method: str
    mean: float
    error: float
    size: float
    most: float
    """The most that is promised."""

    @property
    def kept(self) -> bool:
        """Whether the promise is kept, within its standard errors."""
        slack = MAX_ERRORS * self.error
        return COVERAGE - slack <= self.mean <= self.most + slack


class Method(NamedTuple):
    """A wrapped estimator of numbers or classes."""

    estimator: str
    method: str
    make: Callable[[int], Any]
    crossed: bool = False
    parts: str = ""
    """Where coverage is promised for parts of the rows: "group" or "class"."""


def _ours() -> Any:
    return lk.Ridge(1.0)


def _pipeline() -> Any:
    return make_pipeline(StandardScaler(), linear_model.Ridge())


def _mixed() -> Any:
    return make_pipeline(StandardScaler(), lk.Ridge(1.0))


def _quantiles() -> Any:
    quantile = linear_model.QuantileRegressor(alpha=0.01)
    return make_pipeline(StandardScaler(), quantile)


def _logistic() -> Any:
    return make_pipeline(
        StandardScaler(), linear_model.LogisticRegression(C=0.3, tol=1e-3)
    )


def regressors() -> list[Method]:
    """Every method around ours, around a pipeline of scikit-learn, and around both."""
    once, crossed = ("split",), ("cross", "jackknife+")
    own = ("scaled", "quantile")  # of estimators with a distribution
    found = [_regressor("likely", _ours, method) for method in once + crossed + own]
    found += [_regressor("pipeline", _pipeline, method) for method in once + crossed]
    found += [_regressor("mixed", _mixed, method) for method in own]
    found.append(_regressor("pipeline", _quantiles, "quantile"))
    for name, make in (("likely", _ours), ("pipeline", _pipeline)):
        found.append(_regressor(name, make, "split", "group"))
    return found


def _regressor(name: str, make: Callable, method: str, parts: str = "") -> Method:
    def wrapped(seed: int) -> Any:
        cv = 2 if parts else 3
        return lk.ConformalRegressor(make(), method=method, cv=cv, random_state=seed)

    return Method(name, method, wrapped, method in ("cross", "jackknife+"), parts)


def classifiers() -> list[Method]:
    """Both scores, split once, over all folds, by group and by class, around both."""
    found = []
    makes = {"likely": lk.GaussianNB, "pipeline": _logistic}
    for name, make in makes.items():
        for method in ("threshold", "adaptive"):
            for cross in (False, True):
                found.append(_classifier(name, make, method, cross=cross))
        for parts in ("group", "class"):
            found.append(_classifier(name, make, "threshold", parts))
    return found


def _classifier(
    name: str, make: Callable, method: str, parts: str = "", *, cross: bool = False
) -> Method:
    def wrapped(seed: int) -> Any:
        options = {
            "cross": cross,
            "by_class": parts == "class",
            "cv": 2 if parts else 3,
        }
        return lk.ConformalClassifier(
            make(), method=method, random_state=seed, **options
        )

    return Method(name, f"{method}{', all folds' * cross}", wrapped, cross, parts)


@cache
def tables() -> dict[str, tuple[np.ndarray, np.ndarray, bool]]:
    """Inputs, targets, and whether these are classes."""
    iris, wine = datasets.load_iris(), datasets.load_wine()
    cancer, diabetes = datasets.load_breast_cancer(), datasets.load_diabetes()
    digits = datasets.load_digits()
    few = cancer.data[:, [1, 4, 8, 9]]
    some = digits.target < 4
    blocks = digits.data[some].reshape(-1, 4, 2, 4, 2).mean((2, 4)).reshape(-1, 16)
    return {
        "diabetes": (diabetes.data * 20, diabetes.target, False),
        "petals": (iris.data[:, :3], iris.data[:, 3], False),
        "alcohol": (wine.data[:, 1:], wine.data[:, 0], False),
        "compactness": (few, cancer.data[:, 5], False),
        "iris": (iris.data, iris.target, True),
        "wine": (wine.data, wine.target, True),
        "breast cancer": (few, cancer.target, True),
        "digits": (blocks, digits.target[some], True),
    }


def coverage(table: str, method: Method, splits: int) -> list[Found]:
    """The mean coverage of new rows over random splits of a table, in each part of them."""
    X, y, classes = tables()[table]
    group = (X[:, 0] > np.median(X[:, 0])).astype(int)
    part = {"": np.zeros(len(y), int), "group": group, "class": y}[method.parts]
    rows = PART_FIT_ROWS if method.parts else FIT_ROWS
    found: dict[int, list] = {}
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(y))
        fit, new = order[:rows], order[rows : rows + NEW_ROWS]
        own = {"groups": group[fit]} if method.parts == "group" else {}
        model = method.make(split).fit(X[fit], y[fit], **own)
        own = {"groups": group[new]} if method.parts == "group" else {}
        inside, size = _covered(model, X[new], y[new], classes, own)
        for number in np.unique(part[new]).tolist():
            here = part[new] == number
            held_out = _held_out(model, method, number)
            most = 1.0 if method.crossed else COVERAGE + 1 / (held_out + 1)
            found.setdefault(number, []).append(
                (inside[here].mean(), size[here].mean(), most)
            )
    return [_summary(table, method, *one) for one in sorted(found.items())]


def _covered(
    model: Any, X: np.ndarray, y: np.ndarray, classes: bool, own: dict
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each new row is covered, and the size of its interval or set."""
    if not classes:
        low, high = model.predict_interval(X, COVERAGE, **own)
        return (low <= y) & (y <= high), (high - low) / y.std()
    sets = model.predict_set(X, COVERAGE, **own)
    codes = np.minimum(np.searchsorted(model.classes_, y), sets.shape[1] - 1)
    known = model.classes_[codes] == y
    return sets[np.arange(len(y)), codes] & known, sets.sum(1)


def _held_out(model: Any, method: Method, part: int) -> int:
    """The rows that were held out once, of a part."""
    if method.parts == "class":
        return int((model.classes_[model.score_classes_] == part).sum())
    if method.parts == "group":
        return int((model.group_labels_[model.score_groups_] == part).sum())
    return len(model.scores_)


def _summary(table: str, method: Method, part: int, found: list) -> Found:
    shares, sizes, most = np.array(found).T
    error = float(shares.std(ddof=1) / np.sqrt(len(shares)))
    name = f"{method.method}{f', {method.parts} {part}' * bool(method.parts)}"
    means = float(np.mean(sizes[np.isfinite(sizes)])), float(most.mean())
    return Found(table, method.estimator, name, float(shares.mean()), error, *means)


def timing(n: int = 300) -> None:
    """Leave-one-out of n rows: one program against n fits, in processor time."""
    from likely.selection.conformal import refits
    from likely.selection.refits import TableRows

    X, y, _ = tables()["diabetes"]
    rows = TableRows(X[:n], y[:n], np.ones(n))
    every = np.arange(n)
    splits = [(np.delete(every, i), every[i : i + 1]) for i in every]
    for name, make in {"ridge": lk.Ridge, "poisson": lk.PoissonRegressor}.items():
        spent = []
        for job in (refits._as_program, refits._one_by_one):
            best = np.inf
            for _ in range(3):
                start = time.process_time()
                means = job(make(), rows, splits)[1]
                best = min(best, time.process_time() - start)
            spent.append((best, means))
        (ours, a), (loop, b) = spent
        gap = np.abs(a - b).max()
        print(
            f"{name}: {n} fits, program {ours:.3f} s, loop {loop:.3f} s of processor, "
            f"{loop / ours:.1f}x; largest difference {gap:.1e}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", nargs="+", choices=list(tables()), metavar="NAME")
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.time:
        timing()
        return
    start, kept = time.process_time(), []
    for table in options.table or tables():
        for method in classifiers() if tables()[table][2] else regressors():
            for found in coverage(table, method, options.splits):
                kept.append(found.kept)
                print(
                    f"{table:14}{found.estimator:10}{found.method:24}{found.mean:.4f} ± "
                    f"{found.error:.4f}  size {found.size:8.3f}  "
                    f"{'kept' if found.kept else 'BROKEN'}",
                    flush=True,
                )
    spent = round(time.process_time() - start, 1)
    counts = {"promises": len(kept), "broken": kept.count(False)}
    print(json.dumps(counts | {"splits": options.splits, "processor seconds": spent}))


if __name__ == "__main__":
    main()
