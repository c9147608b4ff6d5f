r"""Tweedie regression: numbers from zero on, with exact zeros, and a mean that is log-linear."""

from typing import Any, ClassVar, Literal, no_type_check

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize
from sklearn.base import RegressorMixin

from likely.base.settings import store
from likely.core.checks import InputError
from likely.core.precision import float64
from likely.core.rows import weighted_mean
from likely.estimators.linear.coefficients import coefficients_of, eta_at
from likely.estimators.linear.counts import (
    KNOWN,
    fit_log_linear,
    log_linear_design,
    log_linear_strengths,
)
from likely.estimators.linear.dispersed import DispersedLearner
from likely.estimators.linear.inference.evidence import Evidence
from likely.estimators.linear.inference.statistics import likelihood_estimate
from likely.estimators.linear.model import LinearModel, alpha_hyper
from likely.families.tweedie import POWERS, Tweedie
from likely.families.tweedie_distribution import log_density
from likely.inference import Estimate
from likely.solvers import Newton

MAX_ROWS_FOR_POWER = 512
"""The most rows by which the power is chosen."""


class TweedieRegressor(RegressorMixin, LinearModel):
    r"""Totals of a random number of events: mean μ = e^{x·w + b}, variance φ μ^p.

    w and b do not depend on φ: for a given p they minimise the mean of
    $\frac{y μ^{1-p}}{p-1} + \frac{μ^{2-p}}{2-p}$ plus $\frac{α}{2}\lVert w\rVert^2$
    (scikit-learn's `TweedieRegressor`), without penalty by default. φ is then of maximum
    likelihood, and so is p where it is "auto" (given the means at p = 1.5). Standard errors take
    the dispersion from Pearson's statistic. `predict_dist` takes the parameters for known.

    Args:
        alpha: strength of the penalty, or "cv" to choose it by held-out nats.
        power: p, from 1.05 to 1.95, or "auto".
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
        power_: p.
        dispersion_: φ.

    Examples:
        >>> X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.tile([0.0, 0.0, 3.0, 5.0], 5)
        >>> print(lk.TweedieRegressor(power=1.5).fit(X, y).predict(X[:1]).round(2))
        [1.6]
    """

    __metadata_request__predict = KNOWN
    _positive_targets = True
    _uncertainty: ClassVar[Literal["none", "exact", "penalised", "delta"]] = "none"
    _design, _hyper, _strengths = log_linear_design, alpha_hyper, log_linear_strengths
    alpha: Any
    power: Any
    fit_intercept: bool
    max_iter: int
    tol: float
    power_: float
    dispersion_: float

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        alpha: float | str = 0.0,
        *,
        power: float | str = "auto",
        fit_intercept: bool = True,
        basis: Any = None,
        alphas: Any = None,
        cv: Any = None,
        max_iter: int = 100,
        tol: float = 1e-10,
    ):
        store(self, locals())

    def fit(  # noqa: D417
        self,
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
            y: (n,) numbers of at least 0.
            sample_weight: how often each row counts; 2 is "this row twice".
            exposure: (n,) how long or how much each row was watched; E[y] is in
                proportion to it.
            offset: (n,) a known part of log E[y]; log(exposure) is one.
        """
        power: Any = self.power
        automatic = isinstance(power, str)
        if automatic and power != "auto":
            raise InputError(f"power is {power!r}; give a number, or 'auto'.")
        self.power_ = 1.5 if automatic else float(Tweedie(power).power)
        known = {"exposure": exposure, "offset": offset}
        fit_log_linear(self, X, y, sample_weight, **known)
        if automatic:
            batch = self._record.batch
            eta = eta_at(self.phi_, batch.x)
            self.power_ = _likeliest_power(eta, batch.y, batch.w)
            fit_log_linear(self, X, y, sample_weight, **known)
        return self

    def _how(self, uncertainty: str) -> str:
        """The parameters are taken for known, unless refits are asked for."""
        return "none" if uncertainty == "auto" else super()._how(uncertainty)

    def _problem(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        single: bool = False,
    ):
        """The learner with checked rows; None where the rows of a fold choose the power."""
        if isinstance(self.power, str) and "power_" not in vars(self):
            return None
        return super()._problem(X, y, sample_weight, offset, single=single)

    def _publish(self, phi: Any) -> None:
        weight, bias, shared = coefficients_of(phi)
        self.coef_ = weight[:, 0]
        self.intercept_ = 0.0 if bias is None else float(bias[0])
        self.dispersion_ = float(np.exp(shared[0]))

    def _learner(self, y: np.ndarray) -> DispersedLearner:
        solver = Newton(max_steps=self.max_iter, tolerance=self.tol)
        power = vars(self).get("power_", self.power)  # not yet known to folds
        family, unit = Tweedie(power), Tweedie(power, 1.0)
        intercept = bool(self.fit_intercept)
        return DispersedLearner(
            family, unit, "dispersion", solver, intercept, coupled=False
        )

    def _unit(self) -> Tweedie:
        return Tweedie(self.power_, 1.0)

    def _estimate(self, evidence: Evidence) -> Estimate:
        evidence.refuse_saturated()
        mean = np.exp(evidence.eta[:, 0])
        squares = (evidence.y - mean) ** 2 / mean**self.power_
        pearson = float(evidence.w @ squares) / evidence.df_residual
        return likelihood_estimate(
            self, evidence, pearson * evidence.unscaled(), dispersion=pearson
        )


def _likeliest_power(eta: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """p of largest likelihood, with φ, at the fitted means of some of the rows."""
    rows = np.flatnonzero(w > 0)
    step = max(1, len(rows) // MAX_ROWS_FOR_POWER)
    rows = rows[np.argsort(y[rows], kind="stable")][::step][:MAX_ROWS_FOR_POWER]
    log_mean, y, w = eta[rows, 0], y[rows], w[rows]
    start = np.average((y / np.exp(log_mean) - 1) ** 2, weights=w)
    level = np.average(log_mean, weights=w)  # φ is about a variance, in units of μ^p
    low, high = POWERS

    def loss(at: np.ndarray) -> float:
        p = low + (high - low) / (1 + np.exp(-at[1]))
        u = at[0] + (2 - p) * level
        with float64(work=0.0):
            return float(_mean_loss(log_mean, jnp.asarray(u), jnp.asarray(p), y, w))

    begin = np.array([np.log(max(start, 1e-6)), 0.0])
    options = {"xatol": 0.01, "fatol": 1e-6, "maxfev": 120}
    simplex = np.array([begin, begin + [0.5, 0.0], begin + [0.0, 0.7]])
    options["initial_simplex"] = simplex
    best = minimize(loss, begin, method="Nelder-Mead", options=options).x
    return float(np.clip(low + (high - low) / (1 + np.exp(-best[1])), low, high))


@eqx.filter_jit
def _mean_loss(log_mean, log_phi, power, y, w):
    """The mean of −log p at a dispersion and power."""
    log_mean, y, w = map(jnp.asarray, (log_mean, y, w))
    logs = log_density(log_mean, jnp.broadcast_to(log_phi, y.shape), power, y)
    return weighted_mean(-logs, w)
