r"""Regression on the logarithm of a positive target, as a distribution of the target.

If $\log y \mid x$ has density p, then $y \mid x$ has $p(\log y) / y$: the Jacobian makes scores
of models on both scales comparable.
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from likely.core.checks import InputError
from likely.families import Exponentiated


class LogTarget(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Fit a regressor to log y; predict y.

    Args:
        regressor: any regressor with `predict_dist`.

    Attributes:
        regressor_: the fitted one, of log y.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, regressor: Any):
        self.regressor = regressor

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LogTarget":
        """Fit to log y."""
        y = column_or_1d(y, warn=True).astype(np.float64)
        present = np.ones(len(y), bool)
        if sample_weight is not None:
            present = np.asarray(sample_weight) > 0
        bad = present & ~(y > 0)
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"y is {y[row]:g} in row {row}; a logarithm needs numbers above zero."
            )
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        z = np.log(np.where(present, y, 1.0))
        fresh: Any = clone(self.regressor)
        self.regressor_ = fresh.fit(X, z, **weights)
        self.n_features_in_ = self.regressor_.n_features_in_
        return self

    def predict_dist(self, X: Any) -> Exponentiated:
        """p(y | x) for each row."""
        check_is_fitted(self)
        return Exponentiated(self.regressor_.predict_dist(X))

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
        tags.target_tags.positive_only = True
        return tags
