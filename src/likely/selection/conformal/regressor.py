r"""Regressors with conformal intervals.

Scores of rows that the model did not see say how far y may be from a prediction: the
$\lceil (n+1)(1-α) \rceil$-th smallest of n is exceeded by a new row with probability at most α, if
rows are exchangeable. Nothing is assumed about the model or the distribution of y.
"""

from collections.abc import Callable
from typing import Any, no_type_check

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.utils.validation import _num_samples, check_is_fitted

from likely.base.settings import one_of, store
from likely.core.checks import InputError
from likely.evaluate.conformal import radius
from likely.evaluate.cross_conformal import cross_intervals
from likely.evaluate.cross_validation import Splits
from likely.selection.conformal.bands import (
    SHAPES,
    Ends,
    dist_of,
    level_parameter,
    own_band,
    point_band,
)
from likely.selection.conformal.groups import (
    described,
    encode_groups,
    group_numbers,
    too_few,
    warn_infinite,
)
from likely.selection.conformal.refits import (
    LoopRefits,
    ProgramRefits,
    leave_one_out,
    refit_without,
)
from likely.selection.members import distribution_of, is_point_regressor
from likely.selection.refits import TableRows
from likely.selection.wrapper import Wrapper, check_held_out_once

CROSS = ("cross", "jackknife+")
METHODS = (*SHAPES, *CROSS)
FITTED = (
    "refits_", "folds_", "quantiles_", "calibration_", "scores_", "score_groups_",
    "score_weights_", "group_labels_", "scale_",
)  # fmt: skip


class ConformalRegressor(RegressorMixin, Wrapper):
    r"""Any regressor, with intervals that cover whatever the model.

        split       $\hat y ± q$: the estimator learns from some rows, q from the others
        scaled      the model's own interval, stretched; wide where the model says so
        quantile    two quantiles, moved by q (conformalised quantile regression)
        cross       every fold is held out in turn (CV+): all rows serve both purposes
        jackknife+  every row is held out in turn: the tightest, and one fit for each row

    The first three cover with probability between $1 - α$ and $1 - α + 1/(n + 1)$, with n rows
    held out; the last two with at least $1 - 2α$ and in practice about $1 - α$.

    "scaled" needs an estimator with `predict_dist`; "quantile" one, or an estimator of one quantile
    (`QuantileRegressor`, boosting with loss="quantile"), which is then fitted at both `levels`.

    Args:
        estimator: a regressor of `likely` or scikit-learn, or a pipeline.
        method: "split", "scaled", "quantile", "cross" or "jackknife+".
        cv: the number of folds (shuffled), a scikit-learn splitter, an iterable of splits,
            or "prefit": the estimator is fitted, and all rows are held out. The methods
            that split once hold out the first fold, so cv=4 is a quarter of the rows (more
            folds, up to half, where it has fewer than 19 rows).
        levels: of an estimator of one quantile.
        random_state: of the folds.

    Attributes:
        estimator_: the estimator that predicts: fitted to the rows that are not held out, or
            to all rows by "cross" and "jackknife+".
        scores_: (n,) the scores of the rows that were held out.

    Examples:
        >>> table = lk.data.diabetes()
        >>> model = lk.ConformalRegressor(lk.Ridge(0.1)).fit(table.X[5:], table.y[5:])
        >>> low, high = model.predict_interval(table.X[:5], coverage=0.9)
        >>> bool((low < high).all())
        True
    """

    method: Any
    levels: Any
    scores_: np.ndarray
    score_groups_: np.ndarray
    score_weights_: np.ndarray
    group_labels_: np.ndarray
    folds_: np.ndarray
    refits_: ProgramRefits | LoopRefits
    quantiles_: list
    calibration_: Any
    scale_: float

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "split",
        cv: Any = 5,
        levels: tuple[float, float] = (0.05, 0.95),
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None):
        """Fit the estimator, and score rows that it did not see.

        Args:
            X: (n, d) inputs, of any kind that the estimator takes.
            y: (n,) numbers.
            sample_weight: how often each row counts; the estimator has to take it.
            groups: (n,) what each row belongs to: coverage then holds in each group
                (Mondrian); predictions need them too.
        """
        method = one_of("method", self.method, METHODS)
        for name in FITTED:
            vars(self).pop(name, None)
        rows, splits = self._table(X, y, sample_weight, groups)
        if method in CROSS:
            held_out = self._fit_crossed(rows, splits)
        else:
            held_out = self._fit_once(rows, splits)
        self.score_weights_ = held_out.w
        self.score_groups_ = np.zeros(len(held_out.y), int)
        if groups is not None:
            self.group_labels_, self.score_groups_ = encode_groups(held_out.groups)
        return self

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, groups: Any = None
    ) -> Ends:
        """Lower and upper ends between which a new y lies with this probability.

        They are infinite, with a warning, where too few rows were held out.

        Args:
            X: (m, d) inputs.
            coverage: 1 − α.
            groups: (m,) what each row belongs to, where the fit had groups.
        """
        check_is_fitted(self)
        if not 0 < coverage < 1:
            raise InputError(f"coverage is {coverage}; give a number between 0 and 1.")
        labels = vars(self).get("group_labels_")
        numbers = group_numbers(labels, groups, _num_samples(X))
        ends = self._ends(X, coverage)
        low, high = np.empty(len(numbers)), np.empty(len(numbers))
        for group in np.unique(numbers):
            new, old = numbers == group, self.score_groups_ == group
            w = self.score_weights_[old]
            if too_few(w, coverage):
                low[new], high[new] = -np.inf, np.inf
                whose = described(labels, int(group))
                warn_infinite(self, whose, float(w.sum()), coverage)
            else:
                low[new], high[new] = ends(new, old)
        return low, high

    def predict(self, X: Any) -> np.ndarray:
        """What the estimator predicts."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    def predict_dist(self, X: Any) -> Any:
        """The distribution that the estimator predicts, as it is.

        A regressor that predicts numbers only is the mean of a normal distribution, with
        the scale of its held-out errors. Its intervals rely on the model, those of
        `predict_interval` do not.
        """
        check_is_fitted(self)
        return distribution_of(self.estimator_, X, None, self.scale_)

    # Fitting ---------------------------------------------------------------------------

    def _fit_crossed(self, rows: TableRows, splits: Splits) -> TableRows:
        """Hold out every row once; all of them have a score."""
        if self._is_prefit:
            raise InputError(
                f'method="{self.method}" fits the estimator without some of the rows; with '
                'a fitted one use method="split".'
            )
        n = len(rows.y)
        if self.method == "jackknife+":
            self.folds_ = np.arange(n)
            self.refits_, means = leave_one_out(self.estimator, rows)
        else:
            self.folds_ = check_held_out_once(splits, n)
            self.refits_, means = refit_without(self.estimator, rows, splits)
        self.scores_ = np.abs(rows.y - means)
        self._keep(self._fitted(rows))
        self._measure_errors(rows, means)
        return rows

    def _fit_once(self, rows: TableRows, splits: Splits) -> TableRows:
        """Fit to the rows that are not held out; the others have a score."""
        known = held_out = rows
        if not self._is_prefit:
            train, out = self._split_once(splits)
            known, held_out = rows.part(train), rows.part(out)
        level = level_parameter(self.estimator) if self.method == "quantile" else None
        if level is None or self._is_prefit:
            self._keep(self._fitted(known))
        else:
            settings = [self._at_level(level, q) for q in (*_checked(self.levels), 0.5)]
            *models, middle = (self._fitted(known, one) for one in settings)
            self.quantiles_ = models
            self._keep(middle)
        if self.method == "split":
            self.calibration_ = point_band(self.estimator_, held_out.X)
        elif self.method == "scaled":
            self.calibration_ = own_band(self._dist(held_out.X))
        elif "quantiles_" in vars(self):
            self.calibration_ = self._quantile_band(held_out.X)
        else:
            self.calibration_ = self._dist(held_out.X)
        self.calibration_ = self.calibration_, held_out.y
        self.scores_ = self._calibration_scores(0.9)
        if is_point_regressor(self.estimator_):
            self._measure_errors(held_out, point_band(self.estimator_, held_out.X)[0])
        else:
            self.scale_ = 1.0
        return held_out

    def _measure_errors(self, rows: TableRows, means: np.ndarray) -> None:
        """The scale of held-out errors, for an estimator without a distribution."""
        square = np.average((rows.y - means) ** 2, weights=rows.w)
        self.scale_ = float(np.sqrt(max(square, 1e-300)))

    def _at_level(self, name: str, level: float) -> Any:
        copy: Any = clone(self.estimator)
        return copy.set_params(**{name: level})

    # Bands -----------------------------------------------------------------------------

    def _ends(self, X: Any, coverage: float) -> Callable[..., Ends]:
        """The intervals of some new rows by the scores of some rows held out."""
        if "refits_" in vars(self):
            means = self.refits_.means(self.estimator_, X)

            def crossed(new: np.ndarray, old: np.ndarray) -> Ends:
                known = self.folds_[old], self.scores_[old], coverage
                return cross_intervals(means[:, new], *known, self.score_weights_[old])

            return crossed
        shape, scores, band = self._scored(X, coverage)

        def split(new: np.ndarray, old: np.ndarray) -> Ends:
            q = radius(scores[old], coverage, self.score_weights_[old])
            return shape.interval(*(a[new] for a in band), q)

        return split

    def _scored(self, X: Any, coverage: float) -> tuple:
        """The shape of intervals, the scores of the rows held out, the band of new rows."""
        if self.method == "split":
            band = point_band(self.estimator_, X)
        elif self.method == "scaled":
            band = own_band(self._dist(X))
        elif "quantiles_" in vars(self):
            band = self._quantile_band(X)
        else:
            band = self._dist(X).interval(coverage)
        return SHAPES[self.method], self._calibration_scores(coverage), band

    def _calibration_scores(self, coverage: float) -> np.ndarray:
        """Scores of the rows held out; quantiles of a distribution follow the coverage."""
        band, y = self.calibration_
        if not isinstance(band, tuple):
            band = band.interval(coverage)
        return SHAPES[self.method].scores(y, *band)

    def _dist(self, X: Any) -> Any:
        return dist_of(self.estimator_, X, self.method)

    def _quantile_band(self, X: Any) -> Ends:
        low, high = (np.asarray(m.predict(X), np.float64) for m in self.quantiles_)
        return np.minimum(low, high), np.maximum(low, high)


def _checked(levels: Any) -> tuple[float, float]:
    low, high = (float(level) for level in levels)
    if not 0 < low < high < 1:
        raise InputError(
            f"levels is {levels}; give two rising numbers between 0 and 1."
        )
    return low, high
