"""A regressor on a log scale whose means stay near the targets that it has seen."""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from likely.base.predictor import Predictor
from likely.base.settings import above_zero
from likely.core.checks import InputError
from likely.estimators.wrappers.columns import copy_column_names
from likely.families import Exponentiated, within

MAX_ROWS_FOR_RATIO = 20_000
"""The most rows by which the means of logarithms are brought in line."""


class BoundedTarget(MetaEstimatorMixin, RegressorMixin, Predictor):
    """A regressor of counts or positive numbers that does not extrapolate without bound.

    A log-linear model multiplies: one outlying cell can make a mean of 10⁴¹. Here the mean
    of each row (the median, where the logarithm has a distribution) is at most `factor`
    times the largest target of the fit, and at least the smallest positive one over the
    factor; where zeros were seen also over the number of rows, for a mean may be as small
    as one event among all rows. Distributions that are not on a log scale stay as they are.

    Args:
        regressor: any regressor of numbers from zero on, with `predict_dist`.
        factor: how far beyond the targets a mean may lie.

    Attributes:
        regressor_: the fitted regressor.
        low_: the least mean.
        high_: the largest mean.
        ratio_: what `predict` multiplies means with, where the logarithm has a
            distribution: the means of the rows of the fit add up to their targets.

    Examples:
        >>> X, y = np.arange(10.0)[:, None], 1.0 + np.arange(10)
        >>> model = lk.BoundedTarget(lk.PoissonRegressor()).fit(X, y)
        >>> bool(model.predict([[1000.0]])[0] <= 2 * y.max())
        True
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, regressor: Any, *, factor: float = 2.0):
        self.regressor = regressor
        self.factor = factor

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "BoundedTarget":
        """Fit the regressor, and note the range of y.

        Args:
            X: (n, d) inputs, as the regressor takes them.
            y: (n,) numbers of at least 0.
            sample_weight: how often each row counts.
        """
        if not hasattr(self.regressor, "predict_dist"):
            raise InputError(
                f"{type(self.regressor).__name__} has no predict_dist; give a regressor "
                "that predicts distributions."
            )
        factor = above_zero("factor", self.factor)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        fresh: Any = clone(self.regressor)
        self.regressor_ = fresh.fit(X, y, **weights)
        copy_column_names(self, self.regressor_)
        y = column_or_1d(y).astype(np.float64)
        w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        seen, total = y[w > 0], float(w[w > 0].sum())
        above = seen[seen > 0]
        rows = total if len(above) < len(seen) else 1.0
        self.low_ = float(above.min() / (factor * rows)) if len(above) else 1 / total
        self.high_ = float(factor * above.max()) if len(above) else 1.0
        self.ratio_ = self._smearing(X, y, w)
        return self

    def _smearing(self, X: Any, y: np.ndarray, w: np.ndarray) -> float:
        """What means of e to a predicted number are multiplied with, to add up to y.

        E[e^z] hangs on the tail of z, which is the part of it that is known least. So the
        means of the rows of the fit get the right sum (Duan's smearing), and not the
        one that a normal z would give them.
        """
        rows = np.flatnonzero(w > 0)
        step = max(1, len(rows) // MAX_ROWS_FOR_RATIO)
        rows = rows[::step]
        found = self._plug_in(X if len(rows) == len(y) else _safe_indexing(X, rows))
        if not isinstance(found, Exponentiated):
            return 1.0
        total = float(w[rows] @ np.minimum(found.mean, self.high_))
        return float(w[rows] @ y[rows]) / total if 0 < total < np.inf else 1.0

    def predict_dist(self, X: Any) -> Any:
        """p(y | x) for each row."""
        check_is_fitted(self)
        return within(self.regressor_.predict_dist(X), self.low_, self.high_)

    def _plug_in(self, X: Any, **known: Any) -> Any:
        """p(y | x) at the fitted parameters."""
        check_is_fitted(self)
        own = isinstance(self.regressor_, Predictor)
        found = (self.regressor_._plug_in if own else self.regressor_.predict_dist)(X)
        return within(found, self.low_, self.high_)

    def _mean(self, X: Any, **known: Any) -> np.ndarray:
        """E[y | x] at the fitted parameters, and not far beyond the largest mean."""
        mean = self._plug_in(X).mean
        return self.ratio_ * np.minimum(mean, self.high_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.regressor).input_tags
        tags.target_tags.positive_only = True
        return tags
