r"""Permutation importance: how much worse a model does without what a column says.

Shuffling column j of held-out rows breaks its tie with y and keeps its distribution. The
importance is the mean increase of the loss, $\frac1n\sum_i (l_i^{(j)} - l_i)$, averaged over
shuffles; its standard error is that of the mean over rows, so it says how far the finite
number of rows can be trusted. Of two columns that say the same thing, neither is needed.
"""

from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError, check_weights


class Importance(NamedTuple):
    """Increase of the loss, its standard error, and the mean of each shuffle."""

    mean: np.ndarray
    """(d,)."""
    error: np.ndarray
    """(d,) standard errors over rows."""
    shuffles: np.ndarray
    """(d, repeats)."""


def permutation_importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    repeats: int = 5,
    sample_weight: Any = None,
    random_state: int = 0,
) -> Importance:
    """The increase of the loss when each column is shuffled.

    Args:
        estimator: fitted. The loss is −log p(y | x) in nats if it has `predict_dist`;
            else the squared error, or for classes the error rate.
        X: (n, d) rows it has not seen.
        y: (n,) their targets.
        repeats: shuffles of each column.
        sample_weight: how often each row counts.
        random_state: a seed for the shuffles.
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    n, d = X.shape
    if n < 2:
        raise InputError("one row cannot be shuffled; give at least two.")
    w = check_weights(np.ones(n) if sample_weight is None else sample_weight, n)
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    before = _losses(estimator, X, y)
    shuffles, rows = np.zeros((d, repeats)), np.zeros((d, len(y)))
    for j in range(d):
        for r in range(repeats):
            order = np.random.default_rng([random_state, j, r]).permutation(len(y))
            shuffled = X.copy()
            shuffled[:, j] = X[order, j]
            more = _losses(estimator, shuffled, y) - before
            shuffles[j, r] = np.average(more, weights=w)
            rows[j] += more / repeats
    mean = shuffles.mean(axis=1)
    share = w / w.sum()
    error = np.sqrt(((rows - mean[:, None]) ** 2) @ share**2)
    return Importance(mean, error, shuffles)


def _losses(estimator: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The loss of each row."""
    if hasattr(estimator, "predict_dist"):
        return -estimator.predict_dist(X).log_prob(y)
    said = estimator.predict(X)
    if hasattr(estimator, "classes_"):
        return (said != y).astype(np.float64)
    return (said - y) ** 2
