r"""Gamma regression: positive values whose spread grows with their mean."""

from typing import Any, no_type_check

import numpy as np

from likely.estimators.linear.counts import AbstractLogRegressor
from likely.estimators.linear.evidence import Evidence, shape_variance
from likely.estimators.linear.glm import DispersedLearner
from likely.families import Gamma
from likely.inference import Estimate


class GammaRegressor(AbstractLogRegressor):
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
        tol: the largest entry of the gradient, in nats per unit of weight.

    Attributes:
        coef_: (d,) w.
        intercept_: b.
        concentration_: a.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
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
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.basis = basis
        self.alphas = alphas
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol

    def _learner(self, y: np.ndarray) -> DispersedLearner:
        intercept, solver = bool(self.fit_intercept), self._solver()
        return DispersedLearner(
            Gamma(), Gamma(1.0), "concentration", solver, intercept, coupled=False
        )

    def _unit(self) -> Gamma:
        return Gamma(1.0)

    def _estimate(self, evidence: Evidence) -> Estimate:
        own, nothing = self._likelihoods()
        p, w = evidence.p, evidence.w
        ratio = evidence.y / np.exp(evidence.eta[:, 0])
        pearson = float(w @ (ratio - 1) ** 2) / evidence.df_residual
        return Estimate(
            self._table_order(self.phi_),
            pearson * evidence.unscaled(),
            slopes=np.arange(p) >= self._first,
            total=evidence.total,
            df_residual=evidence.df_residual,
            log_likelihood=own,
            null_log_likelihood=nothing,
            n_counted=p,
            dispersion=pearson,
            condition=evidence.condition(),
            tail_variance=shape_variance(self.concentration_, evidence.total),
        )
