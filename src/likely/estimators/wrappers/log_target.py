r"""Regression on the logarithm of a positive target, as a distribution of the target.

If $\log y \mid x$ has density p, then $y \mid x$ has $p(\log y) / y$: the Jacobian makes scores
of models on both scales comparable.
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from likely.base.predictor import Predictor
from likely.core.checks import InputError
from likely.estimators.wrappers.columns import copy_column_names
from likely.families import Exponentiated


class LogTarget(MetaEstimatorMixin, RegressorMixin, Predictor):
    """A regressor fitted to log y that predicts y.

    Args:
        regressor: any regressor with `predict_dist`.

    Attributes:
        regressor_: the fitted regressor of log y.

    Examples:
        >>> X = np.arange(10.0)[:, None]
        >>> y = np.exp(0.1 * X[:, 0])
        >>> model = lk.LogTarget(lk.LinearRegression()).fit(X, y * np.tile([0.99, 1.01], 5))
        >>> print(model.predict([[20.0]]).round(1))
        [7.5]
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, regressor: Any):
        self.regressor = regressor

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LogTarget":
        """Fit to log y.

        Args:
            X: (n, d) inputs, as the regressor takes them.
            y: (n,) numbers above zero.
            sample_weight: how often each row counts.
        """
        if not hasattr(self.regressor, "predict_dist"):
            raise InputError(
                f"{type(self.regressor).__name__} has no predict_dist; give a regressor "
                "that predicts distributions."
            )
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
        log_y = np.log(np.where(present, y, 1.0))
        fresh: Any = clone(self.regressor)
        self.regressor_ = fresh.fit(X, log_y, **weights)
        copy_column_names(self, self.regressor_)
        return self

    def predict_dist(self, X: Any) -> Exponentiated:
        """p(y | x) for each row."""
        check_is_fitted(self)
        return Exponentiated(self.regressor_.predict_dist(X))

    def _plug_in(self, X: Any, **known: Any) -> Exponentiated:
        """p(y | x) at the fitted parameters: e to a Student's t has no finite mean."""
        check_is_fitted(self)
        if not isinstance(self.regressor_, Predictor):
            return self.predict_dist(X)
        return Exponentiated(self.regressor_._plug_in(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.regressor).input_tags
        tags.target_tags.positive_only = True
        return tags
