r"""Partial dependence: the mean prediction as one feature moves.

$\bar f_j(v) = \sum_i w_i\, f(x_i \text{ with } x_{ij} = v) / \sum_i w_i$: it is what the model
says, not what would happen in the world; where features depend on each other it asks the
model about rows that do not occur. The curves of single rows show what the mean hides.
"""

from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError, check_weights


class PartialDependence(NamedTuple):
    """The grid, the mean prediction, and that of each row."""

    grid: np.ndarray
    """(g,)."""
    mean: np.ndarray
    """(g,), or (g, c) probabilities of classes."""
    rows: np.ndarray
    """(n, g), or (n, g, c)."""


def partial_dependence(
    estimator: Any,
    X: Any,
    feature: int | np.integer,
    *,
    points: int = 50,
    grid: Any = None,
    sample_weight: Any = None,
) -> PartialDependence:
    """The mean prediction over a grid of values of one feature.

    Args:
        estimator: fitted.
        X: (n, d) rows to average over.
        feature: the column.
        points: length of the grid, from the 1st to the 99th percentile.
        grid: values to ask for instead.
        sample_weight: how often each row counts.
    """
    X = np.array(X, dtype=np.float64)
    n = len(X)
    w = check_weights(np.ones(n) if sample_weight is None else sample_weight, n)
    X, w = X[w > 0], w[w > 0]
    column = X[:, feature]
    known = column[np.isfinite(column)]
    if grid is None:
        if not len(known):
            raise InputError(f"column {feature} has no number; give a grid.")
        values = np.unique(known)
        if len(values) > points:
            low, high = np.quantile(known, [0.01, 0.99])
            values = np.linspace(low, high, points)
        grid = values
    grid = np.asarray(grid, dtype=np.float64)
    ask = getattr(estimator, "predict_proba", None) or estimator.predict
    rows = []
    for value in grid:
        X[:, feature] = value
        rows.append(ask(X))
    said = np.stack(rows, axis=1)
    return PartialDependence(grid, np.tensordot(w / w.sum(), said, 1), said)
