r"""Gamma regression: positive values whose spread grows with their mean."""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import RegressorMixin

from likely.base.settings import store
from likely.estimators.linear.counts import (
    KNOWN,
    fit_log_linear,
    log_linear_design,
    log_linear_strengths,
    publish_log_linear,
)
from likely.estimators.linear.dispersed import DispersedLearner
from likely.estimators.linear.inference.evidence import Evidence, shape_variance
from likely.estimators.linear.inference.statistics import likelihood_estimate
from likely.estimators.linear.model import LinearModel, alpha_hyper
from likely.families import Gamma
from likely.inference import Estimate
from likely.solvers import Newton


class GammaRegressor(RegressorMixin, LinearModel):
    r"""Positive values: mean μ = e^{x·w + b}, variance μ²/a, the shape a learned.

    w and b do not depend on a: they minimise the mean of $y/μ + \log μ$ plus
    $\frac{α}{2}\lVert w\rVert^2$ (scikit-learn's scale), without penalty by default; a is then
    of maximum likelihood. Standard errors take the dispersion from Pearson's statistic,
    $\frac{1}{\sum w - p}\sum_i w_i (y_i - μ_i)^2/μ_i^2$, as is usual.

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
        concentration_: a.

    Examples:
        >>> X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.tile([1.0, 2.0, 3.0, 4.0], 5)
        >>> print(lk.GammaRegressor().fit(X, y).predict(X[:1]).round(2))
        [2.3]
    """

    __metadata_request__predict = KNOWN
    _positive_targets = True
    fit, _design = fit_log_linear, log_linear_design
    _publish, _hyper = publish_log_linear, alpha_hyper
    _strengths = log_linear_strengths
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
        intercept, solver = (
            bool(self.fit_intercept),
            Newton(max_steps=self.max_iter, tolerance=self.tol),
        )
        return DispersedLearner(
            Gamma(), Gamma(1.0), "concentration", solver, intercept, coupled=False
        )

    def _unit(self) -> Gamma:
        return Gamma(1.0)

    def _estimate(self, evidence: Evidence) -> Estimate:
        evidence.refuse_saturated()
        ratio = evidence.y / np.exp(evidence.eta[:, 0])
        pearson = float(evidence.w @ (ratio - 1) ** 2) / evidence.df_residual
        return likelihood_estimate(
            self,
            evidence,
            pearson * evidence.unscaled(),
            dispersion=pearson,
            tail_variance=shape_variance(self.concentration_, evidence.total),
        )
