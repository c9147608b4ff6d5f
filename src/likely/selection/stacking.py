"""A mixture of predictors, weighted by held-out likelihood."""

from typing import Any, no_type_check

import numpy as np

from likely.base.settings import store
from likely.selection.mixing import MIN_LOG_PROB, mixing_weights
from likely.selection.mixture import AbstractMixture


class Stacking(AbstractMixture):
    r"""The mixture of predictors that makes held-out observations most likely.

    $\max_π \sum_i w_i \log \sum_j π_j p_j^{(-i)}(y_i \mid x_i)$ on the simplex, $p_j^{(-i)}$ being
    fitted without the fold of row i; concave, solved to a certified gap. The members
    are then fitted to all rows.

    Args:
        estimators: a list of predictors, or of pairs (name, predictor).
        cv: the number of folds, a scikit-learn splitter, or an iterable of splits.

    Attributes:
        members_: the fitted members.
        weights_: (m,) π, with sum one.
        held_out_: (m,) held-out nats per unit of weight of each member.
        held_out_mixture_: held-out nats per unit of weight of the mixture.
        gap_: no weights are better by more than this.
        names_: the names of the members.
        scales_: (m,) scales of errors; 1 where a member has a distribution.

    Examples:
        >>> table = lk.data.diabetes()
        >>> members = [("ridge", lk.Ridge(0.1)), ("null", lk.NullRegressor())]
        >>> print(lk.Stacking(members).fit(table.X, table.y).weights_.round(1))
        [1. 0.]
    """

    _needs_folds = True

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, estimators: Any, *, cv: Any = 5):
        store(self, locals())

    def _weigh(self, held_out: np.ndarray | None, w: np.ndarray) -> np.ndarray:
        assert held_out is not None
        found = mixing_weights(held_out, w)
        self.held_out_ = -(w @ np.maximum(held_out, MIN_LOG_PROB)) / w.sum()
        self.held_out_mixture_, self.gap_ = -found.value, found.gap
        return found.weights
