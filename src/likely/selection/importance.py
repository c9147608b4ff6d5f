r"""Permutation importance: how much worse a model predicts without the values of a column.

Shuffling column j of held-out rows breaks its dependence on y and keeps its distribution. The
importance is the mean increase of the loss, $\frac1n\sum_i (l_i^{(j)} - l_i)$, averaged over
shuffles; its standard error is that of the mean over rows, so it measures what the finite
number of rows leaves open. Of two columns that hold the same information, neither is needed.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.base.features import Inputs
from likely.base.rows import weights_of
from likely.core.checks import InputError
from likely.evaluate import mean_score
from likely.selection.members import has_distribution

SPLIT = 4
"""The number of parts into which a group of columns is split."""


class Importance(NamedTuple):
    """The increase of the loss by each column, and its standard error."""

    mean: np.ndarray
    """(d,) mean increases over rows and shuffles."""
    error: np.ndarray
    """(d,) standard errors over rows."""
    shuffles: np.ndarray
    """(d, repeats) mean increases of each shuffle."""


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
        estimator: a fitted predictor. The loss is −log p(y | x) in nats if it has
            distributions; else the squared error, or for classes the error rate.
        X: (n, d) inputs of rows that it was not fitted to: an array, or a frame like that
            of the fit.
        y: (n,) their targets.
        repeats: shuffles of each column.
        sample_weight: how often each row counts.
        random_state: a seed for the shuffles.

    Examples:
        >>> table = lk.data.diabetes()
        >>> model = lk.Ridge(0.1).fit(table.X, table.y)
        >>> found = lk.permutation_importance(model, table.X, table.y)
        >>> table.names[int(found.mean.argmax())]
        'bmi'
    """
    y, w = np.asarray(y), weights_of(sample_weight, len(y))
    rows = Inputs(X, estimator, np.flatnonzero(w))
    y, w = y[w > 0], w[w > 0]
    n, d = rows.shape
    if n < 2:
        raise InputError("one row cannot be shuffled; give at least two.")
    increases = loss_increases(
        lambda table: _losses(estimator, table, y), rows.table, range(d),
        lambda _, j, order: rows.shuffled(j, order),
        repeats=repeats, random_state=random_state,
    )  # fmt: skip
    scores = [mean_score(rows, w) for rows in increases.mean(axis=1)]
    shuffles = np.average(increases, axis=2, weights=w)
    return Importance(
        shuffles.mean(axis=1), np.array([s.error for s in scores]), shuffles
    )


def most_important(
    increase: Callable[[tuple[int, ...]], Float[np.ndarray, " n"]],
    columns: int,
    limit: int,
) -> dict[int, Float[np.ndarray, " n"]]:
    """The increases of the losses of rows by each column, or by those that matter most.

    If shuffling every column takes more than `limit` evaluations, groups of neighbouring
    columns are shuffled together. Then the group that matters most is split, again and
    again, until the evaluations are spent; columns that are still in groups are left out.

    Args:
        increase: a function of a group of columns: the increase of each row's loss when
            they are shuffled together.
        columns: the number of columns.
        limit: the largest number of evaluations.
    """
    size = 1 if columns <= limit else -(-columns // max(limit // 4, SPLIT))
    waiting = [(j, min(j + size, columns)) for j in range(0, columns, size)]
    groups: dict[tuple[int, int], np.ndarray] = {}
    evaluations = 0
    while waiting:
        for first, end in waiting:
            groups[first, end] = increase(tuple(range(first, end)))
        evaluations += len(waiting)
        large = [g for g in groups if g[1] - g[0] > 1]
        if not large or evaluations + SPLIT > limit:
            break
        first, end = max(large, key=lambda g: (groups[g].mean(), -g[0]))
        del groups[first, end]
        size = -(-(end - first) // SPLIT)
        waiting = [(j, min(j + size, end)) for j in range(first, end, size)]
    single = {first: rows for (first, end), rows in groups.items() if end == first + 1}
    return dict(sorted(single.items()))


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
        losses: a function from rows to the loss of each.
        rows: an array or a table.
        columns: the columns to shuffle, one after another.
        shuffled: a function of (rows, column, order) that gives the rows with this
            column in another order.
        repeats: shuffles of each column.
        random_state: a seed, or several numbers that together are one.
    """
    before = losses(rows)
    n, seed = len(before), np.atleast_1d(random_state).tolist()
    increases = np.empty((len(columns), repeats, n))
    for j, column in enumerate(columns):
        for r in range(repeats):
            order = np.random.default_rng([*seed, j, r]).permutation(n)
            increases[j, r] = losses(shuffled(rows, column, order)) - before
    return increases


def _losses(estimator: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """The loss of each row."""
    if has_distribution(estimator):
        return -estimator.predict_dist(X).log_prob(y)
    predicted = estimator.predict(X)
    if hasattr(estimator, "classes_"):
        return (predicted != y).astype(np.float64)
    return (predicted - y) ** 2
