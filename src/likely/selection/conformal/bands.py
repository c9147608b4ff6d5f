"""The band that a model predicts around y, by which rows are scored and intervals made.

split     the point ŷ, and |y − ŷ|
scaled    the model's own median and interval, and the distance of y in its units
quantile  two quantiles, and how far y lies outside of them
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.evaluate.conformal import (
    band_scores,
    interval_scores,
    stretched,
    widened,
)
from likely.selection.members import has_distribution, last_step, split_last

MODEL_COVERAGE = 0.9
"""The coverage of the model's own intervals by which the method "scaled" measures."""
Ends = tuple[np.ndarray, np.ndarray]


def _point_scores(y: Any, mean: Any) -> np.ndarray:
    return np.abs(np.asarray(y, np.float64) - mean)


def _around(mean: Any, q: Any) -> Ends:
    return mean - q, mean + q


class Shape(NamedTuple):
    """How rows are scored by a band, and which interval belongs to a score."""

    scores: Callable[..., np.ndarray]
    interval: Callable[..., Ends]


SHAPES = {
    "split": Shape(_point_scores, _around),
    "scaled": Shape(interval_scores, stretched),
    "quantile": Shape(band_scores, widened),
}


def point_band(model: Any, X: Any) -> tuple[np.ndarray]:
    """The predicted number of each row."""
    return (np.asarray(model.predict(X), np.float64),)


def own_band(dist: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The median of a distribution, between the ends of its interval."""
    low, high = dist.interval(MODEL_COVERAGE)
    return low, dist.quantile(0.5), high


def dist_of(model: Any, X: Any, method: str) -> Any:
    """The distribution that a fitted regressor, or pipeline, predicts."""
    last, inputs = split_last(model, X)
    if not has_distribution(last):
        raise InputError(
            f'{type(last).__name__} has no predict_dist, which method="{method}" needs; '
            'use method="split", or an estimator of quantiles with method="quantile".'
        )
    return last.predict_dist(inputs)


def level_parameter(estimator: Any) -> str | None:
    """The parameter that is the level of an estimator of one quantile; None for others."""
    last = last_step(estimator)
    own = last.get_params(deep=False)
    is_quantile = own.get("loss", "quantile") == "quantile"
    name = "quantile" if "quantile" in own else "alpha" if "loss" in own else None
    if name is None or name not in own or not is_quantile:
        return None
    for path, value in estimator.get_params().items():
        if value is last:
            return f"{path}__{name}"
    return name
