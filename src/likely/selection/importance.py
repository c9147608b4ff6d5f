r"""Permutation importance: how much worse a model does without what a column says.

Shuffling column j of held-out rows breaks its tie with y and keeps its distribution. The
importance is the mean increase of the loss, $\frac1n\sum_i (l_i^{(j)} - l_i)$, averaged over
shuffles; its standard error is that of the mean over rows, so it says how far the finite
number of rows can be trusted. Of two columns that say the same thing, neither is needed.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError, check_weights
from likely.evaluate import mean_score


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
    more = loss_increases(
        lambda rows: _losses(estimator, rows, y), X, range(d), _shuffled,
        repeats=repeats, random_state=random_state,
    )  # fmt: skip
    scores = [mean_score(rows, w) for rows in more.mean(axis=1)]
    shuffles = np.average(more, axis=2, weights=w)
    return Importance(
        shuffles.mean(axis=1), np.array([s.error for s in scores]), shuffles
    )


def loss_increases(
    losses: Callable[[Any], np.ndarray],
    rows: Any,
    columns: Sequence[Any],
    shuffled: Callable[[Any, Any, np.ndarray], Any],
    *,
    repeats: int = 5,
    random_state: Any = 0,
) -> Float[np.ndarray, "d r n"]:
    """How much the loss of each row grows when a column is shuffled.

    Args:
        losses: gives the loss of each row, of rows such as these.
        rows: an array or a table.
        columns: which to shuffle, one after another.
        shuffled: (rows, column, order) → the rows, this column in another order.
        repeats: shuffles of each column.
        random_state: a seed, or several numbers that together are one.
    """
    before = losses(rows)
    n, seed = len(before), np.atleast_1d(random_state).tolist()
    found = np.empty((len(columns), repeats, n))
    for j, column in enumerate(columns):
        for r in range(repeats):
            order = np.random.default_rng([*seed, j, r]).permutation(n)
            found[j, r] = losses(shuffled(rows, column, order)) - before
    return found


def _shuffled(X: np.ndarray, j: int, order: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[:, j] = X[order, j]
    return X


def _losses(estimator: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The loss of each row."""
    if hasattr(estimator, "predict_dist"):
        return -estimator.predict_dist(X).log_prob(y)
    said = estimator.predict(X)
    if hasattr(estimator, "classes_"):
        return (said != y).astype(np.float64)
    return (said - y) ** 2
