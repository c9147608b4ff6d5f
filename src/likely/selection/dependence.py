r"""Partial dependence: the mean prediction as one feature changes.

$\bar f_j(v) = \sum_i w_i\, f(x_i \text{ with } x_{ij} = v) / \sum_i w_i$ describes the model, not
what would happen in the world; where features depend on each other it averages predictions
for rows that do not occur. The curves of single rows show what the mean hides.
"""

from typing import Any, NamedTuple

import numpy as np

from likely.base.features import Inputs
from likely.base.rows import weights_of
from likely.core.checks import InputError


class PartialDependence(NamedTuple):
    """The mean prediction, and that of each row, over a grid of values."""

    grid: np.ndarray
    """(g,) values of the feature."""
    mean: np.ndarray
    """(g,) mean predictions, or (g, c) mean probabilities of classes."""
    rows: np.ndarray
    """(n, g) predictions for each row, or (n, g, c) probabilities."""


def partial_dependence(
    estimator: Any,
    X: Any,
    feature: int | np.integer | str,
    *,
    points: int = 50,
    grid: Any = None,
    sample_weight: Any = None,
) -> PartialDependence:
    """The mean prediction over a grid of values of one feature.

    Args:
        estimator: a fitted predictor.
        X: (n, d) rows to average over: an array, or a frame like that of the fit.
        feature: the number of the column, or its name.
        points: the length of the grid, from the 1st to the 99th percentile; the grid of
            a column of words is all that occur.
        grid: the values to use instead.
        sample_weight: how often each row counts.

    Examples:
        >>> table = lk.data.diabetes()
        >>> model = lk.Ridge(0.1).fit(table.X, table.y)
        >>> lk.partial_dependence(model, table.X, 2, points=5).mean.shape
        (5,)
    """
    w = weights_of(sample_weight, len(X))
    rows = Inputs(X, estimator, np.flatnonzero(w))
    j, w = rows.number(feature), w[w > 0]
    grid = _grid(rows.values(j), points, feature) if grid is None else np.asarray(grid)
    predict = getattr(estimator, "predict_proba", None) or estimator.predict
    predictions = np.stack([predict(rows.replaced(j, v)) for v in grid], axis=1)
    mean = np.tensordot(w / w.sum(), predictions, 1)
    return PartialDependence(grid, mean, predictions)


def _grid(values: np.ndarray, points: int, feature: Any) -> np.ndarray:
    """The values that occur, or where they are many numbers, a grid between them."""
    if values.dtype == object:
        return np.array(sorted({v for v in values if v is not None and v == v}))
    known = values[np.isfinite(values)]
    if not len(known):
        raise InputError(f"column {feature!r} has no number; give a grid.")
    grid = np.unique(known)
    if len(grid) > points:
        low, high = np.quantile(known, [0.01, 0.99])
        grid = np.linspace(low, high, points)
    return grid
