r"""Regression that outliers do not pull: Huber's loss and absolute deviations."""

from typing import Any, no_type_check

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.base import RegressorMixin

from likely.base.settings import store
from likely.core.checks import InputError
from likely.core.rows import weighted_mean
from likely.estimators.linear.absolute import STEPS, least_absolute
from likely.estimators.linear.coefficients import coefficients_of
from likely.estimators.linear.evidence import (
    Evidence,
    joint_covariance,
    median_covariance,
)
from likely.estimators.linear.glm import DispersedLearner, trim
from likely.estimators.linear.model import LinearModel, alpha_hyper
from likely.estimators.linear.penalty import ridge_strengths
from likely.estimators.linear.statistics import likelihood_estimate
from likely.families import Huber, Laplace
from likely.inference import Estimate
from likely.inference.sandwich import KINDS
from likely.models import Linear, Shared
from likely.solvers import Newton
from likely.typing import GAP, STEP_LIMIT, Batch, Key, Solution, Status, Trace


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
        tol: the largest entry of the gradient, in nats per unit of weight.

    Attributes:
        coef_: (d,) w.
        intercept_: b.
        scale_: s.
    """

    _hyper = alpha_hyper
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

    def _publish(self, phi: Solution) -> None:
        publish(self, phi)

    def _unit(self) -> Huber:
        return Huber(self.scale_, delta=float(self.epsilon))

    def _notes(self) -> list[str]:
        return ['errors "model" are those of the sandwich (HC1) here']

    def _estimate(self, evidence: Evidence) -> Estimate:
        u = float(np.log(self.scale_))
        C = joint_covariance(self.family_, evidence, u, robust=True)
        return location_estimate(self, evidence, C)


class LADRegressor(RegressorMixin, LinearModel):
    r"""Least absolute deviations: y | x ~ Laplace(x·w + b, s), so x·w + b is a median.

    Minimises $\sum_i w_i |y_i - x_i·w - b|$ exactly, by an interior-point method; s is the
    mean absolute residual. Standard errors are those of the median, from the density of
    the residuals at 0, and do not take the Laplace distribution for granted.

    Args:
        fit_intercept: whether there is a b.
        basis: columns to make of X first.

    Attributes:
        coef_: (d,) w.
        intercept_: b.
        scale_: s.
    """

    scale_: float
    fit_intercept: bool

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, *, fit_intercept: bool = True, basis: Any = None):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        return self._fit(X, y, sample_weight)

    def _learner(self, y: np.ndarray) -> "AbsoluteLearner":
        return AbsoluteLearner(bool(self.fit_intercept))

    def _hyper(self) -> dict[str, np.ndarray]:
        return {}

    def _publish(self, phi: Solution) -> None:
        publish(self, phi)

    def _unit(self) -> Laplace:
        return Laplace(self.scale_)

    def _refusal(self, errors: str) -> str | None:
        if errors not in KINDS:
            return None
        return (
            "the errors of LADRegressor assume nothing about the variance already; use "
            'errors="model" or "bootstrap".'
        )

    def _estimate(self, evidence: Evidence) -> Estimate:
        p = evidence.p
        C = np.zeros((p + 1, p + 1))
        C[:p, :p] = median_covariance(evidence)
        C[p, p] = 1 / evidence.total
        return location_estimate(self, evidence, C)


class AbsoluteLearner(eqx.Module):
    """The median line, then the mean absolute residual."""

    intercept: bool = eqx.field(static=True)
    family: Laplace = Laplace()

    def learn(self, key: Key, hyper: dict, batch: Batch) -> Solution:
        """The line with its learned scale."""
        line = Linear.zeros(batch.x.shape[1], 1, self.intercept)
        b, gap, steps = least_absolute(line.design(batch.x), batch.y, batch.w)
        line = line.with_coefficients(b[:, None])
        size = weighted_mean(jnp.abs(batch.y - line(batch.x)[0][:, 0]), batch.w)
        size = jnp.maximum(size, jnp.sqrt(jnp.finfo(size.dtype).tiny))
        reason = jnp.where(gap <= 1e-6, GAP, STEP_LIMIT)
        blank = jnp.full(1, jnp.nan)
        loss = 1 + jnp.log(2 * size)
        return Solution(
            Shared(line, jnp.log(size)[None]),
            None,
            loss,
            Trace(blank, blank, blank),
            Status(reason, jnp.minimum(steps, STEPS), gap),
        )

    def losses(self, phi: Solution, batch: Batch) -> Float[Array, " n"]:
        """−log p of each row."""
        return -self.family.log_prob(self.eta(phi, batch.x), batch.y)

    def eta(self, phi: Solution, X: Float[Array, "n d"]) -> Float[Array, "n 2"]:
        """(x·w + b, log s)."""
        return phi.model(X)[0]

    def trimmed(self, phi: Solution, d: int) -> Solution:
        """φ with the weights of the first d columns."""
        return trim(phi, d)


def publish(estimator: Any, phi: Solution) -> None:
    """coef_, intercept_ and scale_."""
    weight, bias, log_scale = coefficients_of(phi)
    estimator.coef_ = weight[:, 0]
    estimator.intercept_ = 0.0 if bias is None else float(bias[0])
    estimator.scale_ = float(np.exp(log_scale[0]))


def location_estimate(model: Any, evidence: Evidence, C: np.ndarray) -> Estimate:
    """The statistics of a location model with a fitted scale, C of (B, log s)."""
    p, tail = evidence.p, float(C[-1, -1])
    return likelihood_estimate(model, evidence, C[:p, :p], tail_variance=tail)
