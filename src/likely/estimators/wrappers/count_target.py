r"""Counts from a regressor of numbers: its held-out means, and a count family around them.

A forest or a mean of neighbours predicts numbers, not counts. Let $m_i$ be its prediction
for row i when it was fitted without that row. Then $y \mid x$ is Poisson or negative binomial
with $\log μ = a + b \log(m + c)$, where a, b and the dispersion maximise the likelihood of the
rows given those $m_i$, and $c$ is a twentieth of the mean count, so that a mean of zero does
not make a count of zero certain. With b below 1 the means are pulled together, which corrects
for overfitting.
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import get_tags

from likely.base.predictor import Predictor
from likely.base.rows import check_inputs
from likely.base.settings import one_of
from likely.core.checks import InputError
from likely.estimators.linear.counts import NegativeBinomialRegressor, PoissonRegressor
from likely.evaluate.assignment import random_folds

COUNT_REGRESSORS = {
    "negative_binomial": NegativeBinomialRegressor,
    "poisson": PoissonRegressor,
}
OFFSET_SHARE = 0.05
"""c as a share of the mean count."""
MIN_MEAN_COUNT = 1e-3
"""The mean count that c is a share of, at least."""


class CountTarget(MetaEstimatorMixin, RegressorMixin, Predictor):
    """Any regressor fitted to counts, predicting a distribution of counts.

    Args:
        regressor: what predicts the means. One that has out-of-bag predictions
            (`oob_score=True`) is fitted once, others also to the folds.
        family: "negative_binomial" or "poisson".
        cv: the number of folds for the held-out means.
        random_state: the seed of the folds.

    Attributes:
        regressor_: the fitted regressor.
        counts_: the regression of counts on log(m + c).
        least_: c.

    Examples:
        >>> X, y = np.arange(40.0)[:, None], np.arange(40) // 4
        >>> model = lk.CountTarget(lk.KNeighborsRegressor(4)).fit(X, y)
        >>> print(model.predict_interval([[20.0]], 0.9))
        (array([1.]), array([8.]))
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        regressor: Any,
        *,
        family: str = "negative_binomial",
        cv: int = 4,
        random_state: int = 0,
    ):
        self.regressor = regressor
        self.family = family
        self.cv = cv
        self.random_state = random_state

    @staticmethod
    def __upgrade__(fields: dict) -> dict:
        """The fields of older files, where `cv` was called `folds`."""
        if "folds" in fields:
            fields["cv"] = fields.pop("folds")
        return fields

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "CountTarget":
        """Fit the means, then the counts around them.

        Args:
            X: (n, d) inputs.
            y: (n,) whole numbers from zero on.
            sample_weight: how often each row counts.
        """
        one_of("family", self.family, COUNT_REGRESSORS)
        X, y, w = self._rows(X, y, sample_weight).present()
        if len(y) < 2:
            raise InputError(
                "there is one sample only; held-out means need at least two."
            )
        self.regressor_ = _fitted(self.regressor, X, y, w)
        mean_count = float(np.average(y, weights=w))
        self.least_ = OFFSET_SHARE * max(mean_count, MIN_MEAN_COUNT)
        means = getattr(self.regressor_, "oob_prediction_", None)
        if means is None:
            means = self._held_out_means(X, y, w)
        known = np.isfinite(means)
        counts: Any = COUNT_REGRESSORS[self.family](alpha=1e-4)
        self.counts_ = counts.fit(
            self._log_means(means[known]), y[known], sample_weight=w[known]
        )
        return self

    def predict_dist(self, X: Any) -> Any:
        """p(y | x) for each row."""
        X = self._inputs(X)
        means = self.regressor_.predict(X)
        return self.counts_.predict_dist(self._log_means(means))

    def _plug_in(self, X: Any, **known: Any) -> Any:
        """p(y | x) at the fitted parameters of the counts around the means."""
        X = self._inputs(X)
        means = self.regressor_.predict(X)
        return self.counts_._plug_in(self._log_means(means))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.regressor).input_tags
        tags.input_tags.sparse = True
        tags.target_tags.positive_only = True
        return tags

    def _inputs(self, X: Any) -> np.ndarray:
        return check_inputs(self, X, allow_nan=get_tags(self).input_tags.allow_nan)

    def _log_means(self, means: Any) -> np.ndarray:
        """(n, 1) log(m + c)."""
        return np.log(np.maximum(means, 0.0) + self.least_)[:, None]

    def _held_out_means(self, X: np.ndarray, y: np.ndarray, w: np.ndarray):
        """(n,) the prediction for each row by a fit without its fold."""
        fold = random_folds(len(y), int(self.cv), self.random_state)
        means = np.empty(len(y))
        for number in range(int(self.cv)):
            out = fold == number
            part = _fitted(self.regressor, X[~out], y[~out], w[~out])
            means[out] = part.predict(X[out])
        return means


def _fitted(regressor: Any, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> Any:
    """A fitted copy; weights are passed on where they are not all one."""
    fresh: Any = clone(regressor)
    weights = {} if (w == 1).all() else {"sample_weight": w}
    return fresh.fit(X, y, **weights)
