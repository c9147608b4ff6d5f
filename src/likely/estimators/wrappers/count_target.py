r"""Counts from a regressor of numbers: its held-out means, and a count family around them.

A forest or a mean of neighbours gives numbers, not counts. Let $m_i$ be what it says of row i
when it has not seen it. Then $y \mid x$ is Poisson or negative binomial with
$\log μ = a + b \log(m + c)$, where a, b and the dispersion maximise the likelihood of the rows
by those $m_i$ and $c$ is a twentieth of the mean count, so that a mean of zero is no
certainty. With b below 1 the means are drawn together: what was over-fitted is taken back.
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.core.checks import InputError, check_weights
from likely.estimators.linear.counts import NegativeBinomialRegressor, PoissonRegressor
from likely.estimators.shell import without_absent
from likely.estimators.sparse import dense

MAKERS = {"negative_binomial": NegativeBinomialRegressor, "poisson": PoissonRegressor}
SHARE = 0.05


class CountTarget(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Fit any regressor to counts; predict counts.

    Args:
        regressor: what gives the means. One that judges itself out of bag
            (`oob_score=True`) is fitted once, others also to the folds.
        family: "negative_binomial" or "poisson".
        folds: for the held-out means.
        random_state: deals the folds.

    Attributes:
        regressor_: the fitted one.
        counts_: the regression of counts on log(m + c).
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        regressor: Any,
        *,
        family: str = "negative_binomial",
        folds: int = 4,
        random_state: int = 0,
    ):
        self.regressor = regressor
        self.family = family
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "CountTarget":
        """Fit the means, then the counts around them.

        Args:
            X: (n, d) inputs.
            y: (n,) whole numbers from zero on.
            sample_weight: how often each row counts.
        """
        if self.family not in MAKERS:
            raise InputError(
                f"family is {self.family!r}; give one of {', '.join(MAKERS)}."
            )
        if sample_weight is not None:
            y = without_absent(y, np.asarray(sample_weight))
        X, y = validate_data(
            self, dense(X), y, dtype=np.float64, y_numeric=True, ensure_all_finite=False
        )
        y, n = y.astype(np.float64), len(y)
        w = check_weights(np.ones(n) if sample_weight is None else sample_weight, n)
        X, y, w = X[w > 0], y[w > 0], w[w > 0]
        if len(y) < 2:
            raise InputError("there is one sample only; a fold needs others to learn.")
        self.regressor_ = _fitted(self.regressor, X, y, w)
        self.least_ = SHARE * max(float(np.average(y, weights=w)), 1e-3)
        means = getattr(self.regressor_, "oob_prediction_", None)
        if means is None:
            means = self._held_out(X, y, w)
        known = np.isfinite(means)
        counts: Any = MAKERS[self.family](alpha=1e-4)
        self.counts_ = counts.fit(
            self._logs(means[known]), y[known], sample_weight=w[known]
        )
        return self

    def predict_dist(self, X: Any) -> Any:
        """p(y | x) for each row."""
        check_is_fitted(self)
        X = validate_data(
            self, dense(X), reset=False, dtype=np.float64, ensure_all_finite=False
        )
        return self.counts_.predict_dist(self._logs(self.regressor_.predict(X)))

    def predict(self, X: Any) -> np.ndarray:
        """E[y | x] of each row."""
        return self.predict_dist(X).mean

    def predict_interval(
        self, X: Any, coverage: float = 0.9
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the central predictive interval."""
        return self.predict_dist(X).interval(coverage)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.regressor).input_tags
        tags.input_tags.sparse = True
        tags.target_tags.positive_only = True
        return tags

    def _logs(self, means: Any) -> np.ndarray:
        """(n, 1) log(m + c)."""
        return np.log(np.maximum(means, 0.0) + self.least_)[:, None]

    def _held_out(self, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        rng = np.random.default_rng(self.random_state)
        fold = rng.permutation(len(y)) % int(self.folds)
        means = np.empty(len(y))
        for number in range(int(self.folds)):
            out = fold == number
            part = _fitted(self.regressor, X[~out], y[~out], w[~out])
            means[out] = part.predict(X[out])
        return means


def _fitted(regressor: Any, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> Any:
    fresh: Any = clone(regressor)
    weights = {} if (w == 1).all() else {"sample_weight": w}
    return fresh.fit(X, y, **weights)
