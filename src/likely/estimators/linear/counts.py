r"""Regression of counts: Poisson and negative binomial, with exposure."""

from functools import partial
from typing import Any, no_type_check

import numpy as np
from sklearn.base import RegressorMixin

from likely.base.settings import store
from likely.core.checks import InputError, check_finite
from likely.estimators.linear.coefficients import coefficients_of
from likely.estimators.linear.dispersed import DispersedLearner
from likely.estimators.linear.glm import LinearLearner
from likely.estimators.linear.inference.evidence import Evidence, joint_covariance
from likely.estimators.linear.inference.statistics import (
    likelihood_estimate,
    statistics_of,
)
from likely.estimators.linear.model import LinearModel, alpha_hyper
from likely.estimators.linear.penalty import ridge_strengths
from likely.families import NegativeBinomial, Poisson
from likely.inference import Estimate
from likely.solvers import Newton
from likely.typing import Batch

POISSON_LIMIT = 1e4
"""r over the largest mean from which the observed information about r is rounding."""
MIN_DISPERSION = 1e-6
"""1/r from which a negative binomial is a Poisson distribution."""
KNOWN = {"exposure": None, "offset": None}
"""What a metadata router may pass, where it is asked to (`set_fit_request(exposure=True)`)."""


def fit_log_linear(  # noqa: D417
    self: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    exposure: Any = None,
    offset: Any = None,
):
    """Fit by maximum likelihood (with a penalty: maximum a posteriori).

    Args:
        X: (n, d) inputs.
        y: (n,) targets.
        sample_weight: how often each row counts; 2 is "this row twice".
        exposure: (n,) how long or how much each row was watched; E[y] is in
            proportion to it.
        offset: (n,) a known part of log E[y]; log(exposure) is one.
    """
    given = {"exposure": exposure, "offset": offset}
    known = partial(offset_of, **{n: _given(self, X, n, v) for n, v in given.items()})
    if self.formula is not None:
        names = {n: v if isinstance(v, str) else None for n, v in given.items()}
        told = {n: names[n] for n, v in given.items() if v is not None}
        self._formula = self.formula._replace(**told)
    return self._fit(X, y, sample_weight, lambda w: known(len(w), w=w))


def log_linear_design(
    self: Any, X: Any, exposure: Any = None, offset: Any = None
) -> tuple[Any, np.ndarray]:
    """The columns that have coefficients, and the offset of each row."""
    exposure = _given(self, X, "exposure", exposure)
    offset = _given(self, X, "offset", offset)
    columns = self._columns(self._inputs(X))
    return columns, offset_of(columns.shape[0], exposure, offset)


def _given(self: Any, X: Any, name: str, value: Any) -> Any:
    """An exposure or offset: values, or in a model of a formula the name of a column."""
    if self.formula is not None:
        return self.formula.given(X, name, value)
    if isinstance(value, str):
        raise InputError(
            f"{name} is {value!r}; give a number for each row. Names of columns are for "
            "models that were made by from_formula."
        )
    return value


def score_log_linear(  # noqa: D417
    self: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    exposure: Any = None,
    offset: Any = None,
) -> float:
    """R² of the mean counts that are predicted.

    Args:
        X: (n, d) inputs.
        y: (n,) counts.
        sample_weight: how often each row counts.
        exposure: (n,) how long or how much each row was watched.
        offset: (n,) a known part of log E[y].
    """
    from sklearn.metrics import r2_score

    predicted = self.predict(X, exposure=exposure, offset=offset)
    return float(r2_score(y, predicted, sample_weight=sample_weight))


def log_linear_strengths(
    self: Any, X: np.ndarray, y: np.ndarray, w: np.ndarray
) -> np.ndarray:
    """Strengths of the penalty to choose from."""
    return ridge_strengths(X, w, per_weight=True)


def publish_log_linear(self: Any, phi: Any) -> None:
    """`coef_`, `intercept_` and, where it is learned, `concentration_`."""
    weight, bias, shared = coefficients_of(phi)
    self.coef_ = weight[:, 0]
    self.intercept_ = 0.0 if bias is None else float(bias[0])
    if len(shared):
        self.concentration_ = float(np.exp(shared[0]))


def check_counts(self: Any, batch: Batch) -> None:
    """Refuse negative targets.

    Numbers of at least 0 that are no counts are taken for their mean (quasi-likelihood),
    but they have no probability.
    """
    y, present = np.asarray(batch.y), batch.w > 0
    bad = present & ~(np.isfinite(y) & (y >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"y has {y[row]} in row {row}, but {type(self).__name__} needs counts "
            "(0, 1, 2, ...). Use LinearRegression for numbers of both signs."
        )


def offset_of(
    n: int, exposure: Any, offset: Any, w: np.ndarray | None = None
) -> np.ndarray:
    """log(exposure) + offset of each row, checked."""
    found = np.zeros(n)
    for name, value in (("exposure", exposure), ("offset", offset)):
        if value is None:
            continue
        value = np.broadcast_to(np.asarray(value, float), (n,))
        check_finite(name, value, w)
        here = np.ones(n, bool) if w is None else w > 0
        if name == "exposure":
            if not (value[here] > 0).all():
                row = int(np.argmax(here & ~(value > 0)))
                raise InputError(
                    f"exposure is {value[row]} in row {row}; give numbers above 0."
                )
            value = np.log(np.where(here, value, 1.0))
        found = found + np.where(here, value, 0.0)
    return found


class PoissonRegressor(RegressorMixin, LinearModel):
    r"""Counts: y | x ~ Poisson(e^{x·w + b}), times an exposure.

    Minimises the mean of $-\log p$ plus $\frac{α}{2}\lVert w\rVert^2$ (scikit-learn's scale),
    without penalty by default, by Newton's method.

    Args:
        alpha: strength of the penalty, or "cv" to choose it by held-out nats.
        fit_intercept: whether there is a b.
        basis: columns to make of X first.
        alphas: the strengths to choose from.
        cv: the folds to choose by; 5 by default.
        max_iter: the step limit.
        tol: stop when √(gᵀH⁻¹g) is smaller, g the gradient in nats per unit of weight and
            H the Hessian: whatever the units of the columns.

    Attributes:
        coef_: (d,) w.
        intercept_: b.

    Examples:
        >>> X, days = np.repeat([[0.0], [1.0]], 10, axis=0), np.full(20, 2.0)
        >>> y = np.repeat([2, 6], 10)  # one and three a day
        >>> model = lk.PoissonRegressor().fit(X, y, exposure=days)
        >>> print(model.predict(X[[0, -1]], exposure=np.ones(2)).round(2))
        [1. 3.]
    """

    __metadata_request__predict = KNOWN
    _positive_targets = True
    fit, _design, score = fit_log_linear, log_linear_design, score_log_linear
    _publish, _hyper = publish_log_linear, alpha_hyper
    _strengths = log_linear_strengths
    _check_targets = check_counts
    alpha: Any
    fit_intercept: bool
    max_iter: int
    tol: float

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        alpha: float | str = 0.0,
        *,
        fit_intercept: bool = True,
        basis: Any = None,
        alphas: Any = None,
        cv: Any = None,
        max_iter: int = 100,
        tol: float = 1e-10,
    ):
        store(self, locals())

    def _learner(self, y: np.ndarray) -> LinearLearner:
        return LinearLearner(
            Poisson(),
            Newton(max_steps=self.max_iter, tolerance=self.tol),
            bool(self.fit_intercept),
            True,
        )

    def _unit(self) -> Poisson:
        return Poisson()

    def _estimate(self, evidence: Evidence) -> Estimate:
        return likelihood_estimate(self, evidence, evidence.unscaled())


class NegativeBinomialRegressor(RegressorMixin, LinearModel):
    r"""Counts with extra variance: mean μ = e^{x·w + b}, variance μ + μ²/r, r learned.

    Minimises the mean of $-\log p$ plus $\frac{α}{2}\lVert w\rVert^2$ over w, b and r, without
    penalty by default. `summary()` reports the dispersion 1/r beside the coefficients.

    Args:
        alpha: strength of the penalty, or "cv" to choose it by held-out nats.
        fit_intercept: whether there is a b.
        basis: columns to make of X first.
        alphas: the strengths to choose from.
        cv: the folds to choose by; 5 by default.
        max_iter: the step limit.
        tol: stop when √(gᵀH⁻¹g) is smaller, g the gradient in nats per unit of weight and
            H the Hessian: whatever the units of the columns.

    Attributes:
        coef_: (d,) w.
        intercept_: b.
        concentration_: r.

    Examples:
        >>> X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.tile([0, 1, 2, 9], 10)
        >>> model = lk.NegativeBinomialRegressor().fit(X, y)
        >>> print(model.predict(X[:1]).round(2), round(model.concentration_, 1))
        [3.] 0.8
    """

    __metadata_request__predict = KNOWN
    _positive_targets = True
    fit, _design, score = fit_log_linear, log_linear_design, score_log_linear
    _publish, _hyper = publish_log_linear, alpha_hyper
    _strengths = log_linear_strengths
    _check_targets = check_counts
    alpha: Any
    fit_intercept: bool
    max_iter: int
    tol: float
    concentration_: float

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        alpha: float | str = 0.0,
        *,
        fit_intercept: bool = True,
        basis: Any = None,
        alphas: Any = None,
        cv: Any = None,
        max_iter: int = 100,
        tol: float = 1e-10,
    ):
        store(self, locals())

    def _learner(self, y: np.ndarray) -> DispersedLearner:
        family, unit = NegativeBinomial(), NegativeBinomial(1.0)
        return DispersedLearner(
            family,
            unit,
            "concentration",
            Newton(max_steps=self.max_iter, tolerance=self.tol),
            bool(self.fit_intercept),
        )

    def _unit(self) -> NegativeBinomial:
        return NegativeBinomial(self.concentration_)

    def _coefficient_names(self) -> list[str]:
        return [*super()._coefficient_names(), "dispersion 1/r"]

    def _table_order(self, phi: Any) -> np.ndarray:
        return np.r_[super()._table_order(phi), np.exp(-coefficients_of(phi).shared)]

    def _estimate(self, evidence: Evidence) -> Estimate:
        """Of (B, 1/r): from the observed information about (B, log r), by the delta method.

        Where r is as good as infinite, log r has no error. The variance of 1/r is then
        2/Σ w μ², that of the score ½Σ w((y − μ)² − y), which is independent of B.
        """
        p, u = evidence.p, np.log(self.concentration_)
        mean = np.exp(evidence.eta[:, 0])
        if self.concentration_ > POISSON_LIMIT * max(1.0, mean.max()):
            C = np.zeros((p + 1, p + 1))
            C[:p, :p] = evidence.unscaled()
            C[p, p] = 2 / float(evidence.w @ mean**2)
        else:
            C = joint_covariance(NegativeBinomial(), evidence, u, robust=False)
            scale = np.r_[np.ones(p), -np.exp(-u)]
            C = C * np.outer(scale, scale)
        column = np.arange(p + 1)
        return likelihood_estimate(
            self,
            evidence,
            C,
            slopes=(column >= self._first) & (column < p),
            n_counted=p + 1,
        )

    def _notes(self) -> list[str]:
        found = statistics_of(self)
        error = np.sqrt(found.covariance[-1, -1])
        none = "no more variance than a Poisson distribution's was found (1/r = 0)"
        return [none] if found.coefficients[-1] < 1e-3 * error else []

    def _log_shared(self, found: Estimate, z: np.ndarray) -> np.ndarray:
        """log r where 1/r is z errors from its estimate, and not below that of Poisson."""
        a, least = found.coefficients[-1], np.exp(-coefficients_of(self.phi_).shared[0])
        error = np.sqrt(found.covariance[-1, -1])
        return -np.log(np.maximum(a + z * error, min(least, MIN_DISPERSION)))
