r"""Numbers from zero on with many exact zeros: whether there is anything, and how much.

A classifier learns $π(x) = P(y = 0 \mid x)$ from all rows, a regressor of positive numbers
learns $p_+(y \mid x)$ from the rows with y > 0. The likelihood of both together is the product
of theirs, so each is fitted on its own.
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import get_tags

from likely.base.predictor import Predictor
from likely.base.rows import check_inputs
from likely.core.checks import InputError
from likely.estimators.linear.logistic import LogisticRegression
from likely.estimators.linear.normal import LinearRegression
from likely.estimators.wrappers.log_target import LogTarget
from likely.families.hurdled import Hurdled

MIN_PROBABILITY = 1e-6
"""The least probability of a zero, and of none."""


class HurdleTarget(MetaEstimatorMixin, RegressorMixin, Predictor):
    """A classifier of zeros and a regressor of what is above zero, as one regressor.

    Args:
        classifier: any classifier with `predict_dist`; logistic regression where None.
        regressor: any regressor of positive numbers with `predict_dist`, such as
            `GammaRegressor()` or `LogTarget(...)`; `LogTarget(LinearRegression())` where
            None.

    Attributes:
        classifier_: the fitted classifier of y > 0; None if no row, or every row, is zero.
        regressor_: the regressor fitted to the rows above zero.
        share_: the share of zeros.

    Examples:
        >>> X, y = np.arange(40.0)[:, None], np.where(np.arange(40) % 2, 1.0 + np.arange(40), 0.0)
        >>> model = lk.HurdleTarget().fit(X, y)
        >>> bool((model.predict(X) > 0).all())
        True
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, classifier: Any = None, regressor: Any = None):
        self.classifier = classifier
        self.regressor = regressor

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "HurdleTarget":
        """Fit both parts.

        Args:
            X: (n, d) inputs.
            y: (n,) numbers of at least 0.
            sample_weight: how often each row counts.
        """
        classifier, regressor = self._both()
        for part in (classifier, regressor):
            if not hasattr(part, "predict_dist"):
                raise InputError(
                    f"{type(part).__name__} has no predict_dist; give an estimator that "
                    "predicts distributions."
                )
        X, y, w = self._rows(X, y, sample_weight).present()
        bad = ~(y >= 0)
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"y is {y[row]:g} in row {row} of those that count; a hurdle needs numbers "
                "of at least 0."
            )
        above = y > 0
        if not above.any():
            raise InputError(
                "y is 0 in every row that counts; there is nothing to learn."
            )
        self.share_ = float(w[~above].sum() / w.sum())
        self.classifier_ = None
        if not above.all():
            self.classifier_ = _fitted(classifier, X, above.astype(int), w)
        self.least_ = 0.5 / (w.sum() + 1)
        self.regressor_ = _fitted(regressor, X[above], y[above], w[above])
        return self

    def predict_dist(self, X: Any) -> Hurdled:
        """p(y | x) for each row."""
        X = self._inputs(X)
        return Hurdled(self.regressor_.predict_dist(X), self._zero(X, "predict_dist"))

    def _plug_in(self, X: Any, **known: Any) -> Hurdled:
        """p(y | x) at the fitted parameters of both parts."""
        X = self._inputs(X)
        own = isinstance(self.regressor_, Predictor)
        base = (self.regressor_._plug_in if own else self.regressor_.predict_dist)(X)
        return Hurdled(base, self._zero(X, "_plug_in"))

    def _mean(self, X: Any, **known: Any) -> np.ndarray:
        """(1 − π) times the mean that the regressor predicts."""
        X = self._inputs(X)
        return (1 - self._zero(X, "_plug_in")) * self.regressor_.predict(X)

    def _zero(self, X: np.ndarray, method: str) -> np.ndarray:
        """P(y = 0 | x) of each row."""
        if self.classifier_ is None:
            return np.full(X.shape[0], self.least_)
        name = method if isinstance(self.classifier_, Predictor) else "predict_dist"
        probs = np.asarray(getattr(self.classifier_, name)(X).probs)
        return np.clip(probs[:, 0], MIN_PROBABILITY, 1 - MIN_PROBABILITY)

    def _both(self) -> tuple[Any, Any]:
        classifier, regressor = self.classifier, self.regressor
        if classifier is None:
            classifier = LogisticRegression()
        if regressor is None:
            regressor = LogTarget(LinearRegression())
        return classifier, regressor

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        each = [get_tags(part).input_tags for part in self._both()]
        tags.input_tags.allow_nan = all(part.allow_nan for part in each)
        tags.input_tags.sparse = True
        tags.target_tags.positive_only = True
        return tags

    def _inputs(self, X: Any) -> np.ndarray:
        return check_inputs(self, X, allow_nan=get_tags(self).input_tags.allow_nan)


def _fitted(estimator: Any, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> Any:
    """A fitted copy; weights are passed on where they are not all one."""
    fresh: Any = clone(estimator)
    weights = {} if (w == 1).all() else {"sample_weight": w}
    return fresh.fit(X, y, **weights)
