r"""Regressors with recalibrated distributions.

Copies of the estimator are fitted to the training rows of each fold and predict the rows held
out; the correction of largest likelihood of these predictions is then put behind the estimator
that is fitted to all rows.
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from likely.base.settings import one_of, store
from likely.evaluate.cross_validation import Splits
from likely.evaluate.recalibration.spread import pit_shares, stretch
from likely.families import Recalibrated, Stretched
from likely.families.joined import Joined
from likely.selection.members import distribution_of, error_scale, is_point_regressor
from likely.selection.refits import TableRows
from likely.selection.wrapper import Wrapper, check_held_out_once

METHODS = ("scale", "quantile")


class RecalibratedRegressor(RegressorMixin, Wrapper):
    r"""Any regressor, with a distribution that is corrected by held-out likelihood.

        scale     one factor s on all distances from the median: intervals s times as wide
        quantile  then also a distribution G of F(y), so that $G(F(y))$ is uniform: corrects
                  skewness, tails and a shift; also for counts, without the factor

    Neither makes the likelihood of the held-out rows lower than it was. A regressor that
    predicts numbers only is the mean of a normal distribution, with the scale of its held-out
    errors.

    Args:
        estimator: a regressor of `likely` or scikit-learn, or a pipeline.
        method: "scale" or "quantile".
        cv: the number of folds (shuffled), a scikit-learn splitter, an iterable of splits,
            or "prefit": the estimator is fitted, and all rows correct it.
        random_state: of the folds.

    Attributes:
        estimator_: the estimator, fitted to all rows.
        stretch_: s; above 1 intervals were too narrow.
        levels_: (k + 1,) levels of F(y), by the method "quantile".
        shares_: (k,) the corrected probability between them.
        scale_: of the errors, where the estimator predicts numbers only; else 1.
        held_out_: nats per unit of weight of the held-out rows, before and after.

    Examples:
        >>> table = lk.data.diabetes()
        >>> model = lk.RecalibratedRegressor(lk.Ridge(0.1)).fit(table.X, table.y)
        >>> model.predict_dist(table.X[:2]).mean.shape
        (2,)
    """

    method: Any
    stretch_: float
    levels_: np.ndarray
    shares_: np.ndarray

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "scale",
        cv: Any = 5,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fit the estimator, and correct it by rows held out.

        Args:
            X: (n, d) inputs, of any kind that the estimator takes.
            y: (n,) numbers.
            sample_weight: how often each row counts; the estimator has to take it.
        """
        method = one_of("method", self.method, METHODS)
        rows, splits = self._table(X, y, sample_weight)
        self._keep(self._fitted(rows))
        for name in ("levels_", "shares_"):
            vars(self).pop(name, None)
        dist = self._held_out(rows, splits)
        whole = dist.discrete and method == "quantile"
        self.stretch_ = 1.0 if whole else stretch(rows.y, dist, rows.w)
        if method == "quantile":
            found = pit_shares(rows.y, self._stretched(dist), rows.w)
            self.levels_, self.shares_ = found
        self.held_out_ = tuple(
            float(-rows.w @ d.log_prob(rows.y) / rows.w.sum())
            for d in (dist, self._corrected(dist))
        )
        return self

    def predict_dist(self, X: Any) -> Any:
        """The corrected distribution, for each row."""
        check_is_fitted(self)
        dist = distribution_of(self.estimator_, X, None, self.scale_)
        return self._corrected(dist)

    def _corrected(self, dist: Any) -> Any:
        dist = self._stretched(dist)
        if "shares_" in vars(self):
            return Recalibrated(dist, self.levels_, self.shares_)
        return dist

    def _stretched(self, dist: Any) -> Any:
        return dist if self.stretch_ == 1.0 else Stretched(dist, self.stretch_)

    def _held_out(self, rows: TableRows, splits: Splits) -> Any:
        """The distribution of each row by a model that did not see it."""
        if self._is_prefit:
            folds, models = [np.arange(len(rows.y))], [self.estimator_]
        else:
            check_held_out_once(splits, len(rows.y))
            folds = [out for _, out in splits]
            models = [self._fitted(rows.part(train)) for train, _ in splits]
        parts = [rows.part(out) for out in folds]
        self.scale_ = 1.0
        if is_point_regressor(models[0]):
            pairs = zip(parts, models, strict=True)
            self.scale_ = float(
                error_scale((p.y, model.predict(p.X), p.w) for p, model in pairs)
            )
        dists = [
            distribution_of(model, part.X, None, self.scale_)
            for model, part in zip(models, parts, strict=True)
        ]
        return dists[0] if len(dists) == 1 else Joined(dists, folds)
