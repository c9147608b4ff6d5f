r"""Regression that outliers do not pull: Huber's loss and absolute deviations."""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import RegressorMixin

from likely.base.settings import store
from likely.core.checks import InputError
from likely.estimators.linear.dispersed import DispersedLearner
from likely.estimators.linear.inference.evidence import (
    Evidence,
    joint_covariance,
)
from likely.estimators.linear.location import location_estimate, publish_location
from likely.estimators.linear.model import LinearModel, alpha_hyper
from likely.estimators.linear.penalty import ridge_strengths
from likely.families import Huber
from likely.inference import Estimate
from likely.solvers import Newton


class HuberRegressor(RegressorMixin, LinearModel):
    r"""Normal errors near the line, Laplace tails: outliers count by their distance only.

    y | x has the density $\propto e^{-h(r/s)}/s$ with $h(e) = e^2/2$ up to ε and
    $ε|e| - ε^2/2$ beyond; w, b and s by maximum likelihood. (scikit-learn minimises
    $\sum s + s\,h(r/s)$ instead, which gives another s.) Standard errors are those of the
    sandwich, which do not take the density for granted.

    Args:
        epsilon: where an error begins to be an outlier, in units of s.
        alpha: strength of the penalty on each unit of weight, or "cv".
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
        scale_: s.

    Examples:
        >>> X, y = np.arange(10.0)[:, None], 2 * np.arange(10.0)
        >>> y[4] = 100.0  # an outlier
        >>> print(lk.HuberRegressor().fit(X, y).coef_.round(1))
        [1.9]
    """

    _publish, _hyper = publish_location, alpha_hyper
    scale_: float
    alpha: Any
    epsilon: float
    fit_intercept: bool
    max_iter: int
    tol: float

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        alpha: float | str = 0.0,
        fit_intercept: bool = True,
        basis: Any = None,
        alphas: Any = None,
        cv: Any = None,
        max_iter: int = 100,
        tol: float = 1e-10,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        return self._fit(X, y, sample_weight)

    def _learner(self, y: np.ndarray) -> DispersedLearner:
        if not self.epsilon > 0:
            raise InputError(f"epsilon is {self.epsilon}; give a number above 0.")
        delta = float(self.epsilon)
        solver = Newton(max_steps=self.max_iter, tolerance=self.tol)
        family, unit = Huber(delta=delta), Huber(1.0, delta=delta)
        return DispersedLearner(family, unit, "scale", solver, bool(self.fit_intercept))

    def _strengths(self, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        return ridge_strengths(X, w, per_weight=True)

    def _unit(self) -> Huber:
        return Huber(self.scale_, delta=float(self.epsilon))

    def _notes(self) -> list[str]:
        return ['errors "model" are those of the sandwich (HC1) here']

    def _estimate(self, evidence: Evidence) -> Estimate:
        u = float(np.log(self.scale_))
        C = joint_covariance(self.family_, evidence, u, robust=True)
        return location_estimate(self, evidence, C)
