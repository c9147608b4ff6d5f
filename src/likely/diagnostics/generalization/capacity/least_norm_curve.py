"""The errors of least-norm least squares by the number of features, over repeated draws."""

from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.core.threads import one_thread, thread_map
from likely.diagnostics.generalization.capacity.curve import CapacityCurve
from likely.diagnostics.generalization.capacity.features import FEATURES, GENERATORS
from likely.diagnostics.generalization.capacity.least_norm import least_norm
from likely.diagnostics.generalization.refits.truth import (
    Generator,
    draw,
    squared_target,
    truth_at,
)

ZERO = 1e-8
"""The share of the variance of y below which a training error counts as zero."""
MAX_RATIO = {"random features": 10, "polynomial": 20, "columns": 4}
"""The largest number of features, in multiples of the rows."""
ROWS, POLYNOMIAL_ROWS = 100, 12


class Design(NamedTuple):
    """The training sets and new rows of an experiment; None for what its model decides."""

    generator: Generator | None
    n: int | None
    repeats: int
    test: int
    tolerance: float | None
    rng: np.random.Generator


class Errors(NamedTuple):
    """Of one training set: errors by capacity, the noise, the variance of y."""

    train: np.ndarray
    test: np.ndarray
    noise: float
    variance: float


def least_norm_curve(model: str, sizes: Any, design: Design) -> CapacityCurve:
    """The training and test errors of least norm on the first p features, by p.

    Args:
        model: a name of `FEATURES`.
        sizes: the numbers of features, or None.
        design: the training sets and new rows.
    """
    source = design.generator or GENERATORS[model]
    n = design.n or (POLYNOMIAL_ROWS if model == "polynomial" else ROWS)
    p = feature_sizes(n, MAX_RATIO[model] * n) if sizes is None else given_sizes(sizes)

    def errors(rng: np.random.Generator) -> Errors:
        rows, new = draw(source, n, rng), draw(source, design.test, rng)
        X = np.concatenate([rows.X, new.X]).astype(np.float64)
        A = FEATURES[model](X, int(p[-1]), rng)
        y, truth = np.asarray(rows.y, np.float64), truth_at(new.truth, new.X)
        target, noise = squared_target(truth, new.y)
        train, test = np.array([_errors(A[:, :k], y, target) for k in p]).T
        known = np.nan if noise is None else noise
        return Errors(train, test + (noise or 0.0), known, float(y.var()))

    with one_thread():
        found = thread_map(errors, design.rng.spawn(design.repeats))
    noise = float(np.mean([each.noise for each in found]))
    share = ZERO if design.tolerance is None else design.tolerance
    return CapacityCurve(
        f"{model}, least norm",
        "p",
        p.astype(float),
        (),
        n,
        np.array([each.train for each in found]),
        np.array([each.test for each in found]),
        None if np.isnan(noise) else noise,
        share * float(np.mean([each.variance for each in found])),
        "squared",
    )


def feature_sizes(n: int, most: int) -> np.ndarray:
    """Numbers of features in equal ratios, and more of them around n."""
    near = n + np.array([-4, -2, -1, 0, 1, 2, 4])
    spread = np.geomspace(2, most, 24).round()
    sizes = np.unique(np.concatenate([spread, near]).astype(int))
    return sizes[(sizes >= 1) & (sizes <= most)]


def given_sizes(sizes: Any) -> np.ndarray:
    """Numbers of features that the user gave, rising."""
    p = np.unique(np.asarray(list(sizes), int))
    if not p.size or p[0] < 1:
        raise InputError(f"sizes is {sizes!r}; give numbers of features from 1 on.")
    return p


def _errors(A: np.ndarray, y: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """Mean squared errors on the training rows, which come first, and at new points."""
    n = len(y)
    fitted = A @ least_norm(A[:n], y)
    train, test = fitted[:n] - y, fitted[n:] - target
    return float(np.mean(train**2)), float(np.mean(test**2))
