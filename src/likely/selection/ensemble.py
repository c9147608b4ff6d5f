"""A mixture of predictors with given weights."""

from typing import Any, no_type_check

import numpy as np

from likely.base.settings import store
from likely.core.checks import InputError
from likely.selection.mixture import AbstractMixture


class Ensemble(AbstractMixture):
    """A mixture of predictors with given weights.

    Args:
        estimators: a list of predictors, or of pairs (name, predictor).
        weights: one for each, or None: all equal.
        cv: folds from which the scale of errors is learned for regressors that predict
            numbers only.

    Attributes:
        members_: the fitted members.
        weights_: (m,) π, with sum one.
        names_: the names of the members.
        scales_: (m,) scales of errors; 1 where a member has a distribution.

    Examples:
        >>> table = lk.data.diabetes()
        >>> members = [("ridge", lk.Ridge(0.1)), ("null", lk.NullRegressor())]
        >>> model = lk.Ensemble(members, weights=[0.9, 0.1]).fit(table.X, table.y)
        >>> model.predict(table.X[:2]).shape
        (2,)
    """

    weights: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, estimators: Any, *, weights: Any = None, cv: Any = 5):
        store(self, locals())

    def _weigh(self, held_out: np.ndarray | None, w: np.ndarray) -> np.ndarray:
        m = len(self.estimators)
        weights = np.asarray([1.0] * m if self.weights is None else self.weights, float)
        if weights.shape != (m,) or not (weights >= 0).all() or not weights.sum() > 0:
            raise InputError(
                f"weights has to be {m} numbers of at least 0, one for each member."
            )
        return weights / weights.sum()
