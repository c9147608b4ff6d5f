r"""Two models against each other, a line against a curve, an effect with its band."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from likely.base.features import feature_names, feature_number
from likely.base.predictor import Predictor
from likely.core.checks import InputError, check_finite, check_weights
from likely.estimators.linear.inference.statistics import (
    penalty_sentence,
    statistics_of,
)
from likely.estimators.linear.model import LinearModel
from likely.inference import TestResult, f_test, likelihood_ratio_test
from likely.preprocess.basis import knots_at, natural_spline


class NatsDifference(NamedTuple):
    """How many nats an observation the second model saves, on rows held out."""

    difference: float
    """Mean of log p_b(y) − log p_a(y): above 0, b predicts better."""
    standard_error: float
    p_value: float
    """Two-sided, of no difference."""

    def __str__(self) -> str:
        return (
            f"held-out difference: {self.difference:+.4g} ± {self.standard_error:.2g} "
            f"nats per row in favour of {'b' if self.difference > 0 else 'a'}, "
            f"p = {self.p_value:.3g}"
        )


def compare(
    a: Predictor,
    b: Predictor,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
) -> TestResult | NatsDifference:
    """Which of two fitted models is better.

    Without rows: the test of the smaller model inside the larger one, both fitted to the
    same rows; F for the normal linear model (exact), likelihood ratio otherwise. With
    rows (X, y) that neither model saw: the paired difference in nats, for any models.

    Args:
        a: a fitted model.
        b: another one.
        X: rows held out.
        y: their targets.
        sample_weight: how often each held-out row counts.

    Examples:
        >>> X = np.arange(10.0)[:, None]
        >>> y = 2 * X[:, 0] + np.tile([1.0, -1.0], 5)
        >>> small = lk.NullRegressor().fit(X, y)
        >>> large = lk.LinearRegression().fit(X, y)
        >>> lk.compare(small, large, X, y).p_value < 0.05
        True
    """
    check_is_fitted(a)
    check_is_fitted(b)
    if X is not None:
        return _held_out(a, b, X, y, sample_weight)
    if not isinstance(a, LinearModel) or not isinstance(b, LinearModel):
        raise InputError(
            "models without coefficients are not nested; give rows held out, "
            "compare(a, b, X, y)."
        )
    return _nested(a, b)


def _nested(a: LinearModel, b: LinearModel) -> TestResult:
    small, large = (statistics_of(m) for m in (a, b))
    if type(a.family_) is not type(b.family_) or small.total != large.total:
        raise InputError(
            "the models have different families or rows, so neither is nested in the "
            "other; give rows held out, compare(a, b, X, y)."
        )
    if small.df_model > large.df_model:
        small, large = large, small
    if small.kind == "t":
        first, second = (m.dispersion * m.df_residual for m in (small, large))
        return f_test((first, second), (small.df_residual, large.df_residual))
    likelihoods = small.log_likelihood, large.log_likelihood
    return likelihood_ratio_test(likelihoods, large.df_model - small.df_model)


def _held_out(a, b, X, y, sample_weight) -> NatsDifference:
    y = np.asarray(y)
    w = check_weights(
        np.ones(len(y)) if sample_weight is None else sample_weight, len(y)
    )
    parts = [m.predict_dist(X).log_prob(y) for m in (a, b)]
    gap = (parts[1] - parts[0])[w > 0]
    w = w[w > 0]
    n = w.sum()
    mean = float(w @ gap) / n
    error = float(np.sqrt(w @ (gap - mean) ** 2 / (n - 1) / n))
    p = float(2 * stats.t.sf(abs(mean) / error, n - 1)) if error > 0 else 1.0
    return NatsDifference(mean, error, p)


def linearity_test(
    X: Any,
    y: Any,
    *,
    column: int | str = 0,
    n_knots: int = 5,
    sample_weight: Any = None,
) -> TestResult:
    """Whether a column acts along a line: F of a natural spline against it.

    All columns take part linearly in both models; in the larger one this column may act
    along a curve.

    Args:
        X: (n, d) inputs, or one column (n,).
        y: (n,) numbers.
        column: the number or the name of the column that may act along a curve.
        n_knots: of the spline, at quantiles.
        sample_weight: how often each row counts.

    Examples:
        >>> X = np.linspace(-2, 2, 60)[:, None]
        >>> lk.linearity_test(X, X[:, 0] ** 2).p_value < 0.001
        True
    """
    names = feature_names(X)
    X, y = np.asarray(X, float), np.asarray(y, float)
    X = X[:, None] if X.ndim == 1 else X
    column = feature_number(column, names, X.shape[1])
    w = check_weights(
        np.ones(len(y)) if sample_weight is None else sample_weight, len(y)
    )
    check_finite("X", X, w)
    check_finite("y", y, w)
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    X = X - X.mean(0)
    X = X / np.maximum(np.abs(X).max(0), np.finfo(float).tiny)
    x = X[:, [column]]
    knots = knots_at(x[:, 0], w, np.linspace(0, 1, n_knots))
    if len(knots) < 3:
        raise InputError(
            f"column {column} has too few values for a curve; it needs at least three."
        )
    line = np.column_stack([np.ones(len(X)), X])
    curve = np.column_stack([line, natural_spline(x[:, 0], knots)[:, 1:]])
    rss, df = zip(*(_least_squares(A, y, w) for A in (line, curve)), strict=True)
    return f_test(rss, df, "spline against line")


def _least_squares(A: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    """RSS and residual degrees of freedom."""
    root = np.sqrt(w)
    b, _, rank, _ = np.linalg.lstsq(A * root[:, None], y * root, rcond=None)
    return float(w @ (y - A @ b) ** 2), float(w.sum()) - int(rank)


class PartialEffect(NamedTuple):
    """What one column does to η while the others stay at their means."""

    x: Float[np.ndarray, " g"]
    effect: Float[np.ndarray, " g"]
    """η at x less η at the mean of x."""
    low: Float[np.ndarray, " g"]
    high: Float[np.ndarray, " g"]


def partial_effect(
    model: Any, X: Any, column: int | str, *, coverage: float = 0.95, size: int = 50
) -> PartialEffect:
    """The effect of a column on η, with a confidence band.

    Args:
        model: a fitted linear model (with or without a basis), or a `SplineRegressor`.
        X: rows whose range and means are used.
        column: its number, or its name; of a formula, a column that it makes.
        coverage: of the band, at each x.
        size: points along the range of the column.

    Examples:
        >>> X = np.linspace(0, 1, 20)[:, None]
        >>> model = lk.LinearRegression().fit(X, 3 * X[:, 0] + np.tile([0.1, -0.1], 10))
        >>> effect = lk.partial_effect(model, X, 0, size=3)
        >>> print(effect.x, effect.effect.round(1))
        [0.  0.5 1. ] [-1.5  0.   1.5]
    """
    check_is_fitted(model)
    rows = model._inputs(X)
    names = feature_names(None, model) or feature_names(X)
    j = feature_number(column, names, rows.shape[1])
    centre = rows.mean(0)
    grid = np.repeat(centre[None], size + 1, axis=0)
    grid[:size, j] = np.linspace(rows[:, j].min(), rows[:, j].max(), size)
    at = model._columns(grid)
    difference = at[:size] - at[size]
    weight, C, quantile = _slopes(model, (1 + coverage) / 2)
    effect = difference @ weight
    variance = np.einsum("ij,jk,ik->i", difference, C, difference, optimize=True)
    half = quantile * np.sqrt(np.maximum(variance, 0.0))
    return PartialEffect(grid[:size, j], effect, effect - half, effect + half)


def _slopes(model: Any, level: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Weights of the expanded columns, their covariance, and the quantile of a band."""
    if hasattr(model, "edf_"):
        C = model.scale_**2 * np.asarray(model.phi_.covariance)[:-1, :-1]
        df = max(model.df_residual_, 1.0)
        return model.phi_.model.weight[:, 0], C, float(stats.t(df).ppf(level))
    reason = penalty_sentence(model)
    if reason is not None:
        raise InputError(reason)
    found, first = statistics_of(model), model._first
    d = len(model._column_names())
    own = slice(first, first + d)
    if found.slopes.sum() != d:
        raise InputError("partial effects are for one η; this model has several.")
    C = found.covariance[own, own]
    return found.coefficients[own], C, float(found.reference.ppf(level))
